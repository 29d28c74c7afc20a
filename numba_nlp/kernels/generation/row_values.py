"""What a step reads from a row of logits: the largest one, that of each block, and the logarithm of the sum of all.

A row's log-probabilities are its logits less their log-sum-exp, so they are ordered as the logits are and no array of
them is made.

Twin: ``numba_nlp.reference.generation.row_values``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import (
    BLOCK,
    PART,
    exponential,
    exponentials_of_block,
    exponentials_of_part,
    exponentials_of_sixteen,
    largest_of_block,
    largest_of_part,
    write_exponentials,
)

__all__ = [
    "BLOCK",
    "block_maxima",
    "holds_numbers",
    "largest",
    "largest_within",
    "log_sum_exp",
    "log_sum_exp_and_largest",
    "log_sum_exp_by_blocks",
    "weigh_values",
]

_NOTHING = np.float32(-np.inf)
_INFINITY = np.float32(np.inf)


@kernel
def _maximum_of(row, first, stop):
    """Largest of a few values, NaN left out."""
    best = _NOTHING
    for i in range(first, stop):
        if row[i] > best:
            best = row[i]
    return best


@kernel
def _part_maxima(row, first, stop, maxima):
    """Largest value of each block of ``row[first:stop]``, a part or the end of a row, and of all of them."""
    if stop - first == PART:
        return largest_of_part(row, first, maxima, first // BLOCK)
    top = _NOTHING
    for start in range(first, stop, BLOCK):
        if start + BLOCK <= stop:
            here = largest_of_block(row, start)
        else:
            here = _maximum_of(row, start, stop)
        maxima[start // BLOCK] = here
        if here > top:
            top = here
    return top


@kernel
def block_maxima(row, maxima):
    """Largest value of each block of 64, and of all.

    Parameters
    ----------
    row : float32[V]
        NaN is left out.
    maxima : float32[(V + 63) // 64]
        Written; the last block may be shorter.

    Returns
    -------
    float32
        The largest value; minus infinity for a row of NaN only.
    """
    top = _NOTHING
    for first in range(0, row.size, PART):
        here = _part_maxima(row, first, min(first + PART, row.size), maxima)
        if here > top:
            top = here
    return top


@kernel
def largest(row):
    """Index of the largest value, the first one of several.

    Parameters
    ----------
    row : float32[V]
        NaN is left out.

    Returns
    -------
    int64
        0 when no value is above minus infinity.
    """
    top = _NOTHING
    best = np.int64(-1)
    whole = row.size // BLOCK
    for block in range(whole):
        here = largest_of_block(row, block * BLOCK)
        if here > top:
            top = here
            best = block * BLOCK
    for i in range(whole * BLOCK, row.size):
        if row[i] > top:
            top = row[i]
            best = i
    if best < 0:
        return 0
    while row[best] != top:
        best += 1
    return best


@kernel
def holds_numbers(row):
    """Whether every value is a number or minus infinity.

    Parameters
    ----------
    row : float32[V]

    Returns
    -------
    bool
        False where one is NaN or infinity.
    """
    odd = False
    for i in range(row.size):
        # no way out of the loop, so that many are looked at in one instruction
        odd = odd | (not row[i] < _INFINITY)
    return not odd


@kernel
def weigh_values(values, n, top, weights):
    """Exponentials of some values, and their sum.

    Parameters
    ----------
    values : float32[n]
    n : int64
        How many of them count.
    top : float32
        The largest one, above minus infinity.
    weights : float32[n]
        Written: ``exp(values - top)``.

    Returns
    -------
    float64
    """
    whole = n // BLOCK * BLOCK
    for first in range(0, whole, BLOCK):
        write_exponentials(values, first, top, weights)
    for i in range(whole, n):
        weights[i] = np.float32(exponential(values[i], top))
    # four sums, since each addition waits for the one before
    a = b = c = d = 0.0
    by_four = n // 4 * 4
    for i in range(0, by_four, 4):
        a += np.float64(weights[i])
        b += np.float64(weights[i + 1])
        c += np.float64(weights[i + 2])
        d += np.float64(weights[i + 3])
    for i in range(by_four, n):
        a += np.float64(weights[i])
    return (a + b) + (c + d)


@kernel
def largest_within(row, first, stop):
    """Largest value of a part of a row.

    Parameters
    ----------
    row : float32[V]
        NaN is left out.
    first, stop : int64
        ``row[first:stop]`` is looked at.

    Returns
    -------
    float32
        Minus infinity where there is no value above that.
    """
    top = _NOTHING
    whole = first + (stop - first) // BLOCK * BLOCK
    for start in range(first, whole, BLOCK):
        here = largest_of_block(row, start)
        if here > top:
            top = here
    here = _maximum_of(row, whole, stop)
    return here if here > top else top


@kernel
def _sum_part(row, first, stop, top):
    """Sum of ``exp(row[first:stop] - top)``: float32 within a part and within blocks, float64 over them."""
    if stop - first == PART:
        return np.float64(exponentials_of_part(row, first, top))
    total = 0.0
    whole = first + (stop - first) // BLOCK * BLOCK
    for start in range(first, whole, BLOCK):
        total += np.float64(exponentials_of_block(row, start, top))
    rest = whole + (stop - whole) // 16 * 16
    for start in range(whole, rest, 16):
        total += np.float64(exponentials_of_sixteen(row, start, top))
    for i in range(rest, stop):
        total += exponential(row[i], top)
    return total


@kernel
def _join_part(row, first, stop, here, top, total):
    """The largest value and the sum so far, by one more part, whose largest value is ``here``.

    The sum is made smaller when a part has a larger value than those before (Milakov and Gimelshein, "Online normalizer
    calculation for softmax", 2018).
    """
    if here > top:
        total *= exponential(top, here)
        top = here
    if top > _NOTHING:
        total += _sum_part(row, first, stop, top)
    else:
        for i in range(first, stop):
            if row[i] != row[i]:
                total = np.nan
    return top, total


@kernel
def _logarithm(top, total):
    """Of the sum: minus infinity where no value is above that, NaN where one is no number."""
    if top == _NOTHING and total == 0.0:
        return -np.inf
    return np.float64(top) + math.log(total)


@kernel
def log_sum_exp_and_largest(row):
    """Both in one pass.

    Parameters
    ----------
    row : float32[V]

    Returns
    -------
    (float64, int64)
        As of :func:`log_sum_exp` and :func:`largest`.
    """
    top, total = _NOTHING, 0.0
    best = np.int64(0)
    for first in range(0, row.size, PART):
        stop = min(first + PART, row.size)
        here = largest_within(row, first, stop)
        if here > top:
            best = first
        top, total = _join_part(row, first, stop, here, top, total)
    if top > _NOTHING:
        while row[best] != top:
            best += 1
    return _logarithm(top, total), best


@kernel
def log_sum_exp(row):
    """Logarithm of the sum of the exponentials: what a logit exceeds its log-probability by.

    Part after part, each while it is in the nearest cache: its largest value, then its sum.

    Parameters
    ----------
    row : float32[V]
        Minus infinity is a value of no probability.

    Returns
    -------
    float64
        Minus infinity when all values are; NaN when one is NaN or infinity, which no sound model gives.
    """
    return log_sum_exp_and_largest(row)[0]


@kernel
def log_sum_exp_by_blocks(row, maxima):
    """The same, and what :func:`block_maxima` writes, in one pass.

    Parameters
    ----------
    row : float32[V]
    maxima : float32[(V + 63) // 64]
        Written.

    Returns
    -------
    float64
        As of :func:`log_sum_exp`.
    """
    top, total = _NOTHING, 0.0
    for first in range(0, row.size, PART):
        stop = min(first + PART, row.size)
        top, total = _join_part(row, first, stop, _part_maxima(row, first, stop, maxima), top, total)
    return _logarithm(top, total)
