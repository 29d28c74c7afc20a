"""Twin of ``numba_nlp.kernels.step.row_attention`` and of ``source_attention``, in float64."""

from __future__ import annotations

import numpy as np

__all__ = ["attend", "exponentials"]


def exponentials(scores: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of scores, and their sum."""
    weights = np.exp(scores.astype(np.float64) - float(scores.max()))
    return weights, float(weights.sum())


def attend(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float, bias: np.ndarray | None = None
) -> np.ndarray:
    """What each head gives, ``[heads, head width]``: query of that shape, keys and values ``[seen, heads, width]``."""
    scores = np.einsum("hd,shd->hs", query.astype(np.float64), keys.astype(np.float64)) * scale
    if bias is not None:
        scores = scores + bias
    weights = np.array([one / total for one, total in map(exponentials, scores)])
    return np.einsum("hs,shd->hd", weights, values.astype(np.float64))
