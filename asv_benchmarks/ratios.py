"""Ratios of two backends, taken in the same rounds, and how far they spread; for measuring and for rendering."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from math import inf, sqrt
from statistics import median
from typing import Any, NamedTuple

import numpy as np

__all__ = ["LIMIT", "OURS", "Ratio", "by_cell", "fastest_peer", "leaders", "ours_beside", "ratio_of", "ratio_to_peer"]

OURS = "numba_nlp"
#: A ratio is settled when its spread is under this.
LIMIT = 0.10
#: Fewer rounds than these say nothing about a spread.
LEAST_ROUNDS = 3
#: The notch of a box plot: median +- 1.57 * (distance of the quartiles) / sqrt(n) (McGill, Tukey and Larsen 1978).
_NOTCH = 1.57


class Ratio(NamedTuple):
    """How many times as long the other takes: the median over rounds, and the spread as a share of it."""

    value: float
    spread: float

    @property
    def settled(self) -> bool:
        return self.spread < LIMIT


def _by_round(record: dict[str, Any]) -> dict[int, float]:
    """Seconds a byte (or a call) of each round."""
    seconds: dict[int, float] = {}
    sizes: dict[int, float] = {}
    given = record["sizes"] or [record["n_bytes"] or 1] * len(record["seconds"])
    for turn, taken, size in zip(record["rounds"], record["seconds"], given, strict=True):
        seconds[turn] = seconds.get(turn, 0) + taken
        sizes[turn] = sizes.get(turn, 0) + size
    return {turn: seconds[turn] / sizes[turn] for turn in seconds}


def _chunks(record: dict[str, Any], n: int) -> list[float]:
    """Seconds a byte of each of ``n`` runs of samples, one behind the other."""
    sizes = record["sizes"] or [record["n_bytes"] or 1] * len(record["seconds"])
    parts = zip(np.array_split(record["seconds"], n), np.array_split(sizes, n), strict=True)
    return [float(taken.sum() / size.sum()) for taken, size in parts]


def _paired(first: dict[str, Any], second: dict[str, Any]) -> list[float]:
    """Seconds of the second by those of the first, both a byte, of each round that has both.

    Results before 2026-12 do not say which round a sample is of: runs of samples stand for rounds.
    """
    if not (first.get("rounds") and second.get("rounds")):
        n = min(len(first["seconds"]), len(second["seconds"]))
        return [b / a for a, b in zip(_chunks(first, n), _chunks(second, n), strict=True)]
    mine, theirs = _by_round(first), _by_round(second)
    return [theirs[turn] / mine[turn] for turn in mine if turn in theirs]


def ratio_of(first: dict[str, Any], second: dict[str, Any]) -> Ratio:
    """How many times as long the second takes as the first."""
    found = _paired(first, second)
    middle = median(found)
    if len(found) < LEAST_ROUNDS:
        return Ratio(middle, inf)
    low, high = np.percentile(found, (25, 75))
    return Ratio(middle, float(2 * _NOTCH * (high - low) / sqrt(len(found)) / middle))


def _pace(record: dict[str, Any]) -> float:
    """Median seconds a byte (or a call)."""
    sizes = record["sizes"] or [record["n_bytes"] or 1] * len(record["seconds"])
    return median(taken / size for taken, size in zip(record["seconds"], sizes, strict=True))


def fastest_peer(records: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The exact one that takes the least time, of the records of one cell."""
    peers = [record for record in records if record["backend"] != OURS and record["exact"] and record["seconds"]]
    return min(peers, key=_pace, default=None)


def ours_beside(records: Iterable[dict[str, Any]], peer: dict[str, Any]) -> dict[str, Any] | None:
    """Ours on the same text as the peer, which is the first part of the corpus for slow ones; else ours."""
    found = [record for record in records if record["backend"] == OURS and record["seconds"]]
    same = [record for record in found if record["n_bytes"] == peer["n_bytes"]]
    return next(iter(same or found), None)


def ratio_to_peer(records: list[dict[str, Any]]) -> tuple[dict[str, Any], Ratio] | None:
    """The fastest exact peer of one cell, and our ratio to it; None where there is none, or ours is inexact."""
    peer = fastest_peer(records)
    ours = ours_beside(records, peer) if peer else None
    return (peer, ratio_of(ours, peer)) if peer and ours and ours["exact"] else None


def by_cell(records: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Records of what is compared with each other."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for record in records:
        key = tuple(record[name] for name in ("table", "vocabulary", "corpus", "cell", "threads"))
        found.setdefault(key, []).append(record)
    return list(found.values())


def leaders(records: Iterable[dict[str, Any]], *, unsettled: bool, also: Collection[str] = ()) -> set[str]:
    """The fastest exact peer of each cell, or of each whose ratio is not settled, and ours, if there are any.

    Parameters
    ----------
    also : collection of str
        Peers that matter wherever they are exact, for there are targets beside them.
    """
    found = set()
    for cell in by_cell(records):
        fastest = fastest_peer(cell)
        named = [record for record in cell if record["backend"] in also and record["exact"] and record["seconds"]]
        for peer in [fastest, *named] if fastest else []:
            ours = ours_beside(cell, peer)
            if ours and ours["exact"] and not (unsettled and ratio_of(ours, peer).settled):
                found |= {OURS, peer["backend"]}
    return found
