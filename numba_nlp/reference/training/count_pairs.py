"""Twin of ``numba_nlp.kernels.training.count_pairs``: pairs of neighbours, and the words that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["count_pairs", "places_of"]

Pair = tuple[int, int]


def count_pairs(words: Sequence[Sequence[int]], counts: Sequence[int]) -> dict[Pair, int]:
    """How often each pair occurs."""
    totals: dict[Pair, int] = {}
    for word, count in zip(words, counts, strict=True):
        for pair in pairwise(word):
            totals[pair] = totals.get(pair, 0) + count
    return totals


def places_of(words: Sequence[Sequence[int]]) -> dict[Pair, list[int]]:
    """Numbers of the words in which each pair occurs."""
    places: dict[Pair, list[int]] = {}
    for number, word in enumerate(words):
        for pair in dict.fromkeys(pairwise(word)):
            places.setdefault(pair, []).append(number)
    return places
