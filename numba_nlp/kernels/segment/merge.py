"""Byte-pair merging of one short pre-token: from bytes to the symbols that no listed merge joins any more.

The rule (Sennrich, Haddow, Birch 2016; Gage 1994): among all adjacent pairs take the one with the lowest merge number,
leftmost among equals, join it, repeat. :func:`merge_short` does it for up to 64 bytes; longer pre-tokens go through
:mod:`numba_nlp.kernels.segment.merge_long`. What was tried: docs/decisions/0007-merging.md.

Twin: ``numba_nlp.reference.segment.merge.merge_bytes``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.lanes import FEW, MANY, NO_KEY, ROW, drop_lanes, put_lanes
from numba_nlp.kernels.tables.hashing import table_bits
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL, find_merge_pair, guess_merge, number_bits
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    is_readable,
    leading_zeros,
    load_word,
    peek,
    poke,
    raw_load64,
    shift_left,
    shift_right,
    trailing_zeros,
)

if VECTOR:
    from numba_nlp.kernels.lanes import start_few

#: Longest pre-token, in bytes, that :func:`merge_short` takes.
MERGE_SHORT_LIMIT = MANY
#: First symbol that a merge makes: those below are bytes.
N_BASE = 256
#: Rows of the symbol scratch: a symbol, the symbol after the pair that starts here, the symbol before.
AFTER, BEFORE = ROW, 2 * ROW
ZERO = np.uint64(0)
ONE = np.uint64(1)


def new_lanes() -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Scratch of :func:`merge_short`: ``symbols`` and ``keys``, whole cache lines each."""
    raw = np.zeros(3 * ROW + MANY + 16, np.int32)
    first = (-raw.ctypes.data // raw.itemsize) % 16
    return raw[first : first + 3 * ROW], raw[first + 3 * ROW :][:MANY].view(np.uint32)


@inlined
def merge_short(pair_merges, merge_table, merge_pairs, merge_symbols, unique, data, start, n, symbols, keys):
    """Merge ``data[start:start + n]``, ``1 <= n <= 64``.

    Parameters
    ----------
    pair_merges, merge_table, merge_pairs, merge_symbols : int32[65536], uint32[2^k], uint64[M], int32[M]
        Merge tables (docs/data_contracts.md).
    unique : bool
        Whether the product of merge ``m`` is symbol ``256 + m``.
    data : uint8[m]
    start, n : int64
    symbols, keys : int32[384], uint32[64]
        Scratch, made by :func:`new_lanes`.

    Returns
    -------
    uint64
        Bit ``i`` set: a symbol starts at byte ``start + i`` and is ``symbols[i]``.

    Notes
    -----
    A key is ``merge number << 6 | position``, so one minimum finds the lowest merge and, among equals, the leftmost.
    At most ``n`` merges, each with two look-ups and, over 16 or 64 lanes, one minimum.

    What a merge waits for is the chain from its key to the keys of the two pairs that it makes. The chain is kept
    short: the neighbours' symbols lie ready beside each pair, look-ups are guesses that need no comparison, and the
    minimum of all other keys is found meanwhile. A guess is compared with the pair when its turn comes; as a guess is
    never above the pair's own merge number, no merge is passed over.
    """
    size_bits = table_bits(merge_table.size)
    bits = number_bits(merge_pairs.size)
    no_merge = np.int64(1) << bits
    no_key = np.uint32(no_merge << 6)
    best = _start(pair_merges, data, start, n, symbols, keys)
    alive = shift_right(ALL_ONES, 64 - n)
    while best < no_key:
        i = np.int64(best) & 63
        merge = np.int64(best) >> 6
        symbol = N_BASE + merge if unique else np.int64(peek(merge_symbols, merge))
        # the pair is (i, j), its neighbours p and r, p's neighbour q; 64 and 127 where there is none
        above = alive & ~shift_right(ALL_ONES, 63 - i)
        j = trailing_zeros(above)
        above &= ~shift_left(ONE, j & 63)
        r = trailing_zeros(above)
        below = alive & (shift_left(ONE, i) - ONE)
        p = 63 - leading_zeros(below)
        q = (63 - leading_zeros(below & ~shift_left(ONE, p & 63))) & 127
        if peek(merge_pairs, merge) != np.uint64((np.int64(peek(symbols, i)) << 20) | np.int64(peek(symbols, j))):
            # a wrong guess
            found = find_merge_pair(merge_table, merge_pairs, peek(symbols, i), peek(symbols, j))
            best = _replace(keys, n, i, NO_KEY if found < 0 else np.uint32((found << 6) | i))
            continue
        alive &= ~shift_left(ONE, j)
        rest = drop_lanes(keys, n, i, j, p)
        after = np.int64(peek(symbols, AFTER + i))
        before = np.int64(peek(symbols, BEFORE + i))
        here = min(guess_merge(merge_table, size_bits, bits, symbol, after), no_merge)
        there = min(guess_merge(merge_table, size_bits, bits, before, symbol), no_merge)
        here_key = np.uint32((here << 6) | i)
        # all ones when there is no p (-1)
        there_key = np.uint32(((there << 6) | p) & 0xFFFFFFFF)
        poke(symbols, i, np.int32(symbol))
        poke(symbols, AFTER + i, peek(symbols, AFTER + j))
        poke(symbols, AFTER + (p & 127), np.int32(after))
        poke(symbols, AFTER + q, np.int32(symbol))
        poke(symbols, BEFORE + r, np.int32(symbol))
        put_lanes(keys, n, i, here_key, p, there_key)
        best = min(rest, min(here_key, there_key))
    return alive


@inlined
def _replace(keys, n, lane, key):
    """Write one key; returns the smallest of all."""
    rest = drop_lanes(keys, n, lane, lane, lane)
    put_lanes(keys, n, lane, key, lane, key)
    return min(rest, key)


@inlined
def _start(pair_merges, data, start, n, symbols, keys):
    """Fill symbols and keys from the bytes; returns the smallest key."""
    # what stands after the last symbol
    poke(symbols, MANY, np.int32(NO_SYMBOL))
    if VECTOR and n <= FEW:
        if is_readable(data, start, 16):
            low = raw_load64(data, start) & shift_right(ALL_ONES, 64 - 8 * min(n, 8))
            high = raw_load64(data, start + 8) & shift_right(ALL_ONES, 64 - 8 * max(n - 8, 1))
            return start_few(pair_merges, low, high if n > 8 else ZERO, n, symbols, keys)
        low = load_word(data, start, min(n, 8))
        return start_few(pair_merges, low, load_word(data, start + 8, max(n - 8, 0)), n, symbols, keys)
    for i in range(n):
        symbols[i] = data[start + i]
        symbols[AFTER + i] = data[start + i + 2] if i < n - 2 else NO_SYMBOL
        symbols[BEFORE + i] = data[start + i - 1] if i > 0 else NO_SYMBOL
    for i in range(n - 1):
        merge = np.int64(pair_merges[(np.int64(data[start + i]) << 8) | np.int64(data[start + i + 1])])
        keys[i] = np.uint32(((merge << 6) | i) & 0xFFFFFFFF)
    for i in range(n - 1, FEW if n <= FEW else MANY):
        keys[i] = NO_KEY
    return drop_lanes(keys, n, -1, -1, -1)
