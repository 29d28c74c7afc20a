"""Plain twin of ``numba_nlp/kernels/step/products.py``, written for obviousness."""

from __future__ import annotations

import numpy as np

from numba_nlp.reference.step.row_blocks import weight_values


def block_starts(n_rows: int, size: int) -> list[int]:
    """First row of each block; the last one ends with the last row."""
    return [min(start, n_rows - size) for start in range(0, n_rows, size)]


def pack_rows(x: np.ndarray, n_rows: int, size: int) -> np.ndarray:
    """Rows of each block side by side: a number of each row, then the next number of each."""
    return np.concatenate([x[start : start + size].T.reshape(-1) for start in block_starts(n_rows, size)])


def multiply(
    x: np.ndarray, panels: np.ndarray, kind: str, columns: int, scales: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """The whole product in float64: ``[rows, panels * columns]``, for panels of so many columns."""
    weights = weight_values(panels, kind).reshape(-1, x.shape[1], columns).transpose(0, 2, 1).reshape(-1, x.shape[1])
    out = x.astype(np.float64) @ weights.T
    if scales.size:
        out = out * scales
    return out + bias if bias.size else out
