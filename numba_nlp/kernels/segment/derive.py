"""Merging each piece of a vocabulary alone: which merge makes it, and whether merging reaches it at all.

Serves the compiling of vocabularies, not the encoding of text: pieces are short, so a quadratic loop is quick enough.

Twin: ``numba_nlp.reference.segment.derive``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables.hashing import EMPTY, MERGE_MULTIPLIER, find_merge, table_bits
from numba_nlp.kernels.words import multiply, shift_right


@kernel
def merge_alone(slots, merge_symbols, n, enough, symbols, numbers):
    """Merge a row of symbols until nothing merges, or until only ``enough`` of them are left.

    The lowest merge number goes first, the leftmost pair among equals.

    Parameters
    ----------
    slots : uint64[2^k]
        Merge table, see :mod:`numba_nlp.kernels.tables.hashing`.
    merge_symbols : int32[M]
        Product of each merge.
    n, enough : int64
        Number of symbols; number at which to stop, at least 1.
    symbols : int32[>= n]
        The symbols; overwritten by what is left.
    numbers : int32[>= n]
        Scratch.

    Returns
    -------
    int64
        Number of symbols left.

    Notes
    -----
    O(n^2) comparisons of integers and at most 3n table look-ups.
    """
    for i in range(n - 1):
        numbers[i] = find_merge(slots, symbols[i], symbols[i + 1])
    while n > enough:
        best = -1
        for i in range(n - 1):
            if numbers[i] >= 0 and (best < 0 or numbers[i] < numbers[best]):
                best = i
        if best < 0:
            break
        symbols[best] = merge_symbols[numbers[best]]
        n -= 1
        for i in range(best + 1, n):
            symbols[i] = symbols[i + 1]
            numbers[i] = numbers[i + 1]
        if best > 0:
            numbers[best - 1] = find_merge(slots, symbols[best - 1], symbols[best])
        if best < n - 1:
            numbers[best] = find_merge(slots, symbols[best], symbols[best + 1])
    return n


@kernel
def derive_merges(
    piece_bytes, piece_offsets, by_length, byte_ids, merge_numbers, merge_ids, slots, symbols, numbers, lefts, rights
):
    """Find the one pair of pieces by which each piece of a rank file can be made.

    In a rank file any two neighbours merge whose concatenation is a piece, the lowest rank first. Within a span that
    no merge crosses, merges happen in the same order in any text as in the span alone; so a piece can only ever be
    made by the last merge of its own bytes merged alone. Shorter pieces come first: then the merges found so far
    are all that can happen before that last one.

    Parameters
    ----------
    piece_bytes, piece_offsets : uint8[n], int64[V + 1]
        The pieces; ids are symbols here, below ``2**20 - 1``.
    by_length : int32[m]
        Pieces of two bytes and more, shorter ones first.
    byte_ids : int32[256]
        Id of each single byte.
    merge_numbers : int32[V]
        Place of each such piece in the order of ranks.
    merge_ids : int32[m]
        The inverse: the piece at each place.
    slots : uint64[2^k]
        Scratch, filled with ``EMPTY`` by the caller, ``2^k >= 2 * m``.
    symbols, numbers : int32[longest piece]
        Scratch.
    lefts, rights : int32[m]
        Written by place: the ids of the pair, or -1 for a piece that merging does not make.

    Returns
    -------
    int64
        Number of pieces that merging makes.
    """
    found = 0
    for k in range(by_length.size):
        piece = by_length[k]
        place = merge_numbers[piece]
        first = piece_offsets[piece]
        n = piece_offsets[piece + 1] - first
        for i in range(n):
            symbols[i] = byte_ids[piece_bytes[first + i]]
        if merge_alone(slots, merge_ids, n, 2, symbols, numbers) == 2:
            lefts[place] = symbols[0]
            rights[place] = symbols[1]
            enter_merge(slots, symbols[0], symbols[1], place)
            found += 1
        else:
            lefts[place] = -1
            rights[place] = -1
    return found


@kernel
def enter_merge(slots, left, right, number):
    """Enter one merge into a table that has room for it.

    Parameters
    ----------
    slots : uint64[2^k]
        Written.
    left, right, number : int64
        A pair that the table does not hold yet, and its merge number.

    Returns
    -------
    int64
        The slot.
    """
    pair = np.uint64((np.int64(left) << 20) | np.int64(right))
    mask = slots.size - 1
    slot = np.int64(shift_right(multiply(pair, MERGE_MULTIPLIER), 64 - table_bits(slots.size)))
    while slots[slot] != EMPTY:
        slot = (slot + 1) & mask
    slots[slot] = np.uint64((np.int64(pair) << 24) | np.int64(number))
    return slot


@kernel
def count_unreached(
    slots, merge_symbols, byte_symbols, symbol_ids, piece_bytes, piece_offsets, pieces, symbols, numbers, reached
):
    """Find the pieces that merging their own bytes does not give.

    Parameters
    ----------
    slots, merge_symbols, byte_symbols, symbol_ids : uint64[2^k], int32[M], int32[256], int32[S]
        Merge tables of a compiled vocabulary.
    piece_bytes, piece_offsets : uint8[n], int64[V + 1]
        The pieces.
    pieces : int32[m]
        Ids to look at.
    symbols, numbers : int32[longest piece]
        Scratch.
    reached : uint8[m]
        Written: 1 where merging the piece's bytes gives the piece.

    Returns
    -------
    int64
        Number of pieces not reached.
    """
    unreached = 0
    for k in range(pieces.size):
        piece = pieces[k]
        first = piece_offsets[piece]
        n = piece_offsets[piece + 1] - first
        for i in range(n):
            symbols[i] = byte_symbols[piece_bytes[first + i]]
        left = merge_alone(slots, merge_symbols, n, 1, symbols, numbers)
        if left == 1 and symbol_ids[symbols[0]] == piece:
            reached[k] = 1
        else:
            reached[k] = 0
            unreached += 1
    return unreached
