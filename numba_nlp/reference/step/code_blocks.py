"""Plain twin of ``numba_nlp/kernels/step/code_blocks.py``, written for obviousness."""

from __future__ import annotations

import numpy as np


def multiply_codes(integers: np.ndarray, steps: np.ndarray, weights: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Products of int8 rows ``[rows, depth]`` and weights ``[columns, depth]``, times the steps of both: float32."""
    exact = integers.astype(np.int64) @ weights.astype(np.int64).T
    return exact.astype(np.float32) * steps[:, None] * scales
