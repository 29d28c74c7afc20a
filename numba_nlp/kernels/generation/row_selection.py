"""The largest values of a row of logits, in order, and ties by the lower index.

Selection goes by the largest value of each block of 64: the k-th largest of those is a floor under the k-th largest of
all, and blocks below it are not looked at; likewise for parts of 1024 and their blocks.

Twin: ``numba_nlp.reference.generation.row_selection``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import BLOCK, PART_BLOCKS, largest_of_sixteen
from numba_nlp.kernels.generation.row_values import block_maxima, largest_within

__all__ = [
    "gather_best",
    "offer_best",
    "select_blocks",
    "select_changed",
    "select_top",
    "sort_best",
]

_NOTHING = np.float32(-np.inf)
#: Times that maxima are made true piecemeal before all of them are.
_ROUNDS = 4


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
def _blocks_top(maxima, first, stop):
    """Largest of the maxima of a part's blocks."""
    return largest_of_sixteen(maxima, first) if stop - first == PART_BLOCKS else largest_within(maxima, first, stop)


@kernel
def _floor_of(maxima, k, values, indices):
    """A value that at least ``k`` values reach: the k-th largest of the parts' maxima, of the blocks' or none."""
    blocks = maxima.size
    n = np.int64(0)
    if k <= (blocks + PART_BLOCKS - 1) // PART_BLOCKS:
        for first in range(0, blocks, PART_BLOCKS):
            top = _blocks_top(maxima, first, min(first + PART_BLOCKS, blocks))
            if n < k or top > values[0]:
                n = offer_best(top, first, k, values, indices, n)
        return values[0]
    if k <= blocks:
        _offer_part(maxima, 0, blocks, _NOTHING, k, values, indices, n)
        return values[0]
    return _NOTHING


@kernel
def _gather_from(row, k, floor, maxima, values, indices):
    """The ``k`` best values, none of which is below a floor; in a heap."""
    blocks = (row.size + BLOCK - 1) // BLOCK
    n = np.int64(0)
    for part in range(0, blocks, PART_BLOCKS):
        end = min(part + PART_BLOCKS, blocks)
        top = _blocks_top(maxima, part, end)
        if top < floor or (n == k and not top > values[0]):
            continue
        for block in range(part, end):
            if maxima[block] >= floor and (n < k or maxima[block] > values[0]):
                first = block * BLOCK
                stop = min(first + BLOCK, row.size)
                whole = first + (stop - first) // 16 * 16
                for start in range(first, whole, 16):
                    best = largest_of_sixteen(row, start)
                    if best >= floor and (n < k or best > values[0]):
                        n = _offer_part(row, start, start + 16, floor, k, values, indices, n)
                n = _offer_part(row, whole, stop, floor, k, values, indices, n)
    return n


@kernel
def gather_best(row, k, maxima, values, indices):
    """The same without order, the worst of them at place 0; arguments as for :func:`select_blocks`."""
    k = min(k, row.size)
    if k <= 0:
        return 0
    floor = _floor_of(maxima[: (row.size + BLOCK - 1) // BLOCK], k, values, indices)
    return _gather_from(row, k, floor, maxima, values, indices)


@kernel
def select_blocks(row, k, maxima, values, indices):
    """What :func:`select_top` selects, given the block maxima of the row.

    Parameters
    ----------
    row : float32[V]
    k : int64
    maxima : float32[(V + 63) // 64]
        As :func:`numba_nlp.kernels.generation.row_values.block_maxima` writes them.
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
def select_changed(row, k, maxima, values, indices):
    """The same from maxima of the row as it was before some values became smaller.

    Maxima of blocks that would be looked at are made true until all of these are: then no other block has a value among
    the best.

    Parameters
    ----------
    row : float32[V]
    k : int64
    maxima : float32[(V + 63) // 64]
        At least the largest value of each block; corrected.
    values, indices : float32[k], int32[k]
        Written.

    Returns
    -------
    int64
    """
    k = min(k, row.size)
    if k <= 0:
        return np.int64(0)
    blocks = (row.size + BLOCK - 1) // BLOCK
    floor, changed, rounds = _NOTHING, True, 0
    while changed and rounds < _ROUNDS:
        floor = _floor_of(maxima[:blocks], k, values, indices)
        changed = False
        for part in range(0, blocks, PART_BLOCKS):
            end = min(part + PART_BLOCKS, blocks)
            if _blocks_top(maxima, part, end) < floor:
                continue
            for block in range(part, end):
                if maxima[block] >= floor:
                    first = block * BLOCK
                    top = largest_within(row, first, min(first + BLOCK, row.size))
                    changed = changed or top < maxima[block]
                    maxima[block] = top
        rounds += 1
    if changed:
        block_maxima(row, maxima)
        floor = _floor_of(maxima[:blocks], k, values, indices)
    n = _gather_from(row, k, floor, maxima, values, indices)
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
