"""Double arrays in the layout of Darts-clone, read as flat ``uint32`` units: what a precompiled charsmap holds.

A unit at index ``i`` stands for a node that was reached over a byte:

========== ===========================================================================================
bits 0-7   that byte (the label)
bit 8      the node ends a key; its value is in the unit at ``i ^ offset``
bit 9      the offset is in steps of 256
bits 10-30 offset: the child over byte ``b`` is at ``i ^ offset ^ b``, if the unit there has label ``b``
bit 31     set in units that hold a value (in bits 0-30), so that they are no node over any byte
========== ===========================================================================================

The root is unit 0. :func:`first_bad_unit` finds no fault in an array exactly when no input can lead outside of it; the
other kernels rely on that and check nothing.

Twin: ``numba_nlp.reference.tables.darts``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel

__all__ = ["first_bad_unit", "longest_match", "unit_offset"]

LABEL = 0x800000FF
VALUE = 0x80000000
HAS_LEAF = 0x100


@inlined
def unit_offset(unit):
    """What the index of a node is combined with by exclusive or to give the base of its children.

    Parameters
    ----------
    unit : int64
        A unit, zero-extended.

    Returns
    -------
    int64
    """
    return (unit >> 10) << ((unit & 0x200) >> 6)


@kernel
def first_bad_unit(units, n_values):
    """Index of the first unit from which a lookup could leave the array, or give a value that is too large.

    Parameters
    ----------
    units : uint32[n]
    n_values : int64
        Values must be below this.

    Returns
    -------
    int64
        Index of the unit, 0 for an array whose length is not a multiple of 256 (a base inside of it would not keep
        all 256 children inside), or -1 when the array is sound.

    Notes
    -----
    Looks at all units, not only at those that a key reaches, as sentencepiece does: builders leave the others
    harmless. The root has no label and ends no key.
    """
    n = np.int64(units.size)
    if n & 0xFF != 0:
        return np.int64(0)
    for i in range(n):
        unit = np.int64(units[i])
        if i == 0 and unit & (LABEL | HAS_LEAF) != 0:
            return np.int64(0)
        if unit & VALUE != 0:
            if unit & 0x7FFFFFFF >= n_values:
                return np.int64(i)
            continue
        base = i ^ unit_offset(unit)
        if base >= n:
            return np.int64(i)
        if unit & HAS_LEAF != 0 and np.int64(units[base]) & VALUE == 0:
            return np.int64(i)
    return np.int64(-1)


@kernel
def longest_match(units, data, start, stop, most):
    """Longest key that ``data[start:stop]`` begins with.

    Parameters
    ----------
    units : uint32[n]
        A sound array (:func:`first_bad_unit`), not empty.
    data : uint8[m]
    start, stop : int64
        ``0 <= start <= stop <= m``.
    most : int64
        How many keys to go through, shortest first, before giving up on longer ones.

    Returns
    -------
    (int64, int64)
        Length of the key and its value; ``(0, -1)`` when no key matches.
    """
    length = np.int64(0)
    value = np.int64(-1)
    found = np.int64(0)
    node = unit_offset(np.int64(units[0]))
    for position in range(start, stop):
        byte = np.int64(data[position])
        node ^= byte
        unit = np.int64(units[node])
        if unit & LABEL != byte:
            break
        node ^= unit_offset(unit)
        if unit & HAS_LEAF != 0:
            length = np.int64(position + 1 - start)
            value = np.int64(units[node]) & 0x7FFFFFFF
            found += 1
            if found == most:
                break
    return length, value
