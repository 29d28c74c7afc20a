"""Plain twin of ``numba_nlp.kernels.generation.chosen``."""

from __future__ import annotations

import numpy as np

from numba_nlp.reference.generation.beams import ends_row

__all__ = ["append_tokens", "take_largest"]


def take_largest(logits, done, tokens, values):
    """Choose the most probable token of each row."""
    for row in np.flatnonzero(done == 0):
        probabilities = np.exp(logits[row].astype(np.float64) - logits[row].max())
        tokens[row] = np.argmax(logits[row])
        values[row] = np.log(probabilities[tokens[row]] / probabilities.sum())


def append_tokens(rows, filled, prompt_width, eos_ids, stop_tokens, stop_offsets, padding, tokens, values, done):
    """Put a token behind each row, and note which rows end by it."""
    tokens[done == 1] = padding
    values[done == 1] = 0
    rows[:, filled] = tokens
    for row in np.flatnonzero(done == 0):
        done[row] = ends_row(rows[row], prompt_width, filled, tokens[row], eos_ids, stop_tokens, stop_offsets)
    return int((done == 0).sum())
