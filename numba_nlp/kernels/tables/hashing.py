"""Hashes of byte strings and of merge pairs, and the open-addressing tables built on them.

A table is a power-of-two array; the slot of a key is the top bits of a 64-bit product (Fibonacci hashing, Knuth,
TAOCP 3, 6.4), collisions walk to the next slot.

Twin: ``numba_nlp.reference.tables.hashing``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import load_word, multiply, shift_right, trailing_zeros

#: Odd multiplier near 2^64 / golden ratio.
MERGE_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
BYTES_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
#: Empty slot of a merge table.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def hash_bytes(data, start, stop):
    """Hash ``data[start:stop]`` to 64 bits.

    Parameters
    ----------
    data : uint8[n]
    start, stop : int64
        Byte range, ``0 <= start <= stop <= n``.

    Returns
    -------
    uint64
        Little-endian words of eight bytes (the last one zero-padded) folded by multiply and xor-shift, starting
        from the length; all bits of the input reach the top bits of the result.
    """
    state = multiply(np.uint64(stop - start + 1), MERGE_MULTIPLIER)
    position = start
    while position < stop:
        n = stop - position
        state = multiply(state ^ load_word(data, position, n if n < 8 else 8), BYTES_MULTIPLIER)
        state = state ^ shift_right(state, 29)
        position += 8
    return multiply(state, MERGE_MULTIPLIER)


@kernel
def equal_bytes(left, left_start, right, right_start, n):
    """Whether ``left[left_start:left_start + n]`` and ``right[right_start:right_start + n]`` are the same.

    Parameters
    ----------
    left, left_start : uint8[...], int64
    right, right_start : uint8[...], int64
    n : int64

    Returns
    -------
    bool
    """
    done = 0
    while done < n:
        step = min(n - done, 8)
        if load_word(left, left_start + done, step) != load_word(right, right_start + done, step):
            return False
        done += 8
    return True


@kernel
def find_piece(lookup, piece_bytes, piece_offsets, data, start, stop):
    """Id of the piece equal to ``data[start:stop]``, or -1.

    Parameters
    ----------
    lookup : int32[2^k]
        Table made by :func:`fill_piece_lookup`.
    piece_bytes, piece_offsets : uint8[n], int64[V + 1]
        The pieces.
    data, start, stop : uint8[m], int64, int64
        The bytes to look for.

    Returns
    -------
    int64
    """
    mask = lookup.size - 1
    bits = table_bits(lookup.size)
    slot = np.int64(shift_right(hash_bytes(data, start, stop), 64 - bits))
    n = stop - start
    while True:
        piece = np.int64(lookup[slot])
        if piece < 0:
            return np.int64(-1)
        first = piece_offsets[piece]
        if piece_offsets[piece + 1] - first == n and equal_bytes(piece_bytes, first, data, start, n):
            return piece
        slot = (slot + 1) & mask


@kernel
def fill_piece_lookup(piece_bytes, piece_offsets, pieces, lookup):
    """Enter pieces into an empty lookup table.

    Parameters
    ----------
    piece_bytes, piece_offsets : uint8[n], int64[V + 1]
        The pieces.
    pieces : int32[m]
        Ids to enter, no two with equal bytes.
    lookup : int32[2^k]
        Written; filled with -1 by the caller, ``2^k >= 2 * m``.

    Returns
    -------
    int64
        Number of entered pieces.
    """
    mask = lookup.size - 1
    bits = table_bits(lookup.size)
    for i in range(pieces.size):
        piece = pieces[i]
        code = hash_bytes(piece_bytes, piece_offsets[piece], piece_offsets[piece + 1])
        slot = np.int64(shift_right(code, 64 - bits))
        while lookup[slot] >= 0:
            slot = (slot + 1) & mask
        lookup[slot] = piece
    return pieces.size


@kernel
def find_merge(slots, left, right):
    """Merge number of the symbol pair, or -1.

    Parameters
    ----------
    slots : uint64[2^m]
        Table made by :func:`fill_merge_slots`.
    left, right : int64
        Symbols, below ``2**20 - 1``.

    Returns
    -------
    int64
    """
    pair = np.uint64((np.int64(left) << 20) | np.int64(right))
    mask = slots.size - 1
    slot = np.int64(shift_right(multiply(pair, MERGE_MULTIPLIER), 64 - table_bits(slots.size)))
    while True:
        entry = slots[slot]
        if shift_right(entry, 24) == pair:
            return np.int64(entry & np.uint64(0xFFFFFF))
        if entry == EMPTY:
            return np.int64(-1)
        slot = (slot + 1) & mask


@kernel
def fill_merge_slots(lefts, rights, slots):
    """Enter merges, numbered by their position, into an empty table.

    Parameters
    ----------
    lefts, rights : int32[m]
        Symbols of each pair, below ``2**20 - 1``; ``m < 2**24``; pairs are distinct.
    slots : uint64[2^k]
        Written; filled with ``EMPTY`` by the caller, ``2^k >= 2 * m``.

    Returns
    -------
    int64
        Number of entered merges.
    """
    mask = slots.size - 1
    bits = table_bits(slots.size)
    for i in range(lefts.size):
        pair = np.uint64((np.int64(lefts[i]) << 20) | np.int64(rights[i]))
        slot = np.int64(shift_right(multiply(pair, MERGE_MULTIPLIER), 64 - bits))
        while slots[slot] != EMPTY:
            slot = (slot + 1) & mask
        slots[slot] = np.uint64((np.int64(pair) << 24) | i)
    return lefts.size


@kernel
def table_bits(size):
    """Binary logarithm of a power of two.

    Parameters
    ----------
    size : int64

    Returns
    -------
    int64
    """
    return trailing_zeros(np.uint64(size))
