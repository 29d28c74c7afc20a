"""Twin of ``numba_nlp.kernels.training.pair_table``: a dictionary of pairs."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["add_pairs"]


def add_pairs(changes: Iterable[tuple[tuple[int, int], int]]) -> dict[tuple[int, int], int]:
    """Add up what is said of each pair."""
    table: dict[tuple[int, int], int] = {}
    for pair, change in changes:
        table[pair] = table.get(pair, 0) + change
    return table
