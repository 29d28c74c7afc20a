"""Rows of text to ids through the word cache: the machinery that all tokenizers share.

A family of tokenizers brings two functions: one that cuts text into *chunks* whose ids do not depend on each other
(pre-tokens of byte-level BPE, words of WordPiece), and one that solves a chunk. Here chunks are worked through about
``BLOCK`` at a time, in three passes, so that memory latency overlaps: spans, then keys with a prefetch of their cache
entry, then probe and emit (the last two: :mod:`numba_nlp.kernels.segment.cached_loops`). A chunk that the cache does
not hold is solved and entered.

What a family's ``Scratch`` must begin with: ``starts, ends, low, high, homes, emitted, masks, progress``
(:mod:`numba_nlp.kernels.segment.bpe_memory`).

Twin: ``numba_nlp.reference.segment.bpe``: what rows are to give, each chunk solved by itself, without a cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.kernels.segment.cached_loops import BLOCK, emit_hits, make_keys
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.tables.word_cache import (
    FIRST_SHORT,
    LONG_LIMIT,
    MISSES,
    SHORT_IDS,
    SHORT_LIMIT,
    bring_home,
    copy_ids,
    copy_long,
    grow_if_full,
    keep_long,
    keep_short,
)
from numba_nlp.kernels.words import peek

ZERO = np.uint64(0)


@inlined
def recall_chunk(cache, data, start, n, low, high, home, ids, first):
    """Ids of one chunk from where the cache may hold it besides its home.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home (:func:`numba_nlp.kernels.segment.cached_loops.make_keys`).
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; -1 when the cache does not hold the chunk.
    """
    # an empty home says that the cache does not hold it (`bring_home`): asked here, it costs no call
    if peek(cache.entries, 4 * home + 1) == ZERO or not bring_home(cache, low, high, home):
        return np.int64(-1)
    if high >= FIRST_SHORT:
        return copy_ids(cache, home, ids, first)
    return copy_long(cache, home, data, start, n, ids, first)


def encode_unseen(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Solve one chunk that the cache does not hold, and enter it: the code that :func:`unseen_function` compiles.

    Parameters
    ----------
    tables, cache : NamedTuple of arrays, WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home (:func:`numba_nlp.kernels.segment.cached_loops.make_keys`).
    scratch : Scratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative, as of the function that solves, when the scratch is too small.
    """
    n_ids = solve(tables, data, start, n, scratch, ids, first)  # noqa: F821  bound by `unseen_function`
    if n_ids >= 0:
        enter_chunk(cache, data, start, n, low, high, home, ids, first, n_ids)
    return n_ids


@inlined
def enter_chunk(cache, data, start, n, low, high, home, ids, first, n_ids):
    """Enter the ids of a chunk that was solved, if the cache takes such.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home (:func:`numba_nlp.kernels.segment.cached_loops.make_keys`).
    ids : int32[k]
    first, n_ids : int64
        ``ids[first:first + n_ids]``.

    Returns
    -------
    int64
        0.
    """
    cache.fill[MISSES] += 1
    if n <= SHORT_LIMIT:
        if n_ids <= SHORT_IDS:
            keep_short(cache, low, high, home, ids, first, n_ids)
    elif n <= LONG_LIMIT:
        keep_long(cache, low, high, home, data, start, n, ids, first, n_ids)
    return 0


@inlined
def note_first(scratch, n):
    """Note that chunk ``n`` of the block begins a row: the default of families in which it is a chunk as any other.

    Parameters
    ----------
    scratch : Scratch
    n : int64
    """
    return


@inlined
def mark_firsts(cache, data, scratch):
    """Change the keys of the chunks that begin a row: the default of families that need none of their own.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    scratch : Scratch
    """
    return


def emit_block(tables, cache, data, n, scratch, ids, out):
    """Ids of ``n`` spans, in order.

    Parameters
    ----------
    tables, cache : NamedTuple of arrays, WordCache
    data : uint8[m]
    n : int64
        Spans in ``scratch.starts`` and ``scratch.ends``.
    scratch : Scratch
        ``scratch.emitted[i]`` becomes the place of the first id of span ``i``; ``emitted[n]`` the end.
    ids : int32[k]
        Written from ``out`` on; has ``SPARE_IDS`` elements more than can be needed.
    out : int64

    Returns
    -------
    int64
        Place after the last id; negative, as of :func:`encode_unseen`, when the scratch is too small.
    """
    grow_if_full(cache)
    make_keys(cache, data, n, scratch)
    mark_firsts(cache, data, scratch)
    span = np.int64(0)
    while True:
        span, out = emit_hits(cache, data, span, n, scratch, ids, out)
        if span >= n:
            break
        start = scratch.starts[span]
        length = scratch.ends[span] - start
        low, high, home = scratch.low[span], scratch.high[span], scratch.homes[span]
        n_ids = recall_chunk(cache, data, start, length, low, high, home, ids, out)
        if n_ids < 0:
            n_ids = solve_unseen(  # noqa: F821  bound by `rows_function`
                tables, cache, data, start, length, low, high, home, scratch, ids, out
            )
        if n_ids < 0:
            return n_ids
        out += n_ids
        span += 1
    scratch.emitted[n] = out
    return out


@inlined
def begin_row(tables, data, start, stop):
    """Where the first chunk of a row may begin: the default, for families that take rows from their first byte on.

    Parameters
    ----------
    tables : NamedTuple of arrays
    data : uint8[m]
    start, stop : int64
        The row.

    Returns
    -------
    int64
        ``start``.
    """
    return start


@inlined
def settle(tables, cache, data, n, opened, scratch, ids, out):
    """Change the ids of a block by what depends on more than one chunk: the default, for families without such.

    Parameters
    ----------
    tables, cache : NamedTuple of arrays, WordCache
    data : uint8[m]
    n : int64
        Chunks of the block.
    opened : int64
        Number of the chunk with which the block's last row begins, -1 when it began before.
    scratch : Scratch
    ids : int32[k]
    out : int64
        Place after the last id.

    Returns
    -------
    int64
        ``out`` as it is.
    """
    return out


def encode_rows(tables, cache, data, starts, ends, fixed, first_row, last_row, scratch, ids, offsets, out):
    """Encode rows of text: the code that :func:`specialise` compiles for one pattern.

    Parameters
    ----------
    tables, cache : NamedTuple of arrays, WordCache
    data : uint8[m]
        Valid UTF-8.
    starts, ends : int64[rows]
        Row ``r`` is ``data[starts[r]:ends[r]]``; rows that are not empty come in the order of their bytes.
    fixed : int32[rows] or int32[0]
        An id to give for the row in place of its text, -1, or -2 for text whose first chunk does not count as the
        first of a row; empty for -1 everywhere.
    first_row, last_row : int64
        Rows to encode.
    scratch : Scratch
    ids : int32[k]
        Written from ``out`` on: room for one id a byte, one a fixed row, and ``SPARE_IDS`` more.
    offsets : int64[rows + 1]
        ``offsets[r + 1]`` becomes the place after the last id of row ``r``.
    out : int64

    Returns
    -------
    int64
        Place after the last id. When a pre-token of ``n`` bytes is longer than the lists of the scratch, ``-n``: rows
        before ``scratch.progress[0]`` are done, and with larger scratch the work goes on from that row, whose ids
        start at ``scratch.progress[1]``.
    """
    n = np.int64(0)
    pending = first_row
    pending_out = out
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
                position = begin_row(tables, data, starts[row], ends[row])
            before, at_start = n, position == starts[row]
            n, position = fill_spans(  # noqa: F821  bound by `rows_function`
                tables, data, position, ends[row], scratch.starts, scratch.ends, n, BLOCK
            )
            if at_start and n > before and (fixed.size == 0 or fixed[row] == -1):
                note_first(scratch, before)
            if position < ends[row]:
                break
            # the span count for now; becomes the place of the ids when the block is emitted
            offsets[row + 1] = n
            row += 1
            position = np.int64(-1)
        out = emit_block(tables, cache, data, n, scratch, ids, out)
        if out >= 0 and n > 0:
            opened = offsets[row] if row > pending else np.int64(-1)
            out = settle(tables, cache, data, n, opened, scratch, ids, out)
        if out < 0:
            scratch.progress[0] = pending
            scratch.progress[1] = pending_out
            return out
        for closed in range(pending, row):
            offsets[closed + 1] = scratch.emitted[offsets[closed + 1]]
        if row > pending:
            pending_out = offsets[row]
        n = np.int64(0)
        if stop_id >= 0:
            ids[out] = np.int32(stop_id)
            out += 1
            offsets[row + 1] = out
            row += 1
            pending_out = out
        pending = row
        if row >= last_row:
            return out


def unseen_function(compiled: Any, name: str, solve: Any) -> Any:
    """Build and compile :func:`encode_unseen` for one family.

    Parameters
    ----------
    compiled : callable
        Decorator that compiles.
    name : str
        Name of the kernel.
    solve : callable
        ``(tables, data, start, n, scratch, ids, first) -> number of ids, or negative``: the ids of a chunk, which only
        depend on its bytes.
    """
    return compiled(specialise(encode_unseen, name, solve=solve))


def rows_function(
    fill_spans: Any,
    compiled: Any,
    name: str,
    unseen: Any,
    *,
    begin_row: Any = begin_row,
    settle_function: Any = None,
    note_first: Any = note_first,
    mark_firsts: Any = mark_firsts,
) -> Any:
    """Build and compile :func:`encode_rows` for one way to cut text.

    Parameters
    ----------
    fill_spans : callable
        ``(tables, data, position, stop, starts, ends, n, limit) -> n, position``: appends the chunks of
        ``data[position:stop]`` until there are ``limit`` or a few more, and says how far it came.
    compiled : callable
        Decorator that compiles.
    name : str
        Name of the kernel.
    unseen : callable
        What encodes a chunk that the cache does not hold: made by :func:`unseen_function`, or a stand-in.
    begin_row : callable
        ``(tables, data, start, stop) -> position`` from which on a row is cut.
    settle_function : callable, optional
        ``(name, unseen) -> settle``, where ``settle`` takes ``tables, cache, data, n, opened, scratch, ids, out`` and
        gives the new ``out``: it changes the ids of a block that was emitted, and the places in ``scratch.emitted``;
        negative as of ``unseen``.
    note_first, mark_firsts : callable
        Where the first chunk of a row has ids of its own: :mod:`numba_nlp.kernels.segment.row_firsts`.
    """
    block = inlined(specialise(emit_block, f"_emit_block_of_{name}", solve_unseen=unseen, mark_firsts=mark_firsts))
    settled = settle if settle_function is None else settle_function(name, unseen)
    parts = {"fill_spans": fill_spans, "emit_block": block, "begin_row": begin_row, "settle": settled}
    return compiled(specialise(encode_rows, name, **parts, note_first=note_first))
