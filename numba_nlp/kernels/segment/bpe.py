"""Byte-level BPE: rows of text to ids, through the word cache.

Rows are cut into pre-tokens (spans), about ``BLOCK`` at a time. A block is worked through in three passes, so that
memory latency overlaps: spans, then keys with a prefetch of their cache entry, then probe and emit. A pre-token that the
cache does not hold goes through :mod:`numba_nlp.kernels.segment.merge` and is entered.

Twin: ``numba_nlp.reference.segment.bpe``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.merge import merge_buckets, merge_heap, merge_short
from numba_nlp.kernels.segment.window_gpt2 import fill_spans_gpt2
from numba_nlp.kernels.tables.hashing import find_piece, hash_bytes
from numba_nlp.kernels.tables.word_cache import (
    BITS,
    ID_BITS,
    LONG_LIMIT,
    MISSES,
    SHORT_LIMIT,
    WordCache,
    bring_home,
    copy_ids,
    find_long,
    grow_if_full,
    home_of,
    keep_long,
    keep_short,
)
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    is_readable,
    load_word,
    peek,
    poke,
    prefetch,
    raw_load64,
    raw_store64,
    shift_left,
    shift_right,
    trailing_zeros,
)

#: Spans that are worked through together.
BLOCK = 128
#: Spans a scanner may write beyond ``BLOCK``.
SLACK = 80
ZERO = np.uint64(0)
ONE = np.uint64(1)


class ByteBpeTables(NamedTuple):
    """The arrays of a compiled byte-level BPE vocabulary that encoding reads (docs/data_contracts.md)."""

    class_index: Any  # uint16[0x110000 >> 7]
    class_blocks: Any  # uint8[blocks * 128]
    pair_merges: Any  # int32[65536]
    merge_slots: Any  # uint64[2^m]
    merge_symbols: Any  # int32[M]
    symbol_ids: Any  # int32[S]
    piece_lookup: Any  # int32[2^k]
    piece_bytes: Any  # uint8[n]
    piece_offsets: Any  # int64[V + 1]
    flags: Any  # int64[2]: whole_pieces, ordered


class Scratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`, grown by :func:`grow`."""

    starts: Any  # int64[BLOCK + SLACK]
    ends: Any  # int64[BLOCK + SLACK]
    low: Any  # uint64[BLOCK + SLACK]
    high: Any  # uint64[BLOCK + SLACK]
    homes: Any  # int64[BLOCK + SLACK]
    emitted: Any  # int64[BLOCK + SLACK]
    masks: Any  # uint64[4 * 17], see key_masks
    symbols: Any  # int32[64]
    keys: Any  # uint32[64]
    list_symbols: Any  # int32[capacity]
    list_following: Any  # int32[capacity]
    list_previous: Any  # int32[capacity]
    list_merges: Any  # int32[capacity]
    queue_positions: Any  # int32[3 * capacity]
    queue_next: Any  # int32[3 * capacity]
    queue_heads: Any  # int32[M]
    queue_pending: Any  # uint64[M // 64 + 1]
    heap: Any  # uint64[3 * capacity] when the merges are not ordered, else uint64[1]


def key_masks() -> np.ndarray:
    """For each length 0 to 16: and-mask and or-mask of the low word, and-mask and or-mask of the high word."""
    masks = np.zeros((SHORT_LIMIT + 2, 4), np.uint64)
    for length in range(1, SHORT_LIMIT + 1):
        masks[length, 0] = (1 << 8 * min(length, 8)) - 1
        masks[length, 2] = (1 << 8 * max(length - 8, 0)) - 1
        masks[length, 3] = length << 56
    # longer pre-tokens: a key of bytes that no UTF-8 text holds, equal to no entry
    masks[SHORT_LIMIT + 1, 1] = ALL_ONES
    masks[SHORT_LIMIT + 1, 3] = ALL_ONES
    return masks.reshape(-1)


def new_scratch(n_merges: int, ordered: bool, capacity: int = 1 << 12) -> Scratch:
    """Working memory for pre-tokens of up to ``capacity`` bytes.

    Parameters
    ----------
    n_merges : int
        Number of merges of the vocabulary.
    ordered : bool
        Whether every merge comes after those that make its parts.
    capacity : int
        Longest pre-token, in bytes, that fits.
    """
    spans = BLOCK + SLACK
    return Scratch(
        *(np.zeros(spans, np.int64) for _ in range(2)),
        *(np.zeros(spans, np.uint64) for _ in range(2)),
        *(np.zeros(spans, np.int64) for _ in range(2)),
        key_masks(),
        np.zeros(64, np.int32),
        np.zeros(64, np.uint32),
        *(np.zeros(capacity, np.int32) for _ in range(4)),
        *(np.zeros(3 * capacity if ordered else 1, np.int32) for _ in range(2)),
        np.zeros(n_merges if ordered else 1, np.int32),
        np.zeros(n_merges // 64 + 1, np.uint64),
        np.zeros(1 if ordered else 3 * capacity, np.uint64),
    )


@inlined
def merge_piece(tables, data, start, n, scratch, ids, first):
    """Ids of one pre-token by merging, without the cache.

    Parameters
    ----------
    tables : ByteBpeTables
    data : uint8[m]
    start, n : int64
        The pre-token, ``n >= 1``.
    scratch : Scratch
        With lists of at least ``n`` entries.
    ids : int32[k]
        Written from ``first`` on, at most ``n`` ids.
    first : int64

    Returns
    -------
    int64
        Number of ids.
    """
    if tables.flags[0] != 0:
        piece = find_piece(tables.piece_lookup, tables.piece_bytes, tables.piece_offsets, data, start, start + n)
        if piece >= 0:
            ids[first] = np.int32(piece)
            return 1
    out = first
    if n <= 64:
        alive = merge_short(
            tables.pair_merges, tables.merge_slots, tables.merge_symbols, data, start, n, scratch.symbols, scratch.keys
        )
        while alive != ZERO:
            ids[out] = tables.symbol_ids[scratch.symbols[trailing_zeros(alive)]]
            alive &= alive - ONE
            out += 1
        return out - first
    if tables.flags[1] != 0:
        merge_buckets(
            tables.pair_merges, tables.merge_slots, tables.merge_symbols, data, start, n, scratch.list_symbols,
            scratch.list_following, scratch.list_previous, scratch.list_merges, scratch.queue_heads,
            scratch.queue_pending, scratch.queue_positions, scratch.queue_next,
        )  # fmt: skip
    else:
        merge_heap(
            tables.pair_merges, tables.merge_slots, tables.merge_symbols, data, start, n, scratch.list_symbols,
            scratch.list_following, scratch.list_previous, scratch.list_merges, scratch.heap,
        )  # fmt: skip
    i = np.int64(0)
    while i < n:
        ids[out] = tables.symbol_ids[scratch.list_symbols[i]]
        out += 1
        i = np.int64(scratch.list_following[i])
    return out - first


@inlined
def encode_piece(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Ids of one pre-token that is not at its home in the short table.

    Parameters
    ----------
    tables, cache : ByteBpeTables, WordCache
    data : uint8[m]
    start, n : int64
        The pre-token.
    low, high, home : uint64, uint64, int64
        Its key and home in the short table (unused when ``n > SHORT_LIMIT``).
    scratch : Scratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids.
    """
    if n <= SHORT_LIMIT:
        if bring_home(cache, low, high, home):
            return copy_ids(cache, home, ids, first)
        cache.fill[MISSES] += 1
        n_ids = merge_piece(tables, data, start, n, scratch, ids, first)
        keep_short(cache, low, high, home, ids, first, n_ids)
        return n_ids
    if n > LONG_LIMIT:
        return merge_piece(tables, data, start, n, scratch, ids, first)
    code = hash_bytes(data, start, start + n)
    at = find_long(cache, code, data, start, n)
    if at >= 0:
        source = np.int64(shift_right(cache.long_entries[at + 2], 32))
        n_ids = np.int64(cache.long_entries[at + 2] & np.uint64(0xFFFFFFFF))
        for i in range(n_ids):
            ids[first + i] = cache.arena_ids[source + i]
        return n_ids
    cache.fill[MISSES] += 1
    n_ids = merge_piece(tables, data, start, n, scratch, ids, first)
    keep_long(cache, code, data, start, n, ids, first, n_ids)
    return n_ids


@inlined
def make_keys(cache, data, n, scratch):
    """Key and home entry of ``n`` spans, with a prefetch of the entry.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    n : int64
        Spans in ``scratch.starts`` and ``scratch.ends``.
    scratch : Scratch
        ``low``, ``high``, ``homes`` are written.
    """
    entries = cache.entries
    shift = 64 - cache.fill[BITS]
    masks = scratch.masks
    starts, ends, lows, highs, homes = scratch.starts, scratch.ends, scratch.low, scratch.high, scratch.homes
    # the last spans of the data may not be read 16 bytes at a time
    safe = n
    while safe > 0 and not (VECTOR and is_readable(data, peek(starts, safe - 1), 16)):
        safe -= 1
    for i in range(safe):
        start = peek(starts, i)
        row = 4 * min(peek(ends, i) - start, SHORT_LIMIT + 1)
        low = (raw_load64(data, start) & peek(masks, row)) | peek(masks, row + 1)
        high = (raw_load64(data, start + 8) & peek(masks, row + 2)) | peek(masks, row + 3)
        home = home_of(low, high, shift)
        prefetch(entries, 4 * home)
        poke(lows, i, low)
        poke(highs, i, high)
        poke(homes, i, home)
    for i in range(safe, n):
        start = starts[i]
        length = ends[i] - start
        row = 4 * min(length, SHORT_LIMIT + 1)
        low = masks[row + 1]
        high = masks[row + 3]
        if length <= SHORT_LIMIT:
            low |= load_word(data, start, min(length, 8))
            high |= load_word(data, start + 8, max(length - 8, 0))
        lows[i] = low
        highs[i] = high
        homes[i] = home_of(low, high, shift)


@inlined
def emit_hits(cache, first_span, n, scratch, ids, out):
    """Ids of spans as long as each is found at its home.

    Parameters
    ----------
    cache : WordCache
    first_span, n : int64
        Spans ``first_span`` to ``n`` of the scratch, with their keys.
    scratch : Scratch
        ``scratch.emitted[i]`` becomes the place of the first id of span ``i``.
    ids : int32[k]
        Written from ``out`` on; has four elements more than can be needed.
    out : int64

    Returns
    -------
    span, out : int64, int64
        The first span that is not at home (``n`` when all are), and the place after the last id.
    """
    entries = cache.entries
    lows, highs, homes, emitted = scratch.low, scratch.high, scratch.homes, scratch.emitted
    for i in range(first_span, n):
        poke(emitted, i, out)
        at = 4 * peek(homes, i)
        if (peek(entries, at) ^ peek(lows, i)) | (peek(entries, at + 1) ^ peek(highs, i)) != ZERO:
            return i, out
        first = peek(entries, at + 2)
        count = np.int64(shift_right(first, 60))
        if count <= 4:
            _store_four(ids, out, first & ID_BITS, peek(entries, at + 3))
        else:
            source = np.int64(first & ID_BITS)
            for k in range(count):
                poke(ids, out + k, peek(cache.arena_ids, source + k))
        out += count
    return n, out


@inlined
def emit_block(tables, cache, data, n, scratch, ids, out):
    """Ids of ``n`` spans, in order.

    Parameters
    ----------
    tables, cache : ByteBpeTables, WordCache
    data : uint8[m]
    n : int64
        Spans in ``scratch.starts`` and ``scratch.ends``.
    scratch : Scratch
        ``scratch.emitted[i]`` becomes the place of the first id of span ``i``; ``emitted[n]`` the end.
    ids : int32[k]
        Written from ``out`` on; has four elements more than can be needed.
    out : int64

    Returns
    -------
    int64
        Place after the last id.
    """
    grow_if_full(cache)
    make_keys(cache, data, n, scratch)
    span = np.int64(0)
    while True:
        span, out = emit_hits(cache, span, n, scratch, ids, out)
        if span >= n:
            break
        start = scratch.starts[span]
        out += encode_piece(
            tables, cache, data, start, scratch.ends[span] - start, scratch.low[span], scratch.high[span],
            scratch.homes[span], scratch, ids, out,
        )  # fmt: skip
        span += 1
    scratch.emitted[n] = out
    return out


if VECTOR:

    @kernel
    def _store_four(ids, out, first, second):
        """Write four ids held in two words."""
        raw_store64(ids, out, first)
        raw_store64(ids, out + 2, second)

else:

    @kernel
    def _store_four(ids, out, first, second):
        """Write four ids held in two words."""
        mask = np.uint64(0xFFFFFFFF)
        ids[out] = np.int32(first & mask)
        ids[out + 1] = np.int32(shift_right(first, 32))
        ids[out + 2] = np.int32(second & mask)
        ids[out + 3] = np.int32(shift_right(second, 32))


@kernel
def encode_rows_gpt2(tables, cache, data, starts, ends, fixed, first_row, last_row, scratch, ids, offsets, out):
    """Encode rows of text.

    Parameters
    ----------
    tables, cache : ByteBpeTables, WordCache
    data : uint8[m]
        Valid UTF-8.
    starts, ends : int64[rows]
        Row ``r`` is ``data[starts[r]:ends[r]]``.
    fixed : int32[rows] or int32[0]
        An id to give for the row in place of its text, or -1; empty when there is none.
    first_row, last_row : int64
        Rows to encode.
    scratch : Scratch
    ids : int32[k]
        Written from ``out`` on: room for one id a byte, and four more.
    offsets : int64[rows + 1]
        ``offsets[r + 1]`` becomes the place after the last id of row ``r``.
    out : int64

    Returns
    -------
    int64
        Place after the last id.
    """
    n = np.int64(0)
    pending = first_row
    row = first_row
    position = np.int64(-1)
    while True:
        # fill the block from as many rows as it takes
        stop_id = np.int64(-1)
        while row < last_row:
            if fixed.size != 0 and fixed[row] >= 0:
                stop_id = np.int64(fixed[row])
                break
            if position < 0:
                position = starts[row]
            n, position = fill_spans_gpt2(
                tables.class_index, tables.class_blocks, data, position, ends[row], scratch.starts, scratch.ends, n,
                BLOCK,
            )  # fmt: skip
            if position < ends[row]:
                break
            # the span count for now; becomes the place of the ids when the block is emitted
            offsets[row + 1] = n
            row += 1
            position = np.int64(-1)
        out = emit_block(tables, cache, data, n, scratch, ids, out)
        for closed in range(pending, row):
            offsets[closed + 1] = scratch.emitted[offsets[closed + 1]]
        n = np.int64(0)
        if stop_id >= 0:
            ids[out] = np.int32(stop_id)
            out += 1
            offsets[row + 1] = out
            row += 1
        pending = row
        if row >= last_row:
            return out
