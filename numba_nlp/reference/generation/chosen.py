"""Plain twin of ``numba_nlp.kernels.generation.chosen``."""

from __future__ import annotations

import numpy as np

from numba_nlp.reference.generation.beams import ends_row
from numba_nlp.reference.generation.sampling import sample_row

__all__ = ["append_tokens", "draw_rows", "score_tokens", "take_largest"]


def take_largest(logits, done, tokens, values):
    """Choose the most probable token of each row."""
    for row in np.flatnonzero(done == 0):
        tokens[row] = np.argmax(logits[row])
        values[row] = _log_probabilities(logits[row])[tokens[row]]
    return _first_nan(values, done)


def _first_nan(values, done):
    return next((row for row in np.flatnonzero(done == 0) if np.isnan(values[row])), -1)


def score_tokens(logits, tokens, values):
    """Log-probabilities of given tokens."""
    for row, token in enumerate(tokens):
        values[row] = _log_probabilities(logits[row])[token]


def _log_probabilities(row):
    return row.astype(np.float64) - np.logaddexp.reduce(row.astype(np.float64))


def draw_rows(logits, done, rules, seed, keys, step, scratch, tokens, values):
    """Draw a token of each row by its probability."""
    for row in np.flatnonzero(done == 0):
        tokens[row], values[row] = sample_row(logits[row], rules, seed, keys[row], step, scratch)
    return _first_nan(values, done)


def append_tokens(rows, filled, prompt_width, eos_ids, stop_tokens, stop_offsets, padding, tokens, values, done, reads):
    """Put a token behind each row, and note which rows end by it."""
    tokens[done == 1] = padding
    values[done == 1] = 0
    rows[:, filled] = tokens
    for row in np.flatnonzero(done == 0):
        done[row] = ends_row(rows[row], prompt_width, filled, tokens[row], eos_ids, stop_tokens, stop_offsets)
    reads[:] = np.where(done == 1, 0, tokens)
    return int((done == 0).sum())
