"""Plain twin of ``numba_nlp/kernels/step/row_blocks.py``, written for obviousness."""

from __future__ import annotations

import numpy as np


def weight_values(stored: np.ndarray, kind: str) -> np.ndarray:
    """Values of weights that are kept as float32, or the bits of float16 or bfloat16, in float64."""
    if kind == "float16":
        return stored.view(np.float16).astype(np.float64)
    if kind == "bfloat16":
        with np.errstate(invalid="ignore"):  # NaN that signals
            return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)
