"""Expectation and maximisation in plain Python: list the segmentations of each word."""

from __future__ import annotations

import math

__all__ = ["digamma", "expected", "maximise", "segmentations"]


def segmentations(word, pieces):
    """All ways to write a word by pieces; a character without a piece stands for itself."""
    if not word:
        return [[]]
    made = []
    for stop in range(1, len(word) + 1):
        if word[:stop] in pieces or stop == 1:
            made += [[word[:stop], *rest] for rest in segmentations(word[stop:], pieces)]
    return made


def expected(words, scores, unknown_score):
    """Expected uses of pieces in words with counts, and the logarithm of the probability of all words."""
    uses = dict.fromkeys(scores, 0.0)
    total = 0.0
    for word, count in words:
        ways = segmentations(word, scores)
        probabilities = [math.exp(sum(scores.get(piece, unknown_score) for piece in way)) for way in ways]
        for way, probability in zip(ways, probabilities, strict=True):
            for piece in way:
                if piece in uses:
                    uses[piece] += count * probability / sum(probabilities)
        total += count * math.log(sum(probabilities))
    return uses, total


def digamma(x):
    """Derivative of the logarithm of the gamma function, as a difference quotient far out (A&S 6.3.5)."""
    shift = 0.0
    while x < 1000.0:
        shift -= 1.0 / x
        x += 1.0
    return shift + math.log(x) - 1 / (2 * x) - 1 / (12 * x * x)


def maximise(uses, least):
    """Scores of the pieces that are used often enough."""
    kept = {piece: n for piece, n in uses.items() if n >= least}
    total = sum(kept.values())
    return {piece: digamma(n) - digamma(total) for piece, n in kept.items()}
