"""Byte-pair merging of one long pre-token, in time (nearly) linear in its length.

The rule is that of :mod:`numba_nlp.kernels.segment.merge`. Two kernels give the same result:

``merge_buckets``
    when every merge comes after the merges that make its two parts (``ordered``): pairs wait in one list a merge
    number, and the numbers are visited once, in order, through a bitmap. Linear.
``merge_heap``
    any merge list: binary heap and linked list, O(n log n).

Twin: ``numba_nlp.reference.segment.merge.merge_bytes``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from numba_nlp.kernels.words import shift_left, trailing_zeros

ZERO = np.uint64(0)
ONE = np.uint64(1)


def pending_words(n_merges: int) -> int:
    """Length of the bitmap ``pending``: a bit a merge number, then a bit for each of these words."""
    words = n_merges // 64 + 1
    return words + words // 64 + 1


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
def merge_buckets(pair_merges, merge_table, merge_pairs, merge_symbols, data, start, n, symbols, following, previous, merges,
                  heads, pending, entry_position, entry_next):  # fmt: skip
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
    n_entries = 0
    for i in range(n - 1):
        merge = np.int64(merges[i])
        if merge >= 0:
            n_entries = _enter(merge, i, heads, pending, n_words, entry_position, entry_next, n_entries)
    left = n
    block = 0
    while block < n_blocks:
        if pending[n_words + block] == ZERO:
            block += 1
            continue
        word = block * 64 + trailing_zeros(pending[n_words + block])
        merge = np.int64(word * 64 + trailing_zeros(pending[word]))
        pending[word] &= pending[word] - ONE
        if pending[word] == ZERO:
            pending[n_words + block] &= pending[n_words + block] - ONE
        symbol = merge_symbols[merge]
        entry = heads[merge]
        while entry >= 0:
            i = np.int64(entry_position[entry])
            entry = entry_next[entry]
            if merges[i] != merge:
                continue
            if symbols[i] == symbols[following[i]]:
                while previous[i] >= 0 and merges[previous[i]] == merge:
                    i = np.int64(previous[i])
            while i < n and merges[i] == merge:
                j = np.int64(following[i])
                after = np.int64(following[j])
                symbols[i] = symbol
                merges[j] = -1
                following[i] = np.int32(after)
                left -= 1
                if after < n:
                    previous[after] = np.int32(i)
                before = np.int64(previous[i])
                if before >= 0:
                    found = find_merge_pair(merge_table, merge_pairs, symbols[before], symbol)
                    merges[before] = np.int32(found)
                    if found >= 0:
                        n_entries = _enter(
                            found, before, heads, pending, n_words, entry_position, entry_next, n_entries
                        )
                if after < n:
                    found = find_merge_pair(merge_table, merge_pairs, symbol, symbols[after])
                    merges[i] = np.int32(found)
                    if found >= 0:
                        n_entries = _enter(found, i, heads, pending, n_words, entry_position, entry_next, n_entries)
                else:
                    merges[i] = -1
                i = after
    return left


@kernel
def _enter(merge, position, heads, pending, n_words, entry_position, entry_next, n_entries):
    """Put a pair's position at the head of its merge number's list."""
    word = merge >> 6
    bit = shift_left(ONE, merge & 63)
    entry_position[n_entries] = np.int32(position)
    entry_next[n_entries] = heads[merge] if pending[word] & bit else np.int32(-1)
    heads[merge] = np.int32(n_entries)
    pending[word] |= bit
    pending[n_words + (word >> 6)] |= shift_left(ONE, word & 63)
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
    size = 0
    for i in range(n - 1):
        if merges[i] >= 0:
            size = _push(heap, size, _heap_key(np.int64(merges[i]), i))
    left = n
    while size > 0:
        key = heap[0]
        size = _pop(heap, size)
        i = np.int64(key & np.uint64(0xFFFFFFFF))
        merge = np.int64(key >> np.uint64(32))
        if merges[i] != merge:
            continue
        symbol = merge_symbols[merge]
        j = np.int64(following[i])
        after = np.int64(following[j])
        symbols[i] = symbol
        merges[i] = -1
        merges[j] = -1
        following[i] = np.int32(after)
        left -= 1
        if after < n:
            previous[after] = np.int32(i)
            found = find_merge_pair(merge_table, merge_pairs, symbol, symbols[after])
            merges[i] = np.int32(found)
            if found >= 0:
                size = _push(heap, size, _heap_key(found, i))
        before = np.int64(previous[i])
        if before >= 0:
            found = find_merge_pair(merge_table, merge_pairs, symbols[before], symbol)
            merges[before] = np.int32(found)
            if found >= 0:
                size = _push(heap, size, _heap_key(found, before))
    return left


@kernel
def _heap_key(merge, position):
    """Order of the heap: merge number, then position."""
    return np.uint64((np.int64(merge) << 32) | np.int64(position))


@kernel
def _push(heap, size, key):
    """Add a key to a binary min-heap; returns the new size."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= key:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = key
    return size + 1


@kernel
def _pop(heap, size):
    """Remove the smallest key of a binary min-heap; returns the new size."""
    size -= 1
    key = heap[size]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return size
