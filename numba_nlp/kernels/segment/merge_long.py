"""Byte-pair merging of one long pre-token, in time (nearly) linear in its length.

The rule is that of :mod:`numba_nlp.kernels.segment.merge`. Two kernels give the same result:

``merge_buckets``
    when every merge comes after the merges that make its two parts (``ordered``): pairs wait in one list a merge
    number, and the numbers are visited once, in order, through a bitmap. Linear.
``merge_heap``
    any merge list: binary heap and linked list, O(n log n).

Both jump about in their lists, so :func:`merge_long` gives them one stretch of ``CHUNK`` bytes after the other, which
stays in the cache. That is exact for any merge list:

*Neighbours in a result stay apart when alone.* Let merging some bytes give ``... a b ...``. Nothing merged across the
ends of ``ab``, so what happened inside was always the lowest, leftmost merge inside, and depended on nothing outside:
merging the bytes of ``ab`` alone takes the same steps and gives ``a b``.

*Symbols of which each two neighbours stay apart when alone are the result of merging all their bytes.* Else take the
first merge that crosses a boundary, say between ``a`` and ``b``. Until then nothing crossed the ends of ``ab``, so the
steps inside were those of ``ab`` alone, and the crossing one would be the next of them; but ``ab`` alone never crosses.

So a stretch may end at any boundary of its result, if the next stretch, which begins there, begins with the very symbol
that followed in the first one: then all neighbours are neighbours in the result of one stretch. Where the symbol is
another one (not seen in real text), the whole pre-token is merged at once.

Twin: ``numba_nlp.reference.segment.merge.merge_bytes``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.merge_list import join_by_heap
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from numba_nlp.kernels.words import peek, poke, shift_left, trailing_zeros

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Bytes that are merged at once of a longer pre-token; those at the end that are merged again with what follows.
CHUNK, OVERLAP = 4096, 512


def pending_words(n_merges: int) -> int:
    """Length of the bitmap ``pending``: a bit a merge number, then a bit for each of these words."""
    words = n_merges // 64 + 1
    return words + words // 64 + 1


@inlined
def merge_long(tables, data, start, n, scratch, ids, first):
    """Ids of a pre-token of any length.

    Parameters
    ----------
    tables : ByteBpeTables
    data : uint8[m]
    start, n : int64
        The pre-token, ``n >= 1``.
    scratch : Scratch
    ids : int32[k]
        Written from ``first`` on, at most ``n`` ids.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative when the lists of the scratch are too short: minus the length that they must have.
    """
    chunk = min(n, np.int64(CHUNK))
    out, done, expected = first, np.int64(0), np.int64(-1)
    while chunk <= scratch.list_symbols.size:
        size = min(n - done, chunk)
        if tables.flags[1] != 0:
            merge_buckets(
                tables.pair_merges, tables.merge_table, tables.merge_pairs, tables.merge_symbols, data, start + done,
                size, scratch.list_symbols, scratch.list_following, scratch.list_previous, scratch.list_merges,
                scratch.queue_heads, scratch.queue_pending, scratch.queue_positions, scratch.queue_next,
            )  # fmt: skip
        else:
            merge_heap(
                tables.pair_merges, tables.merge_table, tables.merge_pairs, tables.merge_symbols, data, start + done,
                size, scratch.list_symbols, scratch.list_following, scratch.list_previous, scratch.list_merges,
                scratch.heap,
            )  # fmt: skip
        is_last = done + size == n
        keep = size if is_last else size - OVERLAP
        i = np.int64(0)
        if expected < 0 or scratch.list_symbols[0] == expected:
            while i < keep:
                ids[out] = tables.symbol_ids[scratch.list_symbols[i]]
                out += 1
                i = np.int64(scratch.list_following[i])
            if is_last:
                return out - first
        if 0 < i < size:
            expected = np.int64(scratch.list_symbols[i])
            done += i
        else:
            # no boundary to go on from: all at once
            chunk = n
            out, done, expected = first, np.int64(0), np.int64(-1)
    return -chunk


@kernel
def _start_list(pair_merges, data, start, n, symbols, following, previous, merges):
    """Fill the linked list of ``n`` byte symbols and the merge number of each adjacent pair (-1: none)."""
    for i in range(n):
        symbols[i] = data[start + i]
        following[i] = i + 1
        previous[i] = i - 1
    for i in range(n - 1):
        merges[i] = pair_merges[(np.int64(data[start + i]) << 8) | np.int64(data[start + i + 1])]
    merges[n - 1] = -1


@kernel
def merge_buckets(pair_merges, merge_table, merge_pairs, merge_symbols, data, start, n, symbols, following, previous,
                  merges, heads, pending, entry_position, entry_next):  # fmt: skip
    """Merge ``data[start:start + n]`` in time linear in ``n``; needs an ordered merge list.

    Parameters
    ----------
    pair_merges, merge_table, merge_pairs, merge_symbols : int32[65536], uint32[2^k], uint64[M], int32[M]
        Merge tables; every merge has a higher number than those that make its parts.
    data : uint8[m]
    start, n : int64
        ``n >= 1``.
    symbols, following, previous, merges : int32[n] each
        Scratch: linked list of symbols; ``merges[i]`` is the merge number of the pair that starts at ``i``.
    heads : int32[M]
        Scratch: first entry of each merge number's list, valid where ``pending`` has the bit.
    pending : uint64[pending_words(M)]
        Scratch: bitmap of merge numbers with a list, and behind it a bitmap of its words; all zero before and after.
    entry_position, entry_next : int32[3 * n] each
        Scratch: the lists.

    Returns
    -------
    int64
        Number of symbols left; they are ``symbols[i]`` for ``i = 0, following[0], following[following[0]] ...``
        up to ``n``.

    Notes
    -----
    Equal pairs must merge leftmost first. That order matters only where two of them overlap, which takes a pair of
    equal symbols (``X X X``); such a run is walked back to its beginning and merged from there, so the lists need no
    order.
    """
    _start_list(pair_merges, data, start, n, symbols, following, previous, merges)
    n_words = merge_symbols.size // 64 + 1
    n_blocks = n_words // 64 + 1
    n_entries = np.int64(0)
    for i in range(n - 1):
        merge = np.int64(peek(merges, i))
        if merge >= 0:
            n_entries = _enter(merge, i, heads, pending, n_words, entry_position, entry_next, n_entries)
    left = n
    block = np.int64(0)
    while block < n_blocks:
        words_waiting = peek(pending, n_words + block)
        if words_waiting == ZERO:
            block += 1
            continue
        word = block * 64 + trailing_zeros(words_waiting)
        waiting = peek(pending, word)
        merge = word * 64 + trailing_zeros(waiting)
        waiting &= waiting - ONE
        poke(pending, word, waiting)
        if waiting == ZERO:
            poke(pending, n_words + block, words_waiting & (words_waiting - ONE))
        symbol = np.int64(peek(merge_symbols, merge))
        entry = np.int64(peek(heads, merge))
        while entry >= 0:
            i = np.int64(peek(entry_position, entry))
            entry = np.int64(peek(entry_next, entry))
            if peek(merges, i) != merge:
                continue
            if peek(symbols, i) == peek(symbols, np.int64(peek(following, i))):
                before = np.int64(peek(previous, i))
                while before >= 0 and peek(merges, before) == merge:
                    i = before
                    before = np.int64(peek(previous, i))
            while i < n and peek(merges, i) == merge:
                j = np.int64(peek(following, i))
                after = np.int64(peek(following, j))
                poke(symbols, i, np.int32(symbol))
                poke(merges, j, np.int32(-1))
                poke(following, i, np.int32(after))
                left -= 1
                before = np.int64(peek(previous, i))
                if before >= 0:
                    found = find_merge_pair(merge_table, merge_pairs, np.int64(peek(symbols, before)), symbol)
                    poke(merges, before, np.int32(found))
                    if found >= 0:
                        n_entries = _enter(
                            found, before, heads, pending, n_words, entry_position, entry_next, n_entries
                        )
                found = np.int64(-1)
                if after < n:
                    poke(previous, after, np.int32(i))
                    found = find_merge_pair(merge_table, merge_pairs, symbol, np.int64(peek(symbols, after)))
                    if found >= 0:
                        n_entries = _enter(found, i, heads, pending, n_words, entry_position, entry_next, n_entries)
                poke(merges, i, np.int32(found))
                i = after
    return left


@inlined
def _enter(merge, position, heads, pending, n_words, entry_position, entry_next, n_entries):
    """Put a pair's position at the head of its merge number's list."""
    word = merge >> 6
    bit = shift_left(ONE, merge & 63)
    waiting = peek(pending, word)
    poke(entry_position, n_entries, np.int32(position))
    poke(entry_next, n_entries, peek(heads, merge) if waiting & bit != ZERO else np.int32(-1))
    poke(heads, merge, np.int32(n_entries))
    poke(pending, word, waiting | bit)
    block = n_words + (word >> 6)
    poke(pending, block, peek(pending, block) | shift_left(ONE, word & 63))
    return n_entries + 1


@kernel
def merge_heap(
    pair_merges, merge_table, merge_pairs, merge_symbols, data, start, n, symbols, following, previous, merges, heap
):
    """Merge ``data[start:start + n]`` for any merge list, by a binary heap and a linked list.

    Parameters
    ----------
    pair_merges, merge_table, merge_pairs, merge_symbols : int32[65536], uint32[2^k], uint64[M], int32[M]
        Merge tables.
    data : uint8[m]
    start, n : int64
        ``1 <= n < 2**31``.
    symbols, following, previous, merges : int32[n] each
        Scratch, as in :func:`merge_buckets`.
    heap : uint64[3 * n]
        Scratch.

    Returns
    -------
    int64
        Number of symbols left, listed as in :func:`merge_buckets`.
    """
    _start_list(pair_merges, data, start, n, symbols, following, previous, merges)
    # merge numbers are the ranks
    return join_by_heap(
        merge_table, merge_pairs, merge_symbols, merge_symbols[:0], n, symbols, following, previous, merges, heap
    )
