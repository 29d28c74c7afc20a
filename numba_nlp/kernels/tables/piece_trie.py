"""A trie of pieces for longest match: a double array of one 64-bit unit a node, so that a step is one load.

A node with the base ``b`` has its child by byte ``c`` at place ``b ^ c`` (J. Aoe, "An efficient digital search
algorithm by using a double-array structure", 1989; the exclusive or as in Darts-clone). A unit holds

* bits 0-8: the byte of the edge that leads to it, with bit 8 set; 0 in a free place;
* bits 9-32: the base of its children; 0 when it has none, since places 0 to 255 stay free;
* bits 33-63: one more than the value of the key that ends here; 0 when none does.

No two nodes have one base, so the byte alone tells whose child a unit is. One array holds several tries, each known by
the base of its root.

Twin: ``numba_nlp.reference.tables.piece_trie``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import peek, shift_right

__all__ = ["BLOCK", "MAX_PLACES", "RESERVED", "add_pieces", "longest_piece"]

#: Places that stay free: those of the children of a node without children.
RESERVED = 256
#: The children of a node lie in one block.
BLOCK = 256
#: A base has 24 bits.
MAX_PLACES = 1 << 24
_BYTE = np.uint64(0x1FF)
_BASE = np.uint64(0xFFFFFF)


@kernel
def longest_piece(trie, root, text, start, stop):
    """Longest key at the beginning of ``text[start:stop]``.

    Parameters
    ----------
    trie : uint64[m]
    root : int64
        Base of the root.
    text : uint8[n]
    start, stop : int64

    Returns
    -------
    value, end : int64, int64
        Value of the key and the place after it; ``-1, start`` when no key is found.
    """
    base = root
    value = np.int64(0)
    end = start
    position = start
    while position < stop:
        byte = np.int64(peek(text, position))
        unit = peek(trie, base ^ byte)
        if np.int64(unit & _BYTE) != byte | 0x100:
            break
        position += 1
        base = np.int64(shift_right(unit, 9) & _BASE)
        found = np.int64(shift_right(unit, 33))
        if found != 0:
            value = found
            end = position
    return value - 1, end


@kernel
def add_pieces(piece_bytes, piece_offsets, values, children, pending, trie, taken):
    """Put the keys of one trie into the array.

    Parameters
    ----------
    piece_bytes, piece_offsets : uint8[n], int64[keys + 1]
        The keys in the order of their bytes, distinct, none empty.
    values : int32[keys]
        0 or larger.
    children, pending : int64[2 * 257], int64[4 * (keys + 257)]
        Working memory.
    trie : uint64[m]
        Written; all 0 before the first trie. ``m`` is a multiple of 256.
    taken : uint8[m]
        1 for each base in use; carried from one trie to the next, all 0 before the first.

    Returns
    -------
    int64
        Base of the root, 0 when there are no keys; -1 when the array is too small, or has 2^24 places and is full.

    Notes
    -----
    Depth first, so that ``pending`` holds at most the siblings along one path; a base is the first one that fits from
    the first free place on. A span of places that is nearly full is left behind, as Darts-clone does.
    """
    n_keys = values.size
    if n_keys == 0:
        return np.int64(0)
    bounds = children[257:]
    root = np.int64(-1)
    free = np.int64(RESERVED)
    # keys [first, last) share their first `depth` bytes, and `place` is the unit of that node (-1: the root)
    pending[0], pending[1], pending[2], pending[3] = 0, n_keys, 0, -1
    n_pending = 1
    while n_pending > 0:
        n_pending -= 1
        first, last = pending[4 * n_pending], pending[4 * n_pending + 1]
        depth, place = pending[4 * n_pending + 2], pending[4 * n_pending + 3]
        if piece_offsets[first + 1] - piece_offsets[first] == depth:
            trie[place] |= np.uint64((np.int64(values[first]) + 1) << 33)
            first += 1
            if first == last:
                continue
        n_children = 0
        i = first
        while i < last:
            byte = np.int64(piece_bytes[piece_offsets[i] + depth])
            children[n_children] = byte
            bounds[n_children] = i
            n_children += 1
            while i < last and np.int64(piece_bytes[piece_offsets[i] + depth]) == byte:
                i += 1
        bounds[n_children] = last
        while free < trie.size and trie[free] != np.uint64(0):
            free += 1
        base, tries = _find_base(trie, taken, children, n_children, free)
        if base < 0:
            return np.int64(-1)
        if tries > 512:
            # what is left behind `free` fits hardly anything
            free += 64
        taken[base] = 1
        if place < 0:
            root = base
        else:
            trie[place] |= np.uint64(base << 9)
        for k in range(n_children):
            trie[base ^ children[k]] = np.uint64(children[k] | 0x100)
        for k in range(n_children - 1, -1, -1):
            pending[4 * n_pending], pending[4 * n_pending + 1] = bounds[k], bounds[k + 1]
            pending[4 * n_pending + 2], pending[4 * n_pending + 3] = depth + 1, base ^ children[k]
            n_pending += 1
    return root


@kernel
def _find_base(trie, taken, children, n_children, free):
    """Lowest place from ``free`` on for the first child such that all children fit: base and number of tries."""
    tries = np.int64(0)
    for place in range(free, trie.size):
        if trie[place] != np.uint64(0):
            continue
        tries += 1
        base = place ^ children[0]
        if taken[base] != 0:
            continue
        fits = True
        for k in range(1, n_children):
            if trie[base ^ children[k]] != np.uint64(0):
                fits = False
                break
        if fits:
            return base, tries
    return np.int64(-1), tries
