"""Plain twin of ``numba_nlp/kernels/step/word_blocks.py``, written for obviousness."""

from __future__ import annotations

import numpy as np


def multiply_words(
    integers: np.ndarray, steps: np.ndarray, weights: np.ndarray, scales: np.ndarray, run: int
) -> np.ndarray:
    """Products of int16 rows ``[rows, depth]`` and weights ``[columns, depth]``, times the steps of both: float32.

    The products of so many numbers are added up exactly, their sums one after the other in float32.
    """
    total = np.zeros((len(integers), len(weights)), np.float32)
    for first in range(0, integers.shape[1], run):
        some = slice(first, first + run)
        exact = integers[:, some].astype(np.int64) @ weights[:, some].astype(np.int64).T
        assert (abs(exact) < 2**31).all()
        total += exact.astype(np.float32)
    return total * steps[:, None] * scales
