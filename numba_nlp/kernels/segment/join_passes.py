"""Merging a list of symbols pass by pass: each pass merges all places of one pair, the best one, from left to right.

This is how subword-nmt and its descendants merge. Pairs that a pass makes are looked at in the next pass only. The
result is another one than that of merging place by place where a merge joins what one of higher rank makes.

With dropout (Provilkov, Emelianenko, Voita 2020, as in subword-nmt's ``--dropout``) every pair draws once a pass
whether it takes part; the best pair is the best one of those that do, and only its places that take part merge. Pairs
behind the best one need not draw, for what they drew is forgotten with the pass.

Twin: ``numba_nlp.reference.segment.join_passes``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.merge_list import rank_of
from numba_nlp.kernels.tables.heap import heap_key, pop_key, push_key
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from numba_nlp.kernels.tables.random_bits import random_fraction
from numba_nlp.kernels.words import add

__all__ = ["join_in_passes"]


@kernel
def _takes_part(probability, state):
    if probability <= 0.0:
        return True
    drawn = random_fraction(state[0], state[1], state[2])
    state[2] = add(state[2], np.uint64(1))
    return drawn >= probability


@kernel
def join_in_passes(
    merge_table, merge_pairs, merge_symbols, merge_ranks, probability, n, state, symbols, following, previous, merges,
    heap, waiting,
):  # fmt: skip
    """Merge the symbols of a list until a pass merges nothing.

    Parameters
    ----------
    merge_table, merge_pairs, merge_symbols : uint32[2^k], uint64[M], int32[M]
        Merge tables.
    merge_ranks : int32[M] or int32[0]
        Rank of each merge, no two alike (subword-nmt has a rank for each pair); empty when its number is its rank.
    probability : float64
        With which a pair is left out of a pass; at least 1 leaves the symbols as they are.
    n : int64
        ``1 <= n < 2**31``.
    state : uint64[3]
        As of :func:`numba_nlp.kernels.segment.dropout.join_with_dropout`; only used with dropout.
    symbols, following, previous, merges : int32[n] each
        The list, as :func:`numba_nlp.kernels.segment.merge_list.start_list` fills it; changed.
    heap, waiting : uint64[3 * n] each
        Scratch.

    Returns
    -------
    int64
        Number of symbols left, listed as by :func:`numba_nlp.kernels.segment.merge_list.join_by_heap`.

    Notes
    -----
    O(n log n), divided by ``1 - probability``.
    """
    if probability >= 1.0:
        return np.int64(n)
    size = np.int64(0)
    for i in range(n - 1):
        if merges[i] >= 0:
            size = push_key(heap, size, heap_key(rank_of(merge_ranks, np.int64(merges[i])), i))
    left = np.int64(n)
    # pairs for the next pass: dropped in this one, or made by it
    n_waiting = np.int64(0)
    best = np.int64(-1)
    seen = np.uint64(0xFFFFFFFFFFFFFFFF)
    while True:
        is_over = size == 0
        if not is_over and best >= 0:
            is_over = np.int64(heap[0] >> np.uint64(32)) != best
        if is_over:
            if best < 0:
                # no pair was left: every one has had its draw
                return left
            for k in range(n_waiting):
                size = push_key(heap, size, waiting[k])
            n_waiting = np.int64(0)
            best = np.int64(-1)
            seen = np.uint64(0xFFFFFFFFFFFFFFFF)
            if size == 0:
                return left
            continue
        key = heap[0]
        size = pop_key(heap, size)
        i = np.int64(key & np.uint64(0xFFFFFFFF))
        merge = np.int64(merges[i])
        if merge < 0 or rank_of(merge_ranks, merge) != np.int64(key >> np.uint64(32)) or key == seen:
            continue
        seen = key
        if not _takes_part(probability, state):
            waiting[n_waiting] = key
            n_waiting += 1
            continue
        best = np.int64(key >> np.uint64(32))
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
                waiting[n_waiting] = heap_key(rank_of(merge_ranks, found), i)
                n_waiting += 1
        before = np.int64(previous[i])
        if before >= 0:
            found = find_merge_pair(merge_table, merge_pairs, symbols[before], symbol)
            merges[before] = np.int32(found)
            if found >= 0:
                waiting[n_waiting] = heap_key(rank_of(merge_ranks, found), before)
                n_waiting += 1
