"""Twin of ``kernels/tasks/word_scores.py`` in numpy's float64 and Python's sort."""

from __future__ import annotations

import numpy as np


def best_tokens(logits, absent, k, maxima, scores, tokens):
    """The most probable tokens."""
    present = np.setdiff1d(np.arange(logits.shape[1]), absent)
    best_targets(logits, present, k, maxima, None, scores, tokens)


def best_targets(logits, targets, k, maxima, chosen, scores, tokens):
    """The most probable ones of some tokens."""
    for r, row in enumerate(logits.astype(np.float64)):
        probabilities = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
        best = sorted(range(len(targets)), key=lambda i: (-row[targets[i]], i))[:k]
        tokens[r] = targets[best]
        scores[r] = probabilities[targets[best]]
