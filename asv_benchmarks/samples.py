"""Samples of what is measured, and the loop that takes them by turns until ratios have settled."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from .benchmarks.backends import Flat, reference_flat, references_of
from .ratios import leaders

__all__ = ["Judge", "Record", "Rounds", "add", "beginning", "interleaved", "same_ids", "say", "timed", "wanted_names"]

Key = TypeVar("Key")
#: Slow backends have no more rounds than these, unless one of them is the fastest exact peer.
SLOW_ROUNDS = 2


@dataclass
class Record:
    """Samples of one cell: seconds for ``n_bytes`` bytes (or for one call, when ``n_bytes`` is 0)."""

    table: str
    vocabulary: str
    corpus: str
    cell: str
    backend: str
    threads: int
    n_bytes: int = 0
    exact: bool = True
    seconds: list[float] = field(default_factory=list)
    #: Bytes of each sample where samples differ (held-out slices), else empty.
    sizes: list[int] = field(default_factory=list)
    #: Round of each sample: what stands in one round was taken within seconds.
    rounds: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Rounds:
    """How often: at least so many rounds, at most so many, and none begins after so many seconds but the least."""

    least: int = 5
    most: int = 15
    seconds: float = 10.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def add(record: Record, turn: int, *seconds: float) -> None:
    """Samples of one round."""
    record.seconds += seconds
    record.rounds += [turn] * len(seconds)


def timed(call: Callable[..., Any], *arguments: Any) -> float:
    """Seconds of one call; its result is dropped after the clock is read."""
    start = time.perf_counter()
    result = call(*arguments)
    stop = time.perf_counter()
    del result
    return stop - start


def beginning(texts: tuple[str, ...], n_bytes: int | None) -> tuple[str, ...]:
    """The first texts of about ``n_bytes`` bytes; None: all of them."""
    total = 0
    for count, text in enumerate(texts, start=1):
        total += len(text.encode())
        if n_bytes is not None and total >= n_bytes:
            return texts[:count]
    return texts


def same_ids(left: Flat, right: Flat) -> bool:
    """Whether two results are the same rows of the same ids."""
    return np.array_equal(left[1], right[1]) and np.array_equal(left[0], right[0])


class Judge:
    """Says whether ids are those of a reference; asks the slower reference only when the first disagrees."""

    def __init__(self, vocabulary: str, texts: tuple[str, ...]) -> None:
        self.vocabulary, self.texts = vocabulary, list(texts)
        self._found: dict[str, Flat] = {}

    def exact(self, flat: Flat) -> bool:
        for reference in references_of(self.vocabulary):
            if reference not in self._found:
                self._found[reference] = reference_flat(self.vocabulary, self.texts, reference)
            if same_ids(self._found[reference], flat):
                return True
        return False


def _rotated(keys: Sequence[Key], turn: int) -> Iterator[Key]:
    for place in range(len(keys)):
        yield keys[(place + turn) % len(keys)]


def wanted_names(
    records: Sequence[Record], rounds: Rounds, slow: Collection[str], also: Collection[str] = ()
) -> Callable[[int], set[str]]:
    """Function of a round's number: which backends take part in it.

    All in the first rounds, without the slow ones after :data:`SLOW_ROUNDS`; then ours and the fastest exact peers of
    the cells whose ratios have not settled, and those of ``also`` (:func:`~asv_benchmarks.ratios.leaders`), which have
    as many rounds as the others even if they are slow.
    """
    names = {record.backend for record in records}

    def wanted(turn: int) -> set[str]:
        if turn < SLOW_ROUNDS:
            return names
        chosen = leaders(map(vars, records), unsettled=turn >= rounds.least, also=also)
        return chosen | (names - set(slow)) if turn < rounds.least else chosen

    return wanted


def interleaved(
    keys: Sequence[Key],
    take: Callable[[Key, int], None],
    rounds: Rounds,
    wanted: Callable[[int], Collection[Key]],
) -> int:
    """Rounds of A B C, then B C A, ..., with the garbage collector off; returns how many there were.

    Parameters
    ----------
    take : callable
        Takes the samples of a key in a round, whose number it is given.
    wanted : callable
        The keys of the next round, whose number it is given. None of them: all that matters has settled.
    """
    gc.collect()
    gc.freeze()  # else each collection between rounds goes through the corpora, a tenth of a second
    gc.disable()
    try:
        turn, begun, now = 0, time.perf_counter(), list(keys)
        while now and turn < rounds.most and (turn < rounds.least or time.perf_counter() - begun < rounds.seconds):
            for key in _rotated(now, turn):
                take(key, turn)
            turn += 1
            chosen = wanted(turn)
            now = [key for key in keys if key in chosen]
    finally:
        gc.enable()
        gc.unfreeze()
    return turn
