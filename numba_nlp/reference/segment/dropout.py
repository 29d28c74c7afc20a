"""Plain twin of ``numba_nlp/kernels/segment/dropout.py``, written for obviousness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from numba_nlp.reference.tables.random_bits import random_fraction

DROP_ONCE, DROP_EACH_STEP = 0, 1


class Stream:
    """Random numbers of a seed and a stream, one after the other."""

    def __init__(self, seed: int, stream: int) -> None:
        self.seed, self.stream, self.drawn = seed, stream, 0

    def draw(self) -> float:
        """The next random number in [0, 1)."""
        self.drawn += 1
        return random_fraction(self.seed, self.stream, self.drawn - 1)


def join_with_dropout(
    symbols: Sequence[int],
    merges: Mapping[tuple[int, int], tuple[int, int]],
    rule: int,
    probability: float,
    random: Stream,
) -> list[int]:
    """Merge symbols, leaving merges out at random.

    Parameters
    ----------
    symbols : sequence of int
    merges : Mapping of (left, right) to (rank, product)
    rule : int
        ``DROP_ONCE`` or ``DROP_EACH_STEP``.
    probability : float
    random : Stream

    Returns
    -------
    list of int
        The symbols left.
    """
    # with each symbol where it starts, so that a pair can be told from another of the same symbols
    row = [(symbol, start) for start, symbol in enumerate(symbols)]
    dropped: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    while probability < 1:
        candidates = [
            (merges[left[0], right[0]][0], place)
            for place, (left, right) in enumerate(pairwise(row))
            if (left[0], right[0]) in merges and (left, right) not in dropped
        ]
        for _, place in sorted(candidates):
            if probability <= 0 or random.draw() >= probability:
                left, right = row[place : place + 2]
                row[place : place + 2] = [(merges[left[0], right[0]][1], left[1])]
                break
            if rule == DROP_ONCE:
                dropped.add((row[place], row[place + 1]))
        else:
            break
    return [symbol for symbol, _ in row]
