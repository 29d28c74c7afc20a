"""Twin of ``kernels/generation/row_values.py`` in numpy's float64 and Python's sort."""

from __future__ import annotations

import numpy as np

BLOCK = 64


def block_maxima(row, maxima):
    """Largest value of each block of 64, and of all."""
    for block in range(len(maxima)):
        part = row[block * BLOCK : (block + 1) * BLOCK]
        maxima[block] = np.max(part[~np.isnan(part)], initial=np.float32(-np.inf))
    return maxima.max()


def largest(row):
    """Index of the largest value."""
    return int(np.argmax(np.where(np.isnan(row), np.float32(-np.inf), row)))


def sum_exp(row, top):
    """Sum of the exponentials."""
    return float(np.exp(row.astype(np.float64) - float(top)).sum())


def log_sum_exp(row):
    """Logarithm of the sum of the exponentials."""
    if np.isnan(row).any() or np.isposinf(row).any():
        return np.nan
    if np.isneginf(row).all():
        return -np.inf
    return float(row.max()) + np.log(sum_exp(row, row.max()))


def select_top(row, k, maxima, values, indices):
    """The k largest values and their indices."""
    best = sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]
    for place, i in enumerate(best):
        values[place] = row[i]
        indices[place] = i
    return len(best)


def select_blocks(row, k, maxima, values, indices):
    """The same; the maxima save time only."""
    return select_top(row, k, maxima, values, indices)
