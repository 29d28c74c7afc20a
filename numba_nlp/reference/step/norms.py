"""Twin of ``numba_nlp.kernels.step.norms``, in float64."""

from __future__ import annotations

import numpy as np

__all__ = ["normalize_rows"]


def normalize_rows(x, weights, bias, epsilon, centred):
    """Normalised rows."""
    x = x.astype(np.float64)
    if centred:
        x = x - x.mean(axis=1, keepdims=True)
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + epsilon) * weights + bias
