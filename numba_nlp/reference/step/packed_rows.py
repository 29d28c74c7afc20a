"""Plain twin of ``numba_nlp/kernels/step/packed_rows.py``, written for obviousness."""

from __future__ import annotations

import numpy as np


def block_starts(n_rows: int, size: int) -> list[int]:
    """First row of each block; the last one ends with the last row."""
    return [min(start, n_rows - size) for start in range(0, n_rows, size)]


def pack_floats(x: np.ndarray, n_rows: int, size: int) -> np.ndarray:
    """Rows of each block side by side: a number of each row, then the next number of each."""
    return np.concatenate([x[start : start + size].T.reshape(-1) for start in block_starts(n_rows, size)])


def quantise(row: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """Nearest multiples of a step, ties to even, as int8, and the step: 127 of them are the largest magnitude.

    Zeros for a row of numbers below ``2**-100``; zeros and a step of NaN for a row that is not finite.
    """
    largest = abs(row).max()
    if not np.isfinite(row).all():
        return np.zeros(row.size, np.int8), np.float32(np.nan)
    if largest < 2.0**-100:
        return np.zeros(row.size, np.int8), np.float32(0)
    return np.rint(row * (np.float32(127) / largest)).astype(np.int8), largest / np.float32(127)


def pack_codes(x: np.ndarray, n_rows: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of each block, four of each row side by side, and the step of each row."""
    found = [quantise(row) for row in x[:n_rows]]
    codes = np.array([integers for integers, _ in found]).astype(np.int16) + 128
    missing = -codes.shape[1] % 4
    fours = np.pad(codes, ((0, 0), (0, missing)), constant_values=128).astype(np.uint8).reshape(n_rows, -1, 4)
    blocks = [fours[start : start + size].transpose(1, 0, 2).reshape(-1) for start in block_starts(n_rows, size)]
    return np.concatenate(blocks), np.array([step for _, step in found], np.float32)
