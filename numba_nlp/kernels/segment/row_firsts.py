"""Chunks that begin a row, where they have other ids than the same bytes elsewhere: keys of their own.

SentencePiece puts a space before a text, so that the ``to`` of ``"to be"`` is not the ``to`` of ``"(to)"``. Which
chunks begin a row is noted while the block is filled; when its keys are made those of these chunks are changed. So they
are found and kept like all others, by comparing all of their bytes, and what solves a chunk tells them by the key.

Twin: ``numba_nlp.reference.segment.row_firsts``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.kernels.tables.hashing import hash_bytes
from numba_nlp.kernels.tables.word_cache import (
    BITS,
    FIRST_SHORT,
    LONG_FLAG,
    LONG_LIMIT,
    MISSES,
    SHORT_IDS,
    SHORT_LIMIT,
    home_of,
    keep_long,
    keep_short,
)

__all__ = ["FIRSTS", "enter_marked", "is_first_of_row", "mark_firsts_of_rows", "note_first_of_row"]

ZERO = np.uint64(0)
#: In the keys of chunks that begin a row: a byte that no text holds behind those of a short chunk, a bit beside the
#: length of a long one.
FIRST_BYTE = np.uint64(0xFF << 48)
FIRST_BIT = np.uint64(1 << 54)


@inlined
def note_first_of_row(scratch, n):
    """Note that chunk ``n`` of the block begins a row.

    Parameters
    ----------
    scratch : Scratch
        ``firsts`` is written: the number of such chunks, and they.
    n : int64
    """
    count = scratch.firsts[0] + 1
    scratch.firsts[0] = count
    scratch.firsts[count] = n


@inlined
def mark_firsts_of_rows(cache, data, scratch):
    """Give the chunks that begin a row keys of their own, and forget which they are.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    scratch : Scratch
        ``low``, ``high``, ``homes`` are changed; ``firsts`` is emptied.
    """
    shift = 64 - cache.fill[BITS]
    for k in range(1, scratch.firsts[0] + 1):
        i = scratch.firsts[k]
        start = scratch.starts[i]
        n = scratch.ends[i] - start
        low, high = scratch.low[i], scratch.high[i]
        if n > LONG_LIMIT:
            low = ZERO
        elif n > SHORT_LIMIT:
            high |= FIRST_BIT
        elif n == SHORT_LIMIT:
            low, high = hash_bytes(data, start, start + n), LONG_FLAG | FIRST_BIT | np.uint64(n)
        else:
            high |= FIRST_BYTE
        scratch.low[i], scratch.high[i] = low, high
        scratch.homes[i] = home_of(low, high, shift)
    scratch.firsts[0] = 0


@inlined
def is_first_of_row(low, high, n):
    """Whether a key is one of those that :func:`mark_firsts_of_rows` makes.

    Parameters
    ----------
    low, high : uint64, uint64
    n : int64
        Bytes of the chunk.

    Returns
    -------
    bool
    """
    if n > LONG_LIMIT:
        return low == ZERO
    if n >= SHORT_LIMIT:
        return high < FIRST_SHORT and high & FIRST_BIT != ZERO
    return high & FIRST_BYTE == FIRST_BYTE


@inlined
def enter_marked(cache, data, start, n, low, high, home, ids, first, n_ids):
    """Enter the ids of a chunk whose key :func:`mark_firsts_of_rows` may have made, if the cache takes such.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home.
    ids : int32[k]
    first, n_ids : int64
        ``ids[first:first + n_ids]``.
    """
    cache.fill[MISSES] += 1
    if n <= LONG_LIMIT:
        if high < FIRST_SHORT:
            keep_long(cache, low, high, home, data, start, n, ids, first, n_ids)
        elif n_ids <= SHORT_IDS:
            keep_short(cache, low, high, home, ids, first, n_ids)


#: What :func:`numba_nlp.kernels.segment.cached_rows.rows_function` takes.
FIRSTS = {"note_first": note_first_of_row, "mark_firsts": mark_firsts_of_rows}
