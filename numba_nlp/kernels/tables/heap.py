"""A min-heap of uint64 keys in a flat array, four children a node (Johnson, "Priority queues with update", 1975).

What is waiting, and what it waits with, goes into one number: the more significant bits decide first. Four children
stand side by side, so that a large heap is half as deep in cache lines as a binary one.

Twin: ``numba_nlp.reference.tables.heap``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["heap_key", "pop_key", "push_key"]


@kernel
def heap_key(rank, position):
    """Key by which the lowest rank comes first, the leftmost position among equals.

    Parameters
    ----------
    rank, position : int64
        ``0 <= rank < 2**31``, ``0 <= position < 2**32``.

    Returns
    -------
    uint64
    """
    return np.uint64((np.int64(rank) << 32) | np.int64(position))


@kernel
def push_key(heap, size, key):
    """Add a key.

    Parameters
    ----------
    heap : uint64[> size]
    size : int64
        Keys in the heap.
    key : uint64

    Returns
    -------
    int64
        The new size.
    """
    i = size
    while i > 0:
        parent = (i - 1) >> 2
        if heap[parent] <= key:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = key
    return size + 1


@kernel
def pop_key(heap, size):
    """Remove the smallest key, which is ``heap[0]`` before the call.

    Parameters
    ----------
    heap : uint64[size]
    size : int64
        Keys in the heap, at least one.

    Returns
    -------
    int64
        The new size.
    """
    size -= 1
    key = heap[size]
    i = 0
    while True:
        first = 4 * i + 1
        if first >= size:
            break
        child = first
        for other in range(first + 1, min(first + 4, size)):
            if heap[other] < heap[child]:
                child = other
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return size
