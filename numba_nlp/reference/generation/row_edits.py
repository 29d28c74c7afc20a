"""Plain twin of ``numba_nlp.kernels.generation.row_edits``."""

from __future__ import annotations

import numpy as np

from numba_nlp.reference.generation.row_rules import apply_forced_rules, apply_history_rules
from numba_nlp.reference.generation.row_values import block_maxima
from numba_nlp.reference.generation.warpers import warp_row

__all__ = ["allow_only", "force_rows", "renormalize_rows", "restrict_rows", "shift_rows", "to_values", "warp_rows"]


def _log_sum_exp(row):
    return np.logaddexp.reduce(row.astype(np.float64))


def shift_rows(logits, shifts, maxima):
    """The shift of each row whose values are log-probabilities."""
    for values, best in zip(logits, maxima, strict=True):
        block_maxima(values, best)
    shifts[:] = [_log_sum_exp(row) for row in logits]
    return next((row for row, shift in enumerate(shifts) if np.isnan(shift)), -1)


def restrict_rows(logits, shifts, rows, firsts, filled, sources, numbers, rules, saved):
    """What has been read and written restricts what follows."""
    for row, prompt in enumerate(np.repeat(numbers, logits.shape[0] // numbers.size)):
        apply_history_rules(logits[row], shifts[row], rows[row], firsts[prompt], filled, sources[prompt], rules, saved)


def force_rows(logits, shifts, filled, rules):
    """Forced first and last tokens, and suppressed ones."""
    for row, shift in zip(logits, shifts, strict=True):
        apply_forced_rules(row, shift, filled, rules)


def warp_rows(logits, shifts, rules, scratch):
    """Temperature, and what the options of sampling keep."""
    for row in logits:
        warp_row(row, rules, scratch)
    shifts /= rules.temperature


def renormalize_rows(logits, shifts):
    """Make the values of each row log-probabilities again."""
    for row, values in enumerate(logits):
        if (values > -np.inf).any():
            shifts[row] = _log_sum_exp(values)


def to_values(logits, shifts):
    """Take the shift out of the rows."""
    logits[:] = logits.astype(np.float64) - shifts[:, None]
    shifts[:] = 0


def allow_only(row, ids):
    """Forbid all tokens of a row but some."""
    for token in range(row.size):
        if token not in ids:
            row[token] = -np.inf
