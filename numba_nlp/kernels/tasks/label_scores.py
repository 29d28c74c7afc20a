"""Scores of labels from rows of logits, and the best of them.

Rows are short, a number for each label, so that plain loops do; those over a vocabulary are in
:mod:`numba_nlp.kernels.tasks.word_scores`.

Twin: ``numba_nlp.reference.tasks.label_scores``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import exponential
from numba_nlp.kernels.generation.row_selection import select_top

__all__ = ["sigmoid_rows", "softmax_rows", "top_rows"]


@kernel
def softmax_rows(logits, scores):
    """Shares of a row that add up to 1, each proportional to the exponential of its logit.

    Parameters
    ----------
    logits : float32[rows, labels]
        A row that holds NaN or plus infinity, or minus infinity only, gives NaN.
    scores : float32[rows, labels]
        Written; sums are float64.
    """
    for r in range(logits.shape[0]):
        top = np.float32(-np.inf)
        for label in range(logits.shape[1]):
            if logits[r, label] > top:
                top = logits[r, label]
        total = 0.0
        for label in range(logits.shape[1]):
            total += exponential(logits[r, label], top)
        for label in range(logits.shape[1]):
            scores[r, label] = np.float32(exponential(logits[r, label], top) / total)


@kernel
def sigmoid_rows(logits, scores):
    """Logistic function of each logit, labels independent of each other.

    Parameters
    ----------
    logits : float32[rows, labels]
    scores : float32[rows, labels]
        Written.
    """
    for r in range(logits.shape[0]):
        for label in range(logits.shape[1]):
            value = float(np.float64(logits[r, label]))
            # the exponential of a number that is not above 0 cannot overflow
            if value > 0.0:
                scores[r, label] = np.float32(1.0 / (1.0 + math.exp(-value)))
            else:
                power = math.exp(value)
                scores[r, label] = np.float32(power / (1.0 + power))


@kernel
def top_rows(scores, k, maxima, values, indices):
    """The ``k`` best labels of each row, the best first, ties by the lower number.

    Parameters
    ----------
    scores : float32[rows, labels]
        Without NaN.
    k : int64
        From 0 to the number of labels.
    maxima : float32[(labels + 63) // 64]
        Scratch.
    values : float32[rows, k]
        Written: their scores.
    indices : int32[rows, k]
        Written: which they are.
    """
    for r in range(scores.shape[0]):
        select_top(scores[r], k, maxima, values[r], indices[r])
