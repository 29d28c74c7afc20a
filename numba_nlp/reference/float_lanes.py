"""Twin of ``kernels/float_lanes.py`` in numpy."""

from __future__ import annotations

import numpy as np

BLOCK = 64
PART_BLOCKS = 16
PART = 1024


def exponential(value, top):
    """Exponential of one value."""
    return float(np.exp(np.float64(value) - np.float64(top)))


def largest_of_block(row, first):
    """Largest of a block, NaN left out."""
    block = row[first : first + BLOCK]
    return np.max(block[~np.isnan(block)], initial=np.float32(-np.inf))


def largest_of_part(row, first, maxima, place):
    """Largest of each block of a part, and of all."""
    for block in range(PART_BLOCKS):
        maxima[place + block] = largest_of_block(row, first + block * BLOCK)
    return maxima[place : place + PART_BLOCKS].max()


def largest_of_sixteen(row, first):
    """Largest of sixteen values."""
    return row[first : first + 16].max()


def exponentials_of_sixteen(row, first, top):
    """Sum of the exponentials of sixteen values."""
    return np.float32(np.exp(row[first : first + 16].astype(np.float64) - np.float64(top)).sum())


def exponentials_of_part(row, first, top):
    """Sum of the exponentials of a part."""
    return np.float32(np.exp(row[first : first + PART].astype(np.float64) - np.float64(top)).sum())


def smallest_of_block(row, first):
    """Smallest of a block."""
    return row[first : first + BLOCK].min()


def exponentials_of_block(row, first, top):
    """Sum of the exponentials of a block."""
    return np.float32(np.exp(row[first : first + BLOCK].astype(np.float64) - np.float64(top)).sum())


def write_exponentials(row, first, top, result):
    """Write the exponentials of a block."""
    result[first : first + BLOCK] = np.exp(row[first : first + BLOCK].astype(np.float64) - np.float64(top))
