"""The rules of a step, for all of its rows.

Rows of a prompt lie side by side; ``numbers`` says which prompt that is, as prompts that are done may be left out.

Twin: ``numba_nlp.reference.generation.row_edits``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.row_rules import apply_forced_rules, apply_history_rules, renormalize
from numba_nlp.kernels.generation.row_values import log_sum_exp_by_blocks
from numba_nlp.kernels.generation.warpers import warp_row

__all__ = ["allow_only", "force_rows", "renormalize_rows", "restrict_rows", "shift_rows", "to_values", "warp_rows"]


@kernel
def shift_rows(logits, shifts, maxima):
    """The shift of each row whose values are log-probabilities.

    Parameters
    ----------
    logits : float32[R, V]
    shifts : float64[R]
        Written: the log-sum-exp of each row; NaN where the row holds NaN.
    maxima : float32[R, (V + 63) // 64]
        Written, as :func:`numba_nlp.kernels.generation.row_values.block_maxima` does.

    Returns
    -------
    int64
        The first row of which that is NaN; -1 where there is none.
    """
    wrong = np.int64(-1)
    for row in range(logits.shape[0]):
        shifts[row] = log_sum_exp_by_blocks(logits[row], maxima[row])
        if wrong < 0 and shifts[row] != shifts[row]:
            wrong = np.int64(row)
    return wrong


@kernel
def restrict_rows(logits, shifts, rows, firsts, filled, sources, numbers, rules, saved):
    """What has been read and written restricts what follows, in all rows.

    Parameters
    ----------
    logits : float32[R, V]
        Changed.
    shifts : float64[R]
        The value of token ``v`` of row ``r`` is ``logits[r, v] - shifts[r]``.
    rows : int32[R, T]
        Tokens so far.
    firsts : int64[P]
        Columns of padding at the left of each prompt.
    filled : int64
        Columns of ``rows`` that are filled.
    sources : int32[P, S]
        What the encoder read for each prompt, or the prompts.
    numbers : int32[A]
        Of each ``R // A`` rows, the number of their prompt.
    rules : RowRules
    saved : float32[T]
        Scratch.
    """
    per_prompt = logits.shape[0] // numbers.size
    for row in range(logits.shape[0]):
        prompt = numbers[row // per_prompt]
        apply_history_rules(logits[row], shifts[row], rows[row], firsts[prompt], filled, sources[prompt], rules, saved)


@kernel
def force_rows(logits, shifts, filled, rules):
    """Forced first and last tokens, and suppressed ones, in all rows.

    Parameters
    ----------
    logits : float32[R, V]
        Changed.
    shifts : float64[R]
        As for :func:`restrict_rows`.
    filled : int64
        Columns that are there.
    rules : RowRules
    """
    for row in range(logits.shape[0]):
        apply_forced_rules(logits[row], shifts[row], filled, rules)


@kernel
def warp_rows(logits, shifts, rules, scratch):
    """Temperature, and what the options of sampling keep, in all rows.

    Parameters
    ----------
    logits : float32[R, V]
        Changed.
    shifts : float64[R]
        Changed by the temperature.
    rules : RowRules
        Of sampling.
    scratch : RowScratch
        Overwritten.
    """
    for row in range(logits.shape[0]):
        warp_row(logits[row], rules, scratch)
        shifts[row] /= rules.temperature


@kernel
def renormalize_rows(logits, shifts):
    """Make the values of each row log-probabilities again.

    Parameters
    ----------
    logits : float32[R, V]
    shifts : float64[R]
        Changed.
    """
    for row in range(logits.shape[0]):
        shifts[row] = renormalize(logits[row], shifts[row])


@kernel
def to_values(logits, shifts):
    """Take the shift out of the rows, for what looks at their values.

    Parameters
    ----------
    logits : float32[R, V]
        Changed to the values.
    shifts : float64[R]
        Set to 0.
    """
    for row in range(logits.shape[0]):
        if shifts[row] != 0.0:
            for token in range(logits.shape[1]):
                logits[row, token] = np.float32(logits[row, token] - shifts[row])
            shifts[row] = 0.0


@kernel
def allow_only(row, ids):
    """Forbid all tokens of a row but some.

    Parameters
    ----------
    row : float32[V]
        Changed.
    ids : int64[n]
        In ascending order, each from 0 to V - 1.
    """
    n = 0
    for token in range(row.size):
        while n < ids.size and ids[n] < token:
            n += 1
        if n == ids.size or ids[n] != token:
            row[token] = np.float32(-np.inf)
