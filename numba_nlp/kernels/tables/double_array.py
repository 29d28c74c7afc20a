"""A set of byte strings with values as a double array: one word of 32 bits a byte of the text that is walked.

Double arrays are due to Aoe ("An efficient digital search algorithm by using a double-array structure", IEEE TSE 15,
1989); the exclusive-or form with the label in the unit is that of Yata's Darts-clone. The layout is our own.

A node is a position in ``units``; node 0 is the root. Its child by byte ``b`` is at ``base ^ b`` and its value at
``base ^ 256``, where ``base`` comes from the unit of the node:

=======  =============================================================================
bits     unit of a node
=======  =============================================================================
31       0
9 to 30  base; no two nodes have the same one, none has base 0 (so nothing leads to the root)
8        whether the node has a value, so that a key ends here
0 to 7   byte that leads to the node
=======  =============================================================================

The unit of a value is ``VALUE_FLAG | value``, an unused one is all ones: both fail the comparison with a byte that
decides whether a child is there. The size is a multiple of ``BLOCK``, hence a walk cannot leave an array whose bases
all lie in it, which is what :func:`check_units` finds out for arrays from elsewhere.

:mod:`numba_nlp.kernels.tables.double_array_build` makes them.

Twin: ``numba_nlp.reference.tables.double_array``, a dictionary.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.words import peek

#: Units come in blocks: ``base ^ b`` and ``base ^ 256`` stay in the block of ``base``.
BLOCK = 512
#: Node where every walk starts.
ROOT = 0
#: Bit of a unit that is no node.
VALUE_FLAG = 0x80000000
#: Bit of a node that has a value.
HAS_VALUE = 0x100
#: Bits of a unit that equal the byte which leads to it.
LABEL_MASK = 0x800000FF
#: Place of the base in the unit of a node.
BASE_SHIFT = 9
#: Bases are below this.
MAX_UNITS = 1 << (31 - BASE_SHIFT)
#: What :func:`check_units` finds.
UNITS_SOUND, UNITS_SIZE, UNITS_BASE, UNITS_VALUE = 0, -1, -2, -3


@inlined
def step(units, node, byte):
    """Child of a node.

    Parameters
    ----------
    units : uint32[n]
    node : int64
        A node, from ``ROOT`` on.
    byte : int64

    Returns
    -------
    int64
        Node, or -1 when no key goes on with this byte.
    """
    child = (np.int64(peek(units, node)) >> BASE_SHIFT) ^ np.int64(byte)
    return child if (np.int64(peek(units, child)) & LABEL_MASK) == byte else np.int64(-1)


@inlined
def value_at(units, node):
    """Value of the key that ends at a node, or -1.

    Parameters
    ----------
    units : uint32[n]
    node : int64

    Returns
    -------
    int64
    """
    unit = np.int64(peek(units, node))
    if unit & HAS_VALUE == 0:
        return np.int64(-1)
    return np.int64(peek(units, (unit >> BASE_SHIFT) ^ 256)) & (VALUE_FLAG - 1)


@kernel
def find(units, data, start, stop):
    """Value of the key that equals ``data[start:stop]``, or -1.

    Parameters
    ----------
    units : uint32[n]
    data : uint8[m]
    start, stop : int64

    Returns
    -------
    int64
    """
    node = np.int64(ROOT)
    for i in range(start, stop):
        node = step(units, node, np.int64(data[i]))
        if node < 0:
            return np.int64(-1)
    return value_at(units, node)


@kernel
def first_missing(units, data, offsets, n):
    """First of some keys whose value is not its number.

    Parameters
    ----------
    units : uint32[m]
        Sound, as :func:`check_units` says.
    data, offsets : uint8[k], int64[n + 1]
        Key ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    n : int64

    Returns
    -------
    int64
        -1 when there is none.
    """
    for i in range(n):
        if find(units, data, offsets[i], offsets[i + 1]) != i:
            return np.int64(i)
    return np.int64(-1)


@kernel
def common_prefix_search(units, data, start, stop, lengths, values):
    """Every key that ``data[start:stop]`` begins with, shortest first.

    Parameters
    ----------
    units : uint32[n]
    data : uint8[m]
    start, stop : int64
    lengths, values : int64[k], int32[k]
        Written, as far as they reach; at most as many as the longest key has bytes.

    Returns
    -------
    int64
        Number of keys, which may be more than were written.
    """
    found = 0
    node = np.int64(ROOT)
    for i in range(start, stop):
        node = step(units, node, np.int64(data[i]))
        if node < 0:
            break
        value = value_at(units, node)
        if value >= 0:
            if found < lengths.size:
                lengths[found] = i + 1 - start
                values[found] = np.int32(value)
            found += 1
    return found


@kernel
def longest_below(units, node, data, start, stop):
    """Value and end of the longest stretch from ``start`` on that leads from a node to the end of a key.

    Parameters
    ----------
    units : uint32[n]
    node : int64
        ``ROOT``, or where the walk over the first bytes of some keys ended.
    data : uint8[m]
    start, stop : int64

    Returns
    -------
    value, end : int64, int64
        ``-1, start`` when there is none; the node itself does not count.
    """
    unit = np.int64(peek(units, node))
    value_place = np.int64(-1)
    end = start
    position = start
    while position < stop:
        byte = np.int64(peek(data, position))
        unit = np.int64(peek(units, (unit >> BASE_SHIFT) ^ byte))
        if unit & LABEL_MASK != byte:
            break
        position += 1
        if unit & HAS_VALUE != 0:
            value_place = (unit >> BASE_SHIFT) ^ 256
            end = position
    if value_place < 0:
        return np.int64(-1), end
    return np.int64(peek(units, value_place)) & (VALUE_FLAG - 1), end


@kernel
def longest_prefix(units, data, start, stop):
    """Length and value of the longest key that ``data[start:stop]`` begins with.

    Parameters
    ----------
    units : uint32[n]
    data : uint8[m]
    start, stop : int64

    Returns
    -------
    length, value : int64, int64
        0 and -1 when there is none.
    """
    value, end = longest_below(units, np.int64(ROOT), data, start, stop)
    return end - start, value


@kernel
def check_units(units, n_values):
    """Whether no walk over the units can leave them, and every value is one of ``n_values``.

    Parameters
    ----------
    units : uint32[n]
    n_values : int64

    Returns
    -------
    int64
        ``UNITS_SOUND``; or ``UNITS_SIZE`` for a size that is zero or no multiple of ``BLOCK``, ``UNITS_BASE`` when a
        base lies outside, ``UNITS_VALUE`` when a node has a value that is none or too large.
    """
    n = units.size
    if n == 0 or n % BLOCK != 0 or n > MAX_UNITS or np.int64(units[ROOT]) & VALUE_FLAG != 0:
        return np.int64(UNITS_SIZE)
    for i in range(n):
        unit = np.int64(units[i])
        if unit & VALUE_FLAG != 0:
            continue
        base = unit >> BASE_SHIFT
        if base >= n:
            return np.int64(UNITS_BASE)
        if unit & HAS_VALUE != 0:
            value = np.int64(units[base ^ 256])
            if value & VALUE_FLAG == 0 or (value & (VALUE_FLAG - 1)) >= n_values:
                return np.int64(UNITS_VALUE)
    return np.int64(UNITS_SOUND)


@kernel
def check_lengths(units, lengths, owners):
    """Whether every key has the length that its value says; for units that :func:`check_units` found sound.

    Parameters
    ----------
    units : uint32[n]
    lengths : int64[k]
        Length of the key of each value.
    owners : int32[n]
        Written.

    Returns
    -------
    int64
        ``UNITS_SOUND``, or ``UNITS_BASE`` when two nodes have one base, one leads to the root, or a node with a value
        is not as many steps from the root as ``lengths`` says.
    """
    if np.int64(units[ROOT]) & 0xFF != 0:
        return np.int64(UNITS_BASE)
    owners[:] = -1
    for i in range(units.size):
        unit = np.int64(units[i])
        if unit & VALUE_FLAG == 0:
            base = unit >> BASE_SHIFT
            if base == 0 or owners[base] >= 0:
                return np.int64(UNITS_BASE)
            owners[base] = i
    for i in range(units.size):
        unit = np.int64(units[i])
        if unit & (VALUE_FLAG | HAS_VALUE) != HAS_VALUE:
            continue
        left = lengths[value_at(units, i)]
        node = np.int64(i)
        while node != ROOT and left > 0:
            parent = np.int64(owners[node ^ (np.int64(units[node]) & 0xFF)])
            if parent < 0:
                return np.int64(UNITS_BASE)
            node = parent
            left -= 1
        if node != ROOT or left != 0:
            return np.int64(UNITS_BASE)
    return np.int64(UNITS_SOUND)
