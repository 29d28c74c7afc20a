"""What is lost when a piece of a Unigram model goes.

Its uses in the best segmentations of all words are counted, and the best way to write it by other pieces is found:
what it would be replaced by (Kudo, "Subword regularization", ACL 2018, 3.2). Of segmentations with equal scores, the
one whose last piece begins first is taken.

Twin: ``numba_nlp.reference.training.unigram_prune``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["ALWAYS_KEPT", "NEVER_USED", "add_uses", "find_losses"]

#: In place of a loss: the piece is one character or has no other way to be written.
ALWAYS_KEPT = np.inf
#: In place of a loss: no best segmentation has the piece.
NEVER_USED = -np.inf


@kernel
def _best_ways(
    codes, start, length, whole, character_pieces, offsets, pieces, lengths, scores, unknown_score, best, from_, by
):
    """Best score to each place of ``codes[start:start + length]``; without the piece of all of it unless ``whole``."""
    for i in range(length + 1):
        best[i] = -np.inf
    best[0] = 0.0
    for i in range(length):
        here = best[i]
        piece = np.int64(character_pieces[codes[start + i]])
        score = here + (scores[piece] if piece >= 0 else unknown_score)
        if (length > 1 or whole) and score > best[i + 1]:
            best[i + 1], from_[i + 1], by[i + 1] = score, np.int32(i), np.int32(piece)
        for entry in range(offsets[start + i], offsets[start + i + 1]):
            stop = i + np.int64(lengths[entry])
            if stop > length or (stop - i == length and not whole):
                continue
            score = here + scores[pieces[entry]]
            if score > best[stop]:
                best[stop], from_[stop], by[stop] = score, np.int32(i), pieces[entry]


@kernel
def add_uses(
    codes, starts, counts, first, last, character_pieces, offsets, pieces, lengths, scores, unknown_score, best, from_,
    by, uses,
):  # fmt: skip
    """Count pieces in the best segmentations of some words.

    Parameters
    ----------
    codes, starts, counts, first, last, character_pieces, offsets, pieces, lengths, scores, unknown_score
        As for :func:`numba_nlp.kernels.training.unigram_em.add_expected`.
    best, from_, by : float64[longest + 1], int32[longest + 1], int32[longest + 1]
        Scratch.
    uses : int64[pieces]
        Added to.

    Returns
    -------
    int64
        Number of pieces, and of characters without one.
    """
    total = np.int64(0)
    for word in range(first, last):
        start = starts[word]
        length = starts[word + 1] - 1 - start
        _best_ways(
            codes, start, length, True, character_pieces, offsets, pieces, lengths, scores, unknown_score, best, from_,
            by,
        )  # fmt: skip
        place = np.int64(length)
        while place > 0:
            if by[place] >= 0:
                uses[by[place]] += counts[word]
            total += counts[word]
            place = np.int64(from_[place])
    return total


@kernel
def find_losses(
    codes, places, piece_lengths, first, last, character_pieces, offsets, pieces, lengths, scores, unknown_score,
    uses, n_uses, n_words, best, from_, by, losses,
):  # fmt: skip
    """What the logarithm of probability loses without each of some pieces, for a word on average.

    Parameters
    ----------
    codes : int32[n]
    places, piece_lengths : int32[pieces], int32[pieces]
        Where in ``codes`` each piece stands, and its number of characters.
    first, last : int64
        Pieces ``first`` to ``last - 1`` are looked at.
    character_pieces, offsets, pieces, lengths, scores, unknown_score
        As for :func:`numba_nlp.kernels.training.unigram_em.add_expected`.
    uses, n_uses, n_words : int64[pieces], float64, float64
        See :func:`add_uses`; their sum; number of words, each as often as it occurs.
    best, from_, by : float64[longest + 1], int32[longest + 1], int32[longest + 1]
        Scratch.
    losses : float64[pieces]
        Written, also ``ALWAYS_KEPT`` and ``NEVER_USED``.
    """
    for piece in range(first, last):
        length = np.int64(piece_lengths[piece])
        if uses[piece] == 0:
            losses[piece] = NEVER_USED
            continue
        if length == 1:
            losses[piece] = ALWAYS_KEPT
            continue
        _best_ways(
            codes, np.int64(places[piece]), length, False, character_pieces, offsets, pieces, lengths, scores,
            unknown_score, best, from_, by,
        )  # fmt: skip
        if best[length] > scores[piece]:
            losses[piece] = NEVER_USED
            continue
        n_parts = np.int64(0)
        known = True
        place = np.int64(length)
        while place > 0:
            n_parts += 1
            known = known and by[place] >= 0
            place = np.int64(from_[place])
        if not known:
            losses[piece] = ALWAYS_KEPT
            continue
        own = np.float64(uses[piece])
        log_total = math.log(n_uses + own * (n_parts - 1))
        parts = 0.0
        place = np.int64(length)
        while place > 0:
            parts += math.log(uses[by[place]] + own) - log_total
            place = np.int64(from_[place])
        losses[piece] = own / n_words * (math.log(own) - math.log(n_uses) - parts)
