"""A binary min-heap of uint64 keys in a flat array (Williams, "Algorithm 232: Heapsort", CACM 7, 1964).

What is waiting, and what it waits with, goes into one number: the more significant bits decide first.

Twin: ``numba_nlp.reference.tables.heap``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["heap_key", "pop_entry", "pop_key", "push_entry", "push_key"]


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
        parent = (i - 1) >> 1
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
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return size


@kernel
def push_entry(heap, values, size, key, value):
    """Add a key that brings a value with it.

    Parameters
    ----------
    heap, values : uint64[> size] each
    size : int64
        Keys in the heap.
    key, value : uint64

    Returns
    -------
    int64
        The new size.
    """
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= key:
            break
        heap[i] = heap[parent]
        values[i] = values[parent]
        i = parent
    heap[i] = key
    values[i] = value
    return size + 1


@kernel
def pop_entry(heap, values, size):
    """Remove the smallest key and its value, which are ``heap[0]`` and ``values[0]`` before the call.

    Parameters
    ----------
    heap, values : uint64[size] each
    size : int64
        Keys in the heap, at least one.

    Returns
    -------
    int64
        The new size.
    """
    size -= 1
    key, value = heap[size], values[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        values[i] = values[child]
        i = child
    heap[i] = key
    values[i] = value
    return size
