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


def gather_best(row, k, maxima, values, indices):
    """The same with the worst one in front."""
    n = select_top(row, k, maxima, values, indices)
    values[:n], indices[:n] = values[:n][::-1].copy(), indices[:n][::-1].copy()
    return n


def offer_best(value, index, k, values, indices, n):
    """Keep the k best of those that are there and a new one, the worst one in front."""
    entries = [*zip(values[:n], indices[:n], strict=True), (value, index)]
    entries = sorted(entries, key=lambda entry: (-entry[0], entry[1]))[:k][::-1]
    for place, (one_value, one_index) in enumerate(entries):
        values[place], indices[place] = one_value, one_index
    return len(entries)


def sort_best(values, indices, n):
    """The best first."""
    order = sorted(range(n), key=lambda place: (-values[place], indices[place]))
    values[:n], indices[:n] = values[order], indices[order]


def select_changed(row, k, maxima, values, indices):
    """The same; and the maxima may become those of the row."""
    block_maxima(row, maxima)
    return select_top(row, k, maxima, values, indices)


def log_sum_exp_and_largest(row):
    """Both."""
    return log_sum_exp(row), largest(row)


def log_sum_exp_by_blocks(row, maxima):
    """Both."""
    block_maxima(row, maxima)
    return log_sum_exp(row)
