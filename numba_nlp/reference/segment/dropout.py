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
    if probability >= 1:
        return list(symbols)
    # with each symbol where it starts, so that a pair can be told from another of the same symbols
    row = [(symbol, start) for start, symbol in enumerate(symbols)]
    (_drop_once if rule == DROP_ONCE else _drop_each_step)(row, merges, probability, random)
    return [symbol for symbol, _ in row]


def _merge(row: list[tuple[int, int]], place: int, merges: Mapping[tuple[int, int], tuple[int, int]]) -> None:
    (left, start), (right, _) = row[place : place + 2]
    row[place : place + 2] = [(merges[left, right][1], start)]


def _rank_at(row: list[tuple[int, int]], place: int, merges: Mapping[tuple[int, int], tuple[int, int]]) -> int | None:
    """Rank of the pair whose left symbol is at a place, None without such a merge."""
    if not 0 <= place < len(row) - 1 or (row[place][0], row[place + 1][0]) not in merges:
        return None
    return merges[row[place][0], row[place + 1][0]][0]


def _drop_once(
    row: list[tuple[int, int]],
    merges: Mapping[tuple[int, int], tuple[int, int]],
    probability: float,
    random: Stream,
) -> None:
    dropped: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    while True:
        candidates = [
            (rank, place)
            for place, pair in enumerate(pairwise(row))
            if (rank := _rank_at(row, place, merges)) is not None and pair not in dropped
        ]
        for _, place in sorted(candidates):
            if probability <= 0 or random.draw() >= probability:
                _merge(row, place, merges)
                break
            dropped.add((row[place], row[place + 1]))
        else:
            return


def _drop_each_step(
    row: list[tuple[int, int]],
    merges: Mapping[tuple[int, int], tuple[int, int]],
    probability: float,
    random: Stream,
) -> None:
    def entries(*places: int) -> list[tuple[int, int]]:
        """Rank of each pair there, and where its left symbol starts."""
        return [(rank, row[at][1]) for at in places if (rank := _rank_at(row, at, merges)) is not None]

    queue = entries(*range(len(row)))
    aside: list[tuple[int, int]] = []
    while queue:
        rank, start = entry = min(queue)
        queue.remove(entry)
        if probability > 0 and random.draw() < probability:
            aside.append(entry)
            continue
        queue += aside
        aside = []
        place = next((at for at, (_, begin) in enumerate(row) if begin == start), -1)
        if _rank_at(row, place, merges) == rank:
            _merge(row, place, merges)
            queue += entries(place - 1, place)
