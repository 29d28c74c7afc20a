"""Byte-pair merging of one short pre-token: from bytes to the symbols that no listed merge joins any more.

The rule (Sennrich, Haddow, Birch 2016; Gage 1994): among all adjacent pairs take the one with the lowest merge number,
leftmost among equals, join it, repeat. :func:`merge_short` does it for up to 64 bytes; longer pre-tokens go through
:mod:`numba_nlp.kernels.segment.merge_long`. What was tried: docs/decisions/0007-merging.md.

Twin: ``numba_nlp.reference.segment.merge.merge_bytes``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined
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
    unlikely,
)

if VECTOR:
    from numba_nlp.kernels.lanes import start_few

#: Longest pre-token, in bytes, that :func:`merge_short` takes.
MERGE_SHORT_LIMIT = MANY
#: First symbol that a merge makes: those below are bytes.
N_BASE = 256
#: Rows of the symbol scratch behind that of the symbols themselves.
AFTER, BEFORE = ROW, 2 * ROW
#: Elements of the symbol scratch of one pre-token.
STATE = 3 * ROW
ZERO = np.uint64(0)
ONE = np.uint64(1)


def new_lanes() -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Scratch of two pre-tokens, ``symbols`` and ``keys``: of :func:`merge_short`, or of two at a time."""
    raw = np.zeros(2 * (STATE + MANY) + 16, np.int32)
    first = (-raw.ctypes.data // raw.itemsize) % 16
    return raw[first : first + 2 * STATE], raw[first + 2 * STATE :][: 2 * MANY].view(np.uint32)


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
    symbols, keys : int32[768], uint32[128]
        Scratch, made by :func:`new_lanes`.

    Returns
    -------
    uint64
        Bit ``i`` set: a symbol starts at byte ``start + i`` and is ``symbols[i]``.

    Notes
    -----
    At most ``n`` merges, each with two look-ups and one minimum over 16 or 64 lanes.
    """
    no_key = first_no_key(merge_pairs.size)
    best = start_merging(pair_merges, data, start, n, symbols, 0, keys, 0)
    alive = shift_right(ALL_ONES, 64 - n)
    while best < no_key:
        best, alive = merge_once(merge_table, merge_pairs, merge_symbols, unique, n, symbols, 0, keys, 0, best, alive)
    return alive


@inlined
def first_no_key(n_merges):
    """Smallest key (uint32) that says "nothing to merge" for a list of ``n_merges`` merges."""
    return np.uint32(np.int64(1) << (number_bits(n_merges) + 6))


@inlined
def merge_once(merge_table, merge_pairs, merge_symbols, unique, n, symbols, s, keys, k, best, alive):
    """Do the next merge of a pre-token.

    Parameters
    ----------
    merge_table, merge_pairs, merge_symbols, unique, n
        As of :func:`merge_short`.
    symbols, s : int32[s + 384], int64
        Three rows of ``ROW`` places from ``s`` on: the symbol at a byte, the symbol after the pair that starts there,
        the symbol before.
    keys, k : uint32[k + 64], int64
        From ``k`` on, the key of the pair that starts at a byte.
    best : uint32
        The smallest key, below :func:`first_no_key`.
    alive : uint64
        Bytes at which symbols start.

    Returns
    -------
    best, alive : uint32, uint64

    Notes
    -----
    A key is ``merge number << 6 | byte``, so one minimum finds the lowest merge and, among equals, the leftmost.

    What a merge waits for is the chain from its key to the keys of the two pairs that it makes. The chain is kept
    short: the neighbours' symbols lie ready beside each pair, look-ups are guesses that need no comparison, and the
    minimum of all other keys is found meanwhile. A guess is compared with the pair when its turn comes; as a guess is
    never above the pair's own merge number, no merge is passed over.
    """
    size_bits = table_bits(merge_table.size)
    bits = number_bits(merge_pairs.size)
    i = np.int64(best) & 63
    merge = np.int64(best) >> 6
    # the pair is (i, j), its neighbours p and r, p's neighbour q; 64 and -1 or 127 where there is none
    above = alive & ~shift_right(ALL_ONES, 63 - i)
    j = trailing_zeros(above)
    pair = np.uint64((np.int64(peek(symbols, s + i)) << 20) | np.int64(peek(symbols, s + j)))
    if unlikely(peek(merge_pairs, merge) != pair):
        # a wrong guess
        found = find_merge_pair(merge_table, merge_pairs, peek(symbols, s + i), peek(symbols, s + j))
        key = NO_KEY if found < 0 else np.uint32((found << 6) | i)
        rest = drop_lanes(keys, k, n, i, i, i)
        put_lanes(keys, k, n, i, key, i, key)
        return min(rest, key), alive
    symbol = N_BASE + merge if unique else np.int64(peek(merge_symbols, merge))
    above &= ~shift_left(ONE, j)
    r = trailing_zeros(above)
    below = alive & (shift_left(ONE, i) - ONE)
    p = 63 - leading_zeros(below)
    q = (63 - leading_zeros(below & ~shift_left(ONE, p & 63))) & 127
    rest = drop_lanes(keys, k, n, i, j, p)
    after = np.int64(peek(symbols, s + AFTER + i))
    before = np.int64(peek(symbols, s + BEFORE + i))
    here = guess_merge(merge_table, size_bits, bits, symbol, after)
    there = guess_merge(merge_table, size_bits, bits, before, symbol)
    here_key = np.uint32(((here << 6) | i) & 0xFFFFFFFF)
    # all ones when there is no p
    there_key = np.uint32(((there << 6) | p) & 0xFFFFFFFF)
    poke(symbols, s + i, np.int32(symbol))
    poke(symbols, s + AFTER + i, peek(symbols, s + AFTER + j))
    poke(symbols, s + AFTER + (p & 127), np.int32(after))
    poke(symbols, s + AFTER + q, np.int32(symbol))
    poke(symbols, s + BEFORE + r, np.int32(symbol))
    put_lanes(keys, k, n, i, here_key, p, there_key)
    return min(rest, here_key, there_key), alive & ~shift_left(ONE, j)


@inlined
def start_merging(pair_merges, data, start, n, symbols, s, keys, k):
    """Fill symbols and keys of a pre-token, as of :func:`merge_once`; returns the smallest key."""
    # what stands after the last symbol
    poke(symbols, s + MANY, np.int32(NO_SYMBOL))
    if VECTOR and n <= FEW:
        if is_readable(data, start, 16):
            low = raw_load64(data, start) & shift_right(ALL_ONES, 64 - 8 * min(n, 8))
            high = raw_load64(data, start + 8) & shift_right(ALL_ONES, 64 - 8 * max(n - 8, 1))
            return start_few(pair_merges, low, high if n > 8 else ZERO, n, symbols, s, keys, k)
        low = load_word(data, start, min(n, 8))
        return start_few(pair_merges, low, load_word(data, start + 8, max(n - 8, 0)), n, symbols, s, keys, k)
    for i in range(n):
        symbols[s + i] = data[start + i]
        symbols[s + AFTER + i] = data[start + i + 2] if i < n - 2 else NO_SYMBOL
        symbols[s + BEFORE + i] = data[start + i - 1] if i > 0 else NO_SYMBOL
    for i in range(n - 1):
        merge = np.int64(pair_merges[(np.int64(data[start + i]) << 8) | np.int64(data[start + i + 1])])
        keys[k + i] = np.uint32(((merge << 6) | i) & 0xFFFFFFFF)
    for i in range(n - 1, FEW if n <= FEW else MANY):
        keys[k + i] = NO_KEY
    return drop_lanes(keys, k, n, -1, -1, -1)
