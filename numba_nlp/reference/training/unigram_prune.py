"""What is lost without a piece, in plain Python: list the segmentations."""

from __future__ import annotations

import math

from numba_nlp.reference.training.unigram_em import segmentations

__all__ = ["best_segmentation", "losses", "uses"]


def best_segmentation(word, scores, unknown_score, without=None):
    """The segmentation with the highest score, and that score."""
    allowed = {piece for piece in scores if piece != without}
    ways = [way for way in segmentations(word, allowed) if without is None or way != [without]]
    scored = [(sum(scores.get(piece, unknown_score) for piece in way), way) for way in ways]
    return max(scored, key=lambda item: item[0])


def uses(words, scores, unknown_score):
    """How often the best segmentations of words with counts use each piece."""
    made = dict.fromkeys(scores, 0)
    for word, count in words:
        for piece in best_segmentation(word, scores, unknown_score)[1]:
            if piece in made:
                made[piece] += count
    return made


def losses(words, scores, unknown_score):
    """What a word's logarithm of probability loses on average without each piece.

    Infinite for pieces that are always kept, minus infinity for those that no best segmentation uses.
    """
    used = uses(words, scores, unknown_score)
    n_uses = sum(used.values())
    n_words = sum(count for _, count in words)
    made = {}
    for piece, score in scores.items():
        if used[piece] == 0:
            made[piece] = -math.inf
            continue
        if len(piece) == 1:
            made[piece] = math.inf
            continue
        other, way = best_segmentation(piece, scores, unknown_score, without=piece)
        if other > score:
            made[piece] = -math.inf
        elif any(part not in scores for part in way):
            made[piece] = math.inf
        else:
            own = used[piece]
            new_total = math.log(n_uses + own * (len(way) - 1))
            parts = sum(math.log(used[part] + own) - new_total for part in way)
            made[piece] = own / n_words * (math.log(own) - math.log(n_uses) - parts)
    return made
