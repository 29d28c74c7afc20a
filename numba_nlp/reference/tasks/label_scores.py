"""Twin of ``kernels/tasks/label_scores.py`` in numpy's float64 and Python's sort."""

from __future__ import annotations

import numpy as np


def softmax_rows(logits, scores):
    """Shares that add up to 1."""
    for r, row in enumerate(logits.astype(np.float64)):
        if np.isnan(row).any() or np.isposinf(row).any() or np.isneginf(row).all():
            scores[r] = np.nan
        else:
            weights = np.exp(row - row.max())
            scores[r] = weights / weights.sum()


def sigmoid_rows(logits, scores):
    """Logistic function, which is a tangent hyperbolic by another scale."""
    scores[:] = (1 + np.tanh(logits.astype(np.float64) / 2)) / 2


def top_rows(scores, k, maxima, values, indices):
    """The k best of each row."""
    for r, row in enumerate(scores):
        best = sorted(range(len(row)), key=lambda label: (-row[label], label))[:k]
        values[r], indices[r] = row[best], best
