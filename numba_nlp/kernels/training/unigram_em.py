"""One step of expectation and maximisation for the pieces of a Unigram model.

Expectation: how often each piece is used when each word is segmented in every way, weighed by probability; by the
forward-backward algorithm on the lattices of :mod:`numba_nlp.kernels.training.unigram_lattices` (Kudo, "Subword
regularization", ACL 2018). Sums are of probabilities, not of logarithms, times ``exp(GAIN)`` for each character so
that they stay in range; a word for which they do not is done again with logarithms.

Maximisation: the logarithm of a piece's share, with the digamma function in place of the logarithm, which lowers
rare pieces (Liang and Klein, "Structured Bayesian nonparametric models with variational inference", ACL 2007).

Twin: ``numba_nlp.reference.training.unigram_em``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["GAIN", "add_expected", "digamma", "maximise", "weigh_pieces"]

#: Added to the logarithm of probability for each character.
GAIN = 8.0
#: Range in which the sums of a word are trusted.
_SMALLEST = 1e-250
_LARGEST = 1e250
_NEVER = -np.inf


@kernel
def weigh_pieces(scores, piece_lengths, unknown_score, weights):
    """Probabilities of pieces times ``exp(GAIN)`` for each character.

    Parameters
    ----------
    scores : float64[pieces]
        Logarithms of probability.
    piece_lengths : int32[pieces]
        Characters.
    unknown_score : float64
        Of a character without a piece.
    weights : float64[pieces + 1]
        Written; the last one is of a character without a piece.
    """
    for piece in range(scores.size):
        weights[piece] = math.exp(scores[piece] + GAIN * piece_lengths[piece])
    weights[scores.size] = math.exp(unknown_score + GAIN)


@kernel
def _sum_forward(codes, start, length, character_pieces, offsets, pieces, lengths, weights, forward):
    """Sums of weights of all ways to each place of a word."""
    unknown = weights.size - 1
    for i in range(length + 1):
        forward[i] = 0.0
    forward[0] = 1.0
    for i in range(length):
        here = forward[i]
        piece = np.int64(character_pieces[codes[start + i]])
        forward[i + 1] += here * weights[piece if piece >= 0 else unknown]
        for entry in range(offsets[start + i], offsets[start + i + 1]):
            forward[i + np.int64(lengths[entry])] += here * weights[pieces[entry]]
    return forward[length]


@kernel
def _add_sums(
    codes, start, length, count, character_pieces, offsets, pieces, lengths, weights, forward, backward, expected
):
    """Add what a word expects, given the sums of the ways to its places."""
    unknown = weights.size - 1
    share = count / forward[length]
    backward[length] = 1.0
    for back in range(length):
        i = length - 1 - back
        here = forward[i] * share
        piece = np.int64(character_pieces[codes[start + i]])
        way = weights[piece if piece >= 0 else unknown] * backward[i + 1]
        total = way
        if piece >= 0:
            expected[piece] += here * way
        for entry in range(offsets[start + i], offsets[start + i + 1]):
            way = weights[pieces[entry]] * backward[i + np.int64(lengths[entry])]
            total += way
            expected[pieces[entry]] += here * way
        backward[i] = total


@kernel
def _log_sum(a, b):
    """``log(exp(a) + exp(b))``."""
    high, low = max(a, b), min(a, b)
    return high if low == _NEVER else high + math.log1p(math.exp(low - high))


@kernel
def _add_logarithms(
    codes, start, length, count, character_pieces, offsets, pieces, lengths, scores, unknown_score, forward, backward,
    expected,
):  # fmt: skip
    """Add what a word expects, all sums as logarithms; returns that of all ways."""
    for i in range(length + 1):
        forward[i] = _NEVER
        backward[i] = _NEVER
    forward[0] = 0.0
    backward[length] = 0.0
    for i in range(length):
        here = forward[i]
        piece = np.int64(character_pieces[codes[start + i]])
        forward[i + 1] = _log_sum(forward[i + 1], here + (scores[piece] if piece >= 0 else unknown_score))
        for entry in range(offsets[start + i], offsets[start + i + 1]):
            stop = i + np.int64(lengths[entry])
            forward[stop] = _log_sum(forward[stop], here + scores[pieces[entry]])
    total = forward[length]
    for back in range(length):
        i = length - 1 - back
        here = forward[i] - total
        piece = np.int64(character_pieces[codes[start + i]])
        way = (scores[piece] if piece >= 0 else unknown_score) + backward[i + 1]
        backward[i] = _log_sum(backward[i], way)
        if piece >= 0:
            expected[piece] += count * math.exp(here + way)
        for entry in range(offsets[start + i], offsets[start + i + 1]):
            way = scores[pieces[entry]] + backward[i + np.int64(lengths[entry])]
            backward[i] = _log_sum(backward[i], way)
            expected[pieces[entry]] += count * math.exp(here + way)
    return total


@kernel
def add_expected(
    codes, starts, counts, first, last, character_pieces, offsets, pieces, lengths, scores, unknown_score, weights,
    forward, backward, expected,
):  # fmt: skip
    """Expected uses of pieces in some words.

    Parameters
    ----------
    codes, starts, counts : int32[n], int64[W + 1], int64[W]
        Characters, place of each word, how often it occurs; the last character of a word is 0.
    first, last : int64
        Words ``first`` to ``last - 1`` are looked at.
    character_pieces : int32[C]
        Piece of each character, or -1.
    offsets, pieces, lengths : int64[n + 1], int32[entries], uint16[entries]
        See :func:`numba_nlp.kernels.training.unigram_lattices.fill_entries`.
    scores, unknown_score, weights : float64[pieces], float64, float64[pieces + 1]
        See :func:`weigh_pieces`.
    forward, backward : float64[longest + 1], float64[longest + 1]
        Scratch.
    expected : float64[pieces]
        Added to.

    Returns
    -------
    float64
        Logarithm of the probability of the words.
    """
    total = 0.0
    for word in range(first, last):
        start = starts[word]
        length = starts[word + 1] - 1 - start
        count = np.float64(counts[word])
        summed = _sum_forward(codes, start, length, character_pieces, offsets, pieces, lengths, weights, forward)
        if _SMALLEST < summed < _LARGEST:
            _add_sums(
                codes, start, length, count, character_pieces, offsets, pieces, lengths, weights, forward, backward,
                expected,
            )  # fmt: skip
            total += count * (math.log(summed) - GAIN * length)
        else:
            total += count * _add_logarithms(
                codes, start, length, count, character_pieces, offsets, pieces, lengths, scores, unknown_score,
                forward, backward, expected,
            )  # fmt: skip
    return total


@kernel
def digamma(x):
    """Derivative of the logarithm of the gamma function.

    Parameters
    ----------
    x : float64
        Above 0.

    Returns
    -------
    float64
        By the recurrence up to 7, and the asymptotic series from there (Abramowitz and Stegun, 6.3.5 and 6.3.18).
    """
    shift = 0.0
    while x < 7.0:
        shift -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * (691 / 32760))))))
    return shift + math.log(x) - 0.5 / x - series


@kernel
def maximise(expected, least, scores, numbers):
    """Scores by what was expected; pieces that were expected too rarely go.

    Parameters
    ----------
    expected : float64[pieces]
    least : float64
        What must be expected of a piece.
    scores : float64[pieces]
        Written at the beginning: those of the pieces that stay.
    numbers : int32[pieces]
        Written: new number of each piece, -1 for those that go.

    Returns
    -------
    int64
        Number of pieces that stay.
    """
    total = 0.0
    n = np.int64(0)
    for piece in range(expected.size):
        numbers[piece] = -1
        if expected[piece] >= least:
            numbers[piece] = np.int32(n)
            total += expected[piece]
            n += 1
    if n == 0:
        return n
    log_total = digamma(total)
    for piece in range(expected.size):
        if numbers[piece] >= 0:
            scores[numbers[piece]] = digamma(expected[piece]) - log_total
    return n
