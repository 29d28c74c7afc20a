"""What a step reads from a row of logits: the largest ones, where they are, and the logarithm of the sum of all.

A row's log-probabilities are its logits less their log-sum-exp, so they are ordered as the logits are and no array of
them is made. Selection goes by the largest value of each block of 64: the k-th largest of those is a floor under the
k-th largest of all, and blocks below it are not looked at.

Twin: ``numba_nlp.reference.generation.row_values``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import (
    BLOCK,
    exponential,
    exponentials_of_block,
    largest_of_block,
    write_exponentials,
)

__all__ = [
    "BLOCK",
    "block_maxima",
    "gather_best",
    "largest",
    "log_sum_exp",
    "offer_best",
    "select_blocks",
    "select_top",
    "sort_best",
    "weigh_values",
]

_NOTHING = np.float32(-np.inf)
#: Values that are looked at twice while they are in the nearest cache: 16 KiB.
_PART = 4096


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
    whole = row.size // BLOCK
    for block in range(whole):
        here = largest_of_block(row, block * BLOCK)
        maxima[block] = here
        if here > top:
            top = here
    if whole * BLOCK < row.size:
        here = _NOTHING
        for i in range(whole * BLOCK, row.size):
            if row[i] > here:
                here = row[i]
        maxima[whole] = here
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
def _largest_of_part(row, first, stop):
    """Largest of ``row[first:stop]``, NaN left out."""
    top = _NOTHING
    whole = first + (stop - first) // BLOCK * BLOCK
    for start in range(first, whole, BLOCK):
        here = largest_of_block(row, start)
        if here > top:
            top = here
    for i in range(whole, stop):
        if row[i] > top:
            top = row[i]
    return top


@kernel
def _sum_part(row, first, stop, top):
    """Sum of ``exp(row[first:stop] - top)``: float32 within blocks of 64, float64 over them."""
    total = 0.0
    whole = first + (stop - first) // BLOCK * BLOCK
    for start in range(first, whole, BLOCK):
        total += np.float64(exponentials_of_block(row, start, top))
    for i in range(whole, stop):
        total += exponential(row[i], top)
    return total


@kernel
def log_sum_exp(row):
    """Logarithm of the sum of the exponentials: what a logit exceeds its log-probability by.

    Part after part, each while it is in the nearest cache: its largest value, then its sum, with the sum so far made
    smaller when a part has a larger value than those before (Milakov and Gimelshein, "Online normalizer calculation
    for softmax", 2018).

    Parameters
    ----------
    row : float32[V]
        Minus infinity is a value of no probability.

    Returns
    -------
    float64
        Minus infinity when all values are; NaN when one is NaN or infinity, which no sound model gives.
    """
    top, total = _NOTHING, 0.0
    for first in range(0, row.size, _PART):
        stop = min(first + _PART, row.size)
        here = _largest_of_part(row, first, stop)
        if here > top:
            total *= exponential(top, here)
            top = here
        if top > _NOTHING:
            total += _sum_part(row, first, stop, top)
        else:
            for i in range(first, stop):
                if row[i] != row[i]:
                    return np.nan
    if top == _NOTHING:
        return -np.inf
    return np.float64(top) + math.log(total)


@kernel
def _is_worse(value, index, other, other_index):
    """Whether a value stands behind another one: smaller, or as large and further to the right."""
    return value < other or (value == other and index > other_index)


@kernel
def _sink(values, indices, n, place):
    """Restore a heap with its worst entry at the root, in which one entry may be too good for its place."""
    value, index = values[place], indices[place]
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        other = child + 1
        if other < n and _is_worse(values[other], indices[other], values[child], indices[child]):
            child = other
        if not _is_worse(values[child], indices[child], value, index):
            break
        values[place], indices[place] = values[child], indices[child]
        place = child
    values[place], indices[place] = value, index


@kernel
def offer_best(value, index, k, values, indices, n):
    """Offer an entry to a heap of the ``k`` best, the worst one of which is at the root.

    Parameters
    ----------
    value : float
    index : int64
        Of equal values the lower index is better.
    k : int64
        At least 1.
    values, indices : float[k], int[k]
        The heap, changed.
    n : int64
        Its entries.

    Returns
    -------
    int64
        The entries afterwards.
    """
    if n < k:
        place = n
        # up from the last leaf
        while place > 0:
            parent = (place - 1) // 2
            if not _is_worse(value, index, values[parent], indices[parent]):
                break
            values[place], indices[place] = values[parent], indices[parent]
            place = parent
        values[place], indices[place] = value, index
        return n + 1
    if _is_worse(values[0], indices[0], value, index):
        values[0], indices[0] = value, index
        _sink(values, indices, k, 0)
    return n


@kernel
def sort_best(values, indices, n):
    """Put a heap of :func:`offer_best` in order, the best first.

    Parameters
    ----------
    values, indices : float[n], int[n]
        Changed.
    n : int64
    """
    for end in range(n - 1, 0, -1):
        # the worst one goes behind the others
        values[0], values[end] = values[end], values[0]
        indices[0], indices[end] = indices[end], indices[0]
        _sink(values, indices, end, 0)


@kernel
def _offer_part(source, first, stop, floor, k, values, indices, n):
    """Offer ``source[first:stop]``, from ``floor`` on."""
    for i in range(first, stop):
        value = source[i]
        if value >= floor and (n < k or value > values[0]):
            n = offer_best(value, i, k, values, indices, n)
    return n


@kernel
def gather_best(row, k, maxima, values, indices):
    """The same without order, the worst of them at place 0; arguments as for :func:`select_blocks`."""
    k = min(k, row.size)
    if k <= 0:
        return 0
    blocks = (row.size + BLOCK - 1) // BLOCK
    floor = _NOTHING
    if k <= blocks:
        _offer_part(maxima, 0, blocks, _NOTHING, k, values, indices, 0)
        floor = values[0]
    n = np.int64(0)
    for block in range(blocks):
        if maxima[block] >= floor and (n < k or maxima[block] > values[0]):
            first = block * BLOCK
            n = _offer_part(row, first, min(first + BLOCK, row.size), floor, k, values, indices, n)
    return n


@kernel
def select_blocks(row, k, maxima, values, indices):
    """What :func:`select_top` selects, given the block maxima of the row.

    Parameters
    ----------
    row : float32[V]
    k : int64
    maxima : float32[(V + 63) // 64]
        As :func:`block_maxima` writes them.
    values, indices : float32[k], int32[k]
        Written.

    Returns
    -------
    int64
    """
    n = gather_best(row, k, maxima, values, indices)
    sort_best(values, indices, n)
    return n


@kernel
def select_top(row, k, maxima, values, indices):
    """The ``k`` largest values in descending order, ties by the lower index.

    One pass over the row, then work on about ``k`` blocks; time does not depend on the order of the values by more
    than a factor of ``log(k)``, and nothing is sorted but the ``k``.

    Parameters
    ----------
    row : float32[V]
        Without NaN.
    k : int64
        At least 0.
    maxima : float32[(V + 63) // 64]
        Scratch.
    values, indices : float32[k], int32[k]
        Written.

    Returns
    -------
    int64
        How many there are: the smaller one of ``k`` and V.
    """
    block_maxima(row, maxima)
    return select_blocks(row, k, maxima, values, indices)
