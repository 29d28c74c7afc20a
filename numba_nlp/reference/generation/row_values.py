"""Twin of ``kernels/generation/row_values.py`` in numpy's float64."""

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


def largest_within(row, first, stop):
    """Largest value of a part."""
    return np.fmax.reduce(row[first:stop], initial=np.float32(-np.inf))


def holds_numbers(row):
    """Whether there is neither NaN nor infinity."""
    return not (np.isnan(row) | np.isposinf(row)).any()


def weigh_values(values, n, top, weights):
    """Exponentials and their sum."""
    weights[:n] = np.exp(values[:n].astype(np.float64) - float(top))
    return float(weights[:n].astype(np.float64).sum())


def log_sum_exp(row):
    """Logarithm of the sum of the exponentials."""
    if np.isnan(row).any() or np.isposinf(row).any():
        return np.nan
    if np.isneginf(row).all():
        return -np.inf
    return float(row.max()) + np.log(np.exp(row.astype(np.float64) - float(row.max())).sum())


def log_sum_exp_and_largest(row):
    """Both."""
    return log_sum_exp(row), largest(row)


def log_sum_exp_by_blocks(row, maxima):
    """Both."""
    block_maxima(row, maxima)
    return log_sum_exp(row)
