"""Variants of kernels that ``docs/profiling.md`` compares: what a small change of the source does to machine code.

Plain functions, compiled by whoever looks at them; nothing else uses them.
"""

from __future__ import annotations

import numpy as np

__all__ = ["count_lines_narrow", "holds_numbers_leaving", "mixed", "mixed_as_float", "sum_until_empty"]

_INFINITY = np.float32(np.inf)


def holds_numbers_leaving(row):
    """``holds_numbers`` as one would write it first: the answer is known at the first value that is wrong."""
    for i in range(row.size):  # noqa: SIM110  generators are slow to compile
        if not row[i] < _INFINITY:
            return False
    return True


def count_lines_narrow(data):
    """Line feeds of ``data``: uint16 counts of blocks that cannot overflow them, then one int64 sum."""
    n = np.int64(0)
    whole = data.size // 16384 * 16384
    for first in range(0, whole, 16384):
        here = np.uint16(0)
        for i in range(first, first + 16384):
            here = np.uint16(here + (data[i] == 10))
        n += here
    for i in range(whole, data.size):
        n += data[i] == 10
    return n


def mixed_as_float(words):
    """A hash of uint64 words, but for the literal: Numba takes 31 for int64, and has float64 for both."""
    mix = np.uint64(0)
    for i in range(words.size):
        mix = mix * 31 + words[i]
    return mix


def mixed(words):
    """The hash that is meant: the literal is uint64 too."""
    mix = np.uint64(0)
    for i in range(words.size):
        mix = mix * np.uint64(31) + words[i]
    return mix


def sum_until_empty(tables, which):
    """A sum over one of two arrays in a tuple, until it is known to be of no use."""
    total = np.int64(0)
    for i in range(which.size):
        table = tables[0]
        if which[i] > 0:
            table = tables[1]
        if table[0] == 0:
            return np.int64(-1)
        total += table[i]
    return total
