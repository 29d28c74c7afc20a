"""Probabilities of the words that a mask may stand for, from its logits over the vocabulary.

Twin: ``numba_nlp.reference.tasks.word_scores``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.row_selection import select_top
from numba_nlp.kernels.generation.row_values import log_sum_exp

__all__ = ["best_targets", "best_tokens"]


@kernel
def _to_probabilities(values, k, shift):
    """Logits less their log-sum-exp, as probabilities."""
    for i in range(k):
        values[i] = np.float32(math.exp(float(np.float64(values[i])) - shift))


@kernel
def best_tokens(logits, absent, k, maxima, scores, tokens):
    """The ``k`` most probable tokens of each row, the best first, ties by the lower id.

    Parameters
    ----------
    logits : float32[rows, V]
        Finite; changed: those that are absent become minus infinity.
    absent : int32[n]
        Ids that no token has: they count among all, and are never chosen.
    k : int64
        From 0 to ``V - n``.
    maxima : float32[(V + 63) // 64]
        Scratch.
    scores : float32[rows, k]
        Written: probabilities among all ids.
    tokens : int32[rows, k]
        Written.
    """
    for r in range(logits.shape[0]):
        row = logits[r]
        shift = log_sum_exp(row)
        for i in range(absent.size):
            row[absent[i]] = np.float32(-np.inf)
        select_top(row, k, maxima, scores[r], tokens[r])
        _to_probabilities(scores[r], k, shift)


@kernel
def best_targets(logits, targets, k, maxima, chosen, scores, tokens):
    """The same, chosen from some tokens only.

    Parameters
    ----------
    logits : float32[rows, V]
        Finite.
    targets : int32[n]
        The tokens, each once; ties by their order.
    k : int64
        From 0 to ``n``.
    maxima : float32[(n + 63) // 64]
        Scratch.
    chosen : float32[n]
        Scratch.
    scores : float32[rows, k]
        Written: probabilities among all ids.
    tokens : int32[rows, k]
        Written.
    """
    for r in range(logits.shape[0]):
        shift = log_sum_exp(logits[r])
        for i in range(targets.size):
            chosen[i] = logits[r, targets[i]]
        select_top(chosen, k, maxima, scores[r], tokens[r])
        _to_probabilities(scores[r], k, shift)
        for i in range(k):
            tokens[r, i] = targets[tokens[r, i]]
