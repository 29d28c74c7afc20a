"""Making the units of :mod:`numba_nlp.kernels.tables.double_array` from sorted keys.

Nodes are placed breadth first, so that the nodes that most walks cross lie together. A node with few children is put
where its first child falls on the first free unit that suits; free units form a list, and only those of the last
``WINDOW`` units are tried, which bounds the time of a key and wastes a few units of a hundred.

Twin: ``numba_nlp.reference.tables.double_array``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.double_array import BASE_SHIFT, BLOCK, HAS_VALUE, MAX_UNITS, ROOT, VALUE_FLAG

#: Units of the array's end in which free places are looked for.
WINDOW = 32 * BLOCK
#: Free places that are tried for a node before a new block is taken.
MAX_TRIES = 256
#: Unit that is neither node nor value.
UNUSED = 0xFFFFFFFF
#: The keys are not sorted, not distinct, or empty.
KEYS_UNSORTED = -1
#: The units do not suffice.
UNITS_FULL = -2


@kernel
def count_nodes(key_bytes, key_offsets):
    """Number of nodes of the trie of sorted keys, the root included.

    Parameters
    ----------
    key_bytes, key_offsets : uint8[m], int64[K + 1]

    Returns
    -------
    int64
        ``KEYS_UNSORTED`` when a key is empty or not above the one before it.
    """
    nodes = 1
    for key in range(key_offsets.size - 1):
        start, stop = key_offsets[key], key_offsets[key + 1]
        if stop <= start:
            return np.int64(KEYS_UNSORTED)
        shared = 0
        if key > 0:
            before = key_offsets[key - 1]
            most = min(start - before, stop - start)
            while shared < most and key_bytes[before + shared] == key_bytes[start + shared]:
                shared += 1
            if shared == stop - start:
                return np.int64(KEYS_UNSORTED)
            if shared < start - before and key_bytes[before + shared] > key_bytes[start + shared]:
                return np.int64(KEYS_UNSORTED)
        nodes += stop - start - shared
    return np.int64(nodes)


@inlined
def _fits(units, bases, base, labels, n_labels):
    """Whether no node has this base and its places are free."""
    if bases[base] != 0:
        return False
    for i in range(n_labels):  # noqa: SIM110  no generators in compiled code
        if units[base ^ np.int64(labels[i])] != UNUSED:
            return False
    return True


@inlined
def _take(units, following, previous, place, unit):
    """Write a unit and strike its place off the list of free ones, whose head is at the end of the lists."""
    units[place] = np.uint32(unit)
    before, after = previous[place], following[place]
    following[before] = after
    previous[after] = before


@kernel
def fill_units(key_bytes, key_offsets, values, units, bases, following, previous, queue, labels):
    """Place the trie of sorted keys.

    Parameters
    ----------
    key_bytes, key_offsets : uint8[m], int64[K + 1]
        Keys that :func:`count_nodes` accepts.
    values : int32[K]
        Not negative.
    units : uint32[n]
        Written; ``n`` is a multiple of ``BLOCK``, at most ``MAX_UNITS``.
    bases, following, previous : uint8[n], int32[n + 1], int32[n + 1]
        Scratch: bases in use, list of free units.
    queue : int32[nodes, 4]
        Scratch: node, first and last key, depth.
    labels : int32[257]
        Scratch.

    Returns
    -------
    int64
        Number of units in use, a multiple of ``BLOCK``; ``UNITS_FULL`` when ``n`` is too small.
    """
    head = units.size
    following[head] = previous[head] = head
    bases[:] = 0
    # nothing may lead to the root
    bases[0] = 1
    used = np.int64(0)
    queue[0, 0], queue[0, 1], queue[0, 2], queue[0, 3] = ROOT, 0, key_offsets.size - 1, 0
    waiting = 1
    for at in range(queue.shape[0]):
        if at >= waiting:
            break
        node, first, last, depth = np.int64(queue[at, 0]), queue[at, 1], np.int64(queue[at, 2]), queue[at, 3]
        n_labels = 0
        key = np.int64(first)
        value = np.int64(-1)
        if depth > 0 and key < last and key_offsets[key] + depth == key_offsets[key + 1]:
            value = np.int64(values[key])
            labels[n_labels] = 256
            n_labels += 1
            key += 1
        children = n_labels
        for other in range(key, last):
            byte = np.int32(key_bytes[key_offsets[other] + depth])
            if n_labels == children or labels[n_labels - 1] != byte:
                labels[n_labels] = byte
                n_labels += 1
        base = np.int64(-1)
        if n_labels > 0:
            place = np.int64(following[head])
            for _ in range(MAX_TRIES):
                if place == head:
                    break
                if _fits(units, bases, place ^ np.int64(labels[0]), labels, n_labels):
                    base = place ^ np.int64(labels[0])
                    break
                place = np.int64(following[place])
        else:
            # no keys at all: any base does
            base = np.int64(1)
        while base < 0 or used == 0:
            if used + BLOCK > min(units.size, MAX_UNITS):
                return np.int64(UNITS_FULL)
            # a new block at the end; the oldest of the window is given up
            for place in range(used, used + BLOCK):
                units[place] = np.uint32(UNUSED)
                previous[place] = previous[head]
                following[place] = head
                following[previous[head]] = place
                previous[head] = place
            if used >= WINDOW:
                for place in range(used - WINDOW, used - WINDOW + BLOCK):
                    if units[place] == UNUSED:
                        _take(units, following, previous, place, UNUSED)
            if used == 0:
                _take(units, following, previous, ROOT, 0)
            for candidate in range(used, used + BLOCK):
                if base < 0 and _fits(units, bases, candidate, labels, n_labels):
                    base = np.int64(candidate)
            used += BLOCK
        bases[base] = 1
        label = np.int64(units[node]) & 0xFF
        units[node] = np.uint32((base << BASE_SHIFT) | (HAS_VALUE if value >= 0 else 0) | label)
        if value >= 0:
            _take(units, following, previous, base ^ 256, VALUE_FLAG | value)
        for i in range(children, n_labels):
            byte = np.int64(labels[i])
            child = base ^ byte
            _take(units, following, previous, child, byte)
            low = key
            while key < last and np.int64(key_bytes[key_offsets[key] + depth]) == byte:
                key += 1
            queue[waiting, 0], queue[waiting, 1], queue[waiting, 2] = child, low, key
            queue[waiting, 3] = depth + 1
            waiting += 1
    return used
