"""Plain form of ``numba_nlp.kernels.tasks.entities``: lists of rows, cut into lists of words and entities."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import Any

import numpy as np

__all__ = ["AVERAGE", "BEGIN", "END", "FIRST", "INSIDE", "MAX", "SINGLE", "join_entities", "join_words", "span_words"]

FIRST, MAX, AVERAGE = 0, 1, 2
BEGIN, INSIDE, END, SINGLE = 0, 1, 2, 3


def _words(words: list[int]) -> list[list[int]]:
    """Tokens of each word of a row."""
    numbers = [word if word >= 0 else ("alone", token) for token, word in enumerate(words)]
    return [[token for token, _ in group] for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1])]


def span_words(words: list[int], starts: list[int], ends: list[int]) -> list[tuple[int, int]]:
    """Characters of the word of each token of a row."""
    return [(starts[word[0]], ends[word[-1]]) for word in _words(words) for _ in word]


def join_words(
    words: list[int], labels: list[int], scores: list[Any], shares: list[list[Any]], way: int
) -> list[tuple[int, int, int, Any]]:
    """First token, last token, label and score of each word of a row."""
    joined = []
    for word in _words(words):
        if way == AVERAGE:
            rows = [shares[token] for token in word]
            means = [sum(column, np.float32(0)) / np.float32(len(word)) for column in zip(*rows, strict=True)]
            label, score = means.index(max(means)), max(means)
        else:
            best = word[0] if way == FIRST else max(word, key=lambda token: scores[token])
            label, score = labels[best], scores[best]
        joined.append((word[0], word[-1], label, score))
    return joined


def join_entities(
    types: list[int], roles: list[int], labels: list[int], scores: list[Any]
) -> list[tuple[int, int, int, Any]]:
    """First and last token (or word), type and score of each entity of a row."""
    if not labels:
        return []

    def belong(one: int, other: int) -> bool:
        opens, closed = roles[other] in (BEGIN, SINGLE), roles[one] in (END, SINGLE)
        return types[one] == types[other] and not opens and not closed

    cuts = [place for place, (one, other) in enumerate(pairwise(labels), 1) if not belong(one, other)]
    return [
        (first, last - 1, types[labels[first]], np.float32(np.mean([float(score) for score in scores[first:last]])))
        for first, last in pairwise([0, *cuts, len(labels)])
    ]
