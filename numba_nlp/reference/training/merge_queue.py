"""Twin of ``numba_nlp.kernels.training.merge_queue``: a list that is searched for its first entry."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["first_of"]


def first_of(entries: Sequence[tuple[int, tuple[int, int]]], tokens: Sequence[bytes] | None = None) -> int:
    """Number of the entry (count, pair) that merges next.

    Parameters
    ----------
    entries : sequence of (int, (int, int))
        Not empty.
    tokens : sequence of bytes, optional
        Text of the symbols, by which ties are decided as in subword-nmt; without it, by the numbers of the symbols.
    """
    highest = max(count for count, _ in entries)
    tied = [number for number, (count, _) in enumerate(entries) if count == highest]
    if tokens is None:
        return min(tied, key=lambda number: (entries[number][1], number))
    return max(tied, key=lambda number: (tokens[entries[number][1][0]], tokens[entries[number][1][1]], -number))
