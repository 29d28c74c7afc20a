"""Plain twin of ``numba_nlp/kernels/segment/join_passes.py``, written for obviousness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from numba_nlp.reference.segment.dropout import Stream


def join_in_passes(
    symbols: Sequence[int], merges: Mapping[tuple[int, int], tuple[int, int]], probability: float, random: Stream
) -> list[int]:
    """Merge all places of the best pair in each pass, until a pass merges nothing.

    Parameters
    ----------
    symbols : sequence of int
    merges : Mapping of (left, right) to (rank, product)
    probability : float
        With which a pair is left out of a pass.
    random : Stream
    """
    row = list(symbols)
    while probability < 1:
        candidates = sorted((merges[pair][0], place) for place, pair in enumerate(pairwise(row)) if pair in merges)
        best, taken = None, set()
        for rank, place in candidates:
            if best is not None and rank != best:
                break
            if place - 1 in taken:
                # its left symbol is part of another one by now
                continue
            if probability <= 0 or random.draw() >= probability:
                best = rank
                taken.add(place)
        if best is None:
            break
        merged, place = [], 0
        while place < len(row):
            if place in taken:
                merged.append(merges[row[place], row[place + 1]][1])
                place += 2
            else:
                merged.append(row[place])
                place += 1
        row = merged
    return row
