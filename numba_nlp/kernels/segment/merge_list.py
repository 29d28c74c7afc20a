"""Merging a linked list of symbols by a binary heap: any merge list, equal ranks included, O(n log n).

The rule: of all adjacent pairs that merge, the one with the lowest rank goes first, the leftmost among equals. A pair
in the heap may be gone when its turn comes; it is not looked for before.

Twin: ``numba_nlp.reference.segment.merge_list``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables.heap import heap_key, pop_key, push_key
from numba_nlp.kernels.tables.merge_table import find_merge_pair


@kernel
def rank_of(merge_ranks, merge):
    """Rank of a merge: its number when ``merge_ranks`` is empty.

    Parameters
    ----------
    merge_ranks : int32[M] or int32[0]
    merge : int64

    Returns
    -------
    int64
    """
    if merge_ranks.size == 0:
        return np.int64(merge)
    return np.int64(merge_ranks[merge])


@kernel
def start_list(merge_table, merge_pairs, n, symbols, following, previous, merges):
    """Link ``n`` symbols and look up their adjacent pairs.

    Parameters
    ----------
    merge_table, merge_pairs : uint32[2^k], uint64[M]
        Made by :func:`numba_nlp.kernels.tables.merge_table.new_merge_table`.
    n : int64
        At least 1.
    symbols : int32[n]
        The symbols, up to ``NO_SYMBOL``.
    following, previous, merges : int32[n] each
        Written: the list, and the merge number of the pair that starts at each place, -1 when there is none.
    """
    for i in range(n):
        following[i] = i + 1
        previous[i] = i - 1
    for i in range(n - 1):
        merges[i] = find_merge_pair(merge_table, merge_pairs, symbols[i], symbols[i + 1])
    merges[n - 1] = -1


@kernel
def join_by_heap(
    merge_table, merge_pairs, merge_symbols, merge_ranks, n, symbols, following, previous, merges, heap
):  # fmt: skip
    """Merge the symbols of a list until nothing merges.

    Parameters
    ----------
    merge_table, merge_pairs, merge_symbols : uint32[2^k], uint64[M], int32[M]
        Merge tables.
    merge_ranks : int32[M] or int32[0]
        Rank of each merge; empty when its number is its rank.
    n : int64
        ``1 <= n < 2**31``.
    symbols, following, previous, merges : int32[n] each
        The list, as :func:`start_list` fills it; changed.
    heap : uint64[3 * n]
        Scratch.

    Returns
    -------
    int64
        Number of symbols left; they are ``symbols[i]`` for ``i = 0, following[0], following[following[0]] ...``
        up to ``n``.
    """
    size = 0
    for i in range(n - 1):
        if merges[i] >= 0:
            size = push_key(heap, size, heap_key(rank_of(merge_ranks, np.int64(merges[i])), i))
    left = n
    while size > 0:
        key = heap[0]
        size = pop_key(heap, size)
        i = np.int64(key & np.uint64(0xFFFFFFFF))
        merge = np.int64(merges[i])
        if merge < 0 or rank_of(merge_ranks, merge) != np.int64(key >> np.uint64(32)):
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
                size = push_key(heap, size, heap_key(rank_of(merge_ranks, found), i))
        before = np.int64(previous[i])
        if before >= 0:
            found = find_merge_pair(merge_table, merge_pairs, symbols[before], symbol)
            merges[before] = np.int32(found)
            if found >= 0:
                size = push_key(heap, size, heap_key(rank_of(merge_ranks, found), before))
    return left
