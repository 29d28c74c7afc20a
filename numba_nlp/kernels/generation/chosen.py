"""Tokens of rows that go their own ways, by greedy choice or drawn: which rows end, and what stands behind their end.

Twin: ``numba_nlp.reference.generation.chosen``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.beams import ends_row
from numba_nlp.kernels.generation.row_values import log_sum_exp, log_sum_exp_and_largest
from numba_nlp.kernels.generation.sampling import sample_row

__all__ = ["append_tokens", "draw_rows", "score_tokens", "take_largest"]


@kernel
def _log_probability(row, token, total):
    """Of a token by a row of logits and their log-sum-exp; NaN where no token has a probability."""
    if total == -np.inf:
        return np.float32(np.nan)
    return np.float32(row[token] - total)


@kernel
def take_largest(logits, done, tokens, values):
    """Choose the most probable token of each row, the first of several.

    Parameters
    ----------
    logits : float32[R, V]
        After all rules.
    done : uint8[R]
        Rows that are 1 are left out.
    tokens : int64[R]
        Written.
    values : float32[R]
        Written: log-probabilities, by the logits as they are; NaN where no token has a probability.

    Returns
    -------
    int64
        The first row in which no token has a probability; -1 where there is none.
    """
    wrong = np.int64(-1)
    for row in range(logits.shape[0]):
        if not done[row]:
            total, tokens[row] = log_sum_exp_and_largest(logits[row])
            values[row] = _log_probability(logits[row], tokens[row], total)
            if wrong < 0 and values[row] != values[row]:
                wrong = np.int64(row)
    return wrong


@kernel
def draw_rows(logits, done, rules, seed, keys, step, scratch, tokens, values):
    """Draw a token of each row by its probability, among those that the options keep.

    Parameters
    ----------
    logits : float32[R, V]
        Changed.
    done : uint8[R]
        Rows that are 1 are left out.
    rules : RowRules
        Of sampling.
    seed : uint64
        The user's.
    keys : uint64[R]
        Of each row.
    step : int64
        Which new token it is.
    scratch : RowScratch
        Overwritten.
    tokens : int64[R]
        Written.
    values : float32[R]
        Written: log-probabilities among what was kept; NaN where no token has a probability, or the row holds NaN
        or infinity.

    Returns
    -------
    int64
        The first row in which that is NaN; -1 where there is none.
    """
    wrong = np.int64(-1)
    for row in range(logits.shape[0]):
        if not done[row]:
            token, value = sample_row(logits[row], rules, seed, keys[row], step, scratch)
            tokens[row] = token
            values[row] = np.float32(value)
            if wrong < 0 and values[row] != values[row]:
                wrong = np.int64(row)
    return wrong


@kernel
def append_tokens(rows, filled, prompt_width, eos_ids, stop_tokens, stop_offsets, padding, tokens, values, done, reads):
    """Put a token behind each row, and note which rows end by it.

    Parameters
    ----------
    rows : int32[R, T]
        Changed: column ``filled`` is written.
    filled, prompt_width : int64
        Columns before, and of the prompt.
    eos_ids, stop_tokens, stop_offsets : int32[n], int32[m], int64[s + 1]
        As for :func:`numba_nlp.kernels.generation.beams.ends_row`.
    padding : int64
        What stands behind the end of a row.
    tokens : int64[R]
        The tokens; ``padding`` is written where a row was done before.
    values : float32[R]
        Their log-probabilities; 0 is written there.
    done : uint8[R]
        Changed.
    reads : int64[R]
        Written: what each row reads next, its token, or 0 where it is done, as no one looks at what follows.

    Returns
    -------
    int64
        Number of rows that are not done.
    """
    still_open = 0
    for row in range(rows.shape[0]):
        if done[row]:
            tokens[row] = padding
            values[row] = 0.0
        elif ends_row(rows[row], prompt_width, filled, tokens[row], eos_ids, stop_tokens, stop_offsets):
            done[row] = 1
        else:
            still_open += 1
        rows[row, filled] = tokens[row]
        reads[row] = 0 if done[row] else tokens[row]
    return np.int64(still_open)


@kernel
def score_tokens(logits, tokens, values):
    """Log-probabilities of given tokens.

    Parameters
    ----------
    logits : float32[R, V]
    tokens : int64[R]
    values : float32[R]
        Written.
    """
    for row in range(logits.shape[0]):
        values[row] = _log_probability(logits[row], tokens[row], log_sum_exp(logits[row]))
