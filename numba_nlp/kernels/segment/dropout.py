"""BPE-dropout (Provilkov, Emelianenko, Voita 2020): merging that leaves merges out at random, for every kind of BPE.

Two rules are in use. Both merge the lowest rank first, the leftmost pair among equals; ``p`` is the probability.

``DROP_ONCE``
    sentencepiece (``SampleEncode`` with ``alpha``): when a pair's turn comes it is dropped with probability ``p``, for
    good: it comes back only as another pair, when one of its symbols has grown.
``DROP_EACH_STEP``
    ``tokenizers`` (``dropout``): a pair whose turn comes is put aside with probability ``p``; the next one that is not
    merges and brings back all that were put aside. Pairs stay in the queue when a merge takes a symbol of theirs away;
    such a one has its turn as well, and unless it is put aside it brings the others back. So more merges are made than
    in the paper, where before each merge every pair is dropped with probability ``p``, for this one step. (subword-nmt
    follows the paper, pass by pass: :mod:`numba_nlp.kernels.segment.join_passes`.)

``p <= 0`` is merging without dropout, ``p >= 1`` leaves the symbols as they are.

Twin: ``numba_nlp.reference.segment.dropout``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.bridge import fill_spans_bridge
from numba_nlp.kernels.segment.merge_list import rank_of, start_list
from numba_nlp.kernels.segment.sentencepiece_bpe import emit_symbol, fill_symbols
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import BLOCK
from numba_nlp.kernels.tables.heap import heap_key, pop_key, push_key
from numba_nlp.kernels.tables.merge_table import find_merge_pair
from numba_nlp.kernels.tables.random_bits import random_fraction
from numba_nlp.kernels.words import add

DROP_ONCE, DROP_EACH_STEP = 0, 1


@kernel
def _draw(state):
    """The next random number in [0, 1)."""
    drawn = random_fraction(state[0], state[1], state[2])
    state[2] = add(state[2], np.uint64(1))
    return drawn


@kernel
def join_with_dropout(
    merge_table, merge_pairs, merge_symbols, merge_ranks, rule, probability, n, state, symbols, following, previous,
    merges, heap, dropped,
):  # fmt: skip
    """Merge the symbols of a list, leaving merges out at random.

    Parameters
    ----------
    merge_table, merge_pairs, merge_symbols : uint32[2^k], uint64[M], int32[M]
        Merge tables, with every pair that may merge.
    merge_ranks : int32[M] or int32[0]
        Rank of each merge; empty when its number is its rank.
    rule : int64
        ``DROP_ONCE`` or ``DROP_EACH_STEP``.
    probability : float64
    n : int64
        ``1 <= n < 2**31``.
    state : uint64[3]
        Seed, stream (such as the number of the row) and how many random numbers were drawn, which is changed: the
        arguments of :func:`numba_nlp.kernels.tables.random_bits.random_fraction`.
    symbols, following, previous, merges : int32[n] each
        The list, as :func:`numba_nlp.kernels.segment.merge_list.start_list` fills it; changed.
    heap, dropped : uint64[3 * n] each
        Scratch.

    Returns
    -------
    int64
        Number of symbols left, listed as by :func:`numba_nlp.kernels.segment.merge_list.join_by_heap`.

    Notes
    -----
    O(n log n / (1 - p)) with ``DROP_EACH_STEP``, else O(n log n).
    """
    if probability >= 1.0:
        return np.int64(n)
    size = 0
    for i in range(n - 1):
        if merges[i] >= 0:
            size = push_key(heap, size, heap_key(rank_of(merge_ranks, np.int64(merges[i])), i))
    left = np.int64(n)
    n_dropped = 0
    while size > 0:
        key = heap[0]
        size = pop_key(heap, size)
        i = np.int64(key & np.uint64(0xFFFFFFFF))
        merge = np.int64(merges[i])
        is_gone = merge < 0 or rank_of(merge_ranks, merge) != np.int64(key >> np.uint64(32))
        if is_gone and rule == DROP_ONCE:
            continue
        if probability > 0.0 and _draw(state) < probability:
            if rule == DROP_ONCE:
                merges[i] = -1
            else:
                dropped[n_dropped] = key
                n_dropped += 1
            continue
        for k in range(n_dropped):
            size = push_key(heap, size, dropped[k])
        n_dropped = 0
        if is_gone:
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


@kernel
def segment_with_dropout(tables, text, start, stop, rule, probability, state, scratch, dropped, ids, token_ends, out):
    """Ids of a row of normalised text by BPE over characters.

    Parameters
    ----------
    tables : SentencePieceBpeTables
        Compiled with ``every_split`` for a vocabulary of scores.
    text : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The row.
    rule, probability, state : int64, float64, uint64[3]
        As of :func:`join_with_dropout`.
    scratch : SentencePieceBpeScratch
    dropped : uint64[3 * capacity]
        Scratch, as long as ``scratch.heap``.
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, at most one a byte, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id. When a chunk is longer than the lists of the scratch: minus the capacity it takes.

    Notes
    -----
    Unused pieces fall into the parts that merging without dropout makes them of (sentencepiece: of which they were
    last found in this text).
    """
    while start < stop:
        n_chunks, start = fill_spans_bridge(tables, text, start, stop, scratch.cut_starts, scratch.cut_ends, 0, BLOCK)
        for chunk in range(n_chunks):
            out = _chunk_with_dropout(
                tables, text, scratch.cut_starts[chunk], scratch.cut_ends[chunk], rule, probability, state, scratch,
                dropped, ids, token_ends, out,
            )  # fmt: skip
            if out < 0:
                return out
    return out


@kernel
def _chunk_with_dropout(tables, text, start, stop, rule, probability, state, scratch, dropped, ids, token_ends, out):
    symbols, starts, following = scratch.list_symbols, scratch.list_starts, scratch.list_following
    n, end = fill_symbols(tables, text, start, stop, np.int64(symbols.size), symbols, starts, np.int64(0))
    if end < stop:
        return start - stop
    start_list(
        tables.merge_table, tables.merge_pairs, n, symbols, following, scratch.list_previous, scratch.list_merges
    )
    join_with_dropout(
        tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.merge_ranks, rule, probability, n, state,
        symbols, following, scratch.list_previous, scratch.list_merges, scratch.heap, dropped,
    )  # fmt: skip
    was_unknown = False
    i = np.int64(0)
    while i < n:
        after = np.int64(following[i])
        out, was_unknown = emit_symbol(
            tables, text, np.int64(symbols[i]), starts[i], starts[after], was_unknown, ids, token_ends, out
        )
        i = after
    return out


@kernel
def merge_piece_with_dropout(
    tables, merge_ranks, data, start, n, rule, probability, state, scratch, heap, dropped, ids, first
):
    """Ids of one pre-token by byte-level BPE.

    Parameters
    ----------
    tables : ByteBpeTables
        With every pair that may merge: in rank files any two neighbours whose text is a piece, while the tables of such
        a vocabulary hold the pairs that merging without dropout can meet.
    merge_ranks : int32[M] or int32[0]
        As of :func:`join_with_dropout`.
    data : uint8[m]
    start, n : int64
        The pre-token, ``n >= 1``.
    rule, probability, state : int64, float64, uint64[3]
        As of :func:`join_with_dropout`.
    scratch : Scratch
    heap, dropped : uint64[3 * capacity] each
        Scratch.
    ids : int32[k]
        Written from ``first`` on, at most ``n`` ids.
    first : int64

    Returns
    -------
    int64
        Number of ids, or ``-n`` when the pre-token is longer than the lists of the scratch.
    """
    symbols, following = scratch.list_symbols, scratch.list_following
    if n > symbols.size:
        return -n
    for i in range(n):
        symbols[i] = data[start + i]
    start_list(
        tables.merge_table, tables.merge_pairs, n, symbols, following, scratch.list_previous, scratch.list_merges
    )
    join_with_dropout(
        tables.merge_table, tables.merge_pairs, tables.merge_symbols, merge_ranks, rule, probability, n,
        state, symbols, following, scratch.list_previous, scratch.list_merges, heap, dropped,
    )  # fmt: skip
    out = first
    i = np.int64(0)
    while i < n:
        ids[out] = tables.symbol_ids[symbols[i]]
        out += 1
        i = np.int64(following[i])
    return out - first
