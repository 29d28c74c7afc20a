"""Rows in the order of their bytes.

Twin: ``numba_nlp.reference.training.sort_rows``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import shift_left

__all__ = ["compare_bytes", "first_bytes", "sort_ties"]


@kernel
def compare_bytes(left, left_start, left_stop, right, right_start, right_stop):
    """Compare ``left[left_start:left_stop]`` with ``right[right_start:right_stop]``, byte by byte.

    Parameters
    ----------
    left, left_start, left_stop : uint8[...], int64, int64
    right, right_start, right_stop : uint8[...], int64, int64

    Returns
    -------
    int64
        Below 0, 0 or above 0 as the first is less, equal or greater; what goes on is greater than what ends.
    """
    n = min(left_stop - left_start, right_stop - right_start)
    for i in range(n):
        difference = np.int64(left[left_start + i]) - np.int64(right[right_start + i])
        if difference != 0:
            return difference
    return np.int64((left_stop - left_start) - (right_stop - right_start))


@kernel
def first_bytes(data, offsets, keys):
    """Write the first eight bytes of every row as a number that sorts as they do.

    Parameters
    ----------
    data, offsets : uint8[m], int64[rows + 1]
    keys : uint64[rows]
        Written: big-endian, padded with zeros.

    Returns
    -------
    int64
        Number of rows.
    """
    for row in range(keys.size):
        key = np.uint64(0)
        start = offsets[row]
        for i in range(min(offsets[row + 1] - start, 8)):
            key |= shift_left(np.uint64(data[start + i]), 56 - 8 * i)
        keys[row] = key
    return np.int64(keys.size)


@kernel
def sort_ties(data, offsets, keys, order, scratch):
    """Bring rows with the same first eight bytes into order: bottom-up merge sort (Knuth, TAOCP 3, 5.2.4).

    Parameters
    ----------
    data, offsets : uint8[m], int64[rows + 1]
    keys : uint64[rows]
        Of :func:`first_bytes`.
    order : int64[rows]
        Rows sorted by key; changed.
    scratch : int64[rows]

    Returns
    -------
    int64
        Number of rows.
    """
    n = order.size
    begin = np.int64(0)
    while begin < n:
        stop = begin + 1
        while stop < n and keys[order[stop]] == keys[order[begin]]:
            stop += 1
        width = np.int64(1)
        while width < stop - begin:
            for low in range(begin, stop, 2 * width):
                middle = min(low + width, stop)
                high = min(low + 2 * width, stop)
                left = low
                right = middle
                for out in range(low, high):
                    takes_left = right >= high
                    if not takes_left and left < middle:
                        a, b = order[left], order[right]
                        takes_left = (
                            compare_bytes(data, offsets[a], offsets[a + 1], data, offsets[b], offsets[b + 1]) <= 0
                        )
                    if takes_left:
                        scratch[out] = order[left]
                        left += 1
                    else:
                        scratch[out] = order[right]
                        right += 1
            for i in range(begin, stop):
                order[i] = scratch[i]
            width *= 2
        begin = stop
    return np.int64(n)
