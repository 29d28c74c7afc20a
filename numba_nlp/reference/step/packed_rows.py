"""Plain twin of ``numba_nlp/kernels/step/packed_rows.py``, written for obviousness."""

from __future__ import annotations

import numpy as np


def blocks(n_rows: int, most: int) -> list[slice]:
    """Rows of each block: as few blocks of at most so many rows as can be, as even as can be."""
    parts = np.array_split(np.arange(n_rows), -(-n_rows // most))
    return [slice(part[0], part[-1] + 1) for part in parts]


def pack_floats(x: np.ndarray, n_rows: int, most: int) -> np.ndarray:
    """Rows of each block side by side: a number of each row, then the next number of each."""
    return np.concatenate([x[rows].T.reshape(-1) for rows in blocks(n_rows, most)])


def quantise(row: np.ndarray, most: int = 127) -> tuple[np.ndarray, np.float32]:
    """Nearest multiples of a step, ties to even, as int16, and the step: ``most`` of them are the largest magnitude.

    Zeros for a row of numbers below ``2**-100``; zeros and a step of NaN for a row that is not finite.
    """
    largest = abs(row).max()
    if not np.isfinite(row).all():
        return np.zeros(row.size, np.int16), np.float32(np.nan)
    if largest < 2.0**-100:
        return np.zeros(row.size, np.int16), np.float32(0)
    return np.rint(row * (np.float32(most) / largest)).astype(np.int16), largest / np.float32(most)


def pack_codes(x: np.ndarray, n_rows: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes of each block, four of each row side by side, and the step of each row."""
    found = [quantise(row) for row in x[:n_rows]]
    codes = np.array([integers for integers, _ in found]) + 128
    missing = -codes.shape[1] % 4
    fours = np.pad(codes, ((0, 0), (0, missing)), constant_values=128).astype(np.uint8).reshape(n_rows, -1, 4)
    side_by_side = [fours[rows].transpose(1, 0, 2).reshape(-1) for rows in blocks(n_rows, most)]
    return np.concatenate(side_by_side), np.array([step for _, step in found], np.float32)


def pack_words(x: np.ndarray, n_rows: int, most: int, highest: int) -> tuple[np.ndarray, np.ndarray]:
    """Integers of 16 bits of each block, two of each row side by side, and the step of each row."""
    found = [quantise(row, highest) for row in x[:n_rows]]
    words = np.array([integers for integers, _ in found])
    pairs = np.pad(words, ((0, 0), (0, words.shape[1] % 2))).reshape(n_rows, -1, 2)
    side_by_side = [pairs[rows].transpose(1, 0, 2).reshape(-1) for rows in blocks(n_rows, most)]
    return np.concatenate(side_by_side), np.array([step for _, step in found], np.float32)
