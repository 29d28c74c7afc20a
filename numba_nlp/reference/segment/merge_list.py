"""Plain twin of ``numba_nlp/kernels/segment/merge_list.py``, written for obviousness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def merge_symbols(symbols: Sequence[int], merges: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Merge symbols until nothing merges.

    Parameters
    ----------
    symbols : sequence of int
    merges : Mapping of (left, right) to (rank, product)
        Several merges may have the same rank. The lowest rank merges first, the leftmost pair among equals.

    Returns
    -------
    list of int
        The symbols left.
    """
    symbols = list(symbols)
    while True:
        candidates = [(merges[pair][0], place) for place, pair in enumerate(pairwise(symbols)) if pair in merges]
        if not candidates:
            return symbols
        _, place = min(candidates)
        symbols[place : place + 2] = [merges[symbols[place], symbols[place + 1]][1]]
