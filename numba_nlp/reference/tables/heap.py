"""Plain twin of ``numba_nlp/kernels/tables/heap.py``: a sorted list."""

from __future__ import annotations

from bisect import insort


def heap_key(rank: int, position: int) -> int:
    """Key by which the lowest rank comes first, the leftmost position among equals."""
    return rank * 2**32 + position


def push_key(keys: list[int], key: int) -> None:
    """Add a key to a sorted list."""
    insort(keys, key)


def pop_key(keys: list[int]) -> int:
    """Remove the smallest key of a sorted list and give it."""
    return keys.pop(0)
