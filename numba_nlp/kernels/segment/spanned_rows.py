"""Rows of text to ids and spans at once: a word cache that also knows where in its chunk each token stands.

As :mod:`numba_nlp.kernels.segment.cached_rows`, with a cache of its own, in which what is kept of a token is its id and
the range in its chunk that it comes from, in the unit of the spans. So a chunk that was met before gives its spans by
additions: to the place of the chunk in its row. How text is normalised matters only for chunks that are solved, with
alignment. It is right wherever ids of chunks do not depend on what stands around them, and where ranges of tokens lie
in their chunk.

What is kept of a chunk of up to 15 bytes is one element a token: the id in bits 0-22, where the token begins in bits
23-26, where it ends in bits 27-30. Of a longer chunk it is two: the id, and ``start << 16 | end``. The ids of a chunk
may begin with a number from ``MARK`` on, which is no id (:mod:`numba_nlp.kernels.segment.sentencepiece_unigram`); such
an element has bit 31 set, and the other bits of the number; its range is empty.

Some spans of a segment may have to be found by other means: the segment is noted then (``left``), and its ids are right
all the same.

Twins: of the row encoders those of the families' span kernels; here ``numba_nlp.reference.segment.spanned_rows`` for
what is kept.

Twin: ``numba_nlp.reference.segment.spanned_rows``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import cached_rows
from numba_nlp.kernels.segment.cached_loops import BLOCK, make_keys
from numba_nlp.kernels.segment.spanned_rows_memory import END_SHIFT, MARK, MOST_IDS, PLACE_BITS, START_SHIFT
from numba_nlp.kernels.segment.spans import ASCII_AHEAD, UNIT_CHAR, ascii_end, count_chars
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.tables.hashing import equal_bytes
from numba_nlp.kernels.tables.word_cache import (
    FIRST_SHORT,
    KEY_BITS,
    LONG_LIMIT,
    MISSES,
    SHORT_IDS,
    bring_home,
    grow_if_full,
    keep_long,
    keep_short,
)
from numba_nlp.kernels.words import VECTOR, peek, poke, raw_store64, shift_right, unlikely

__all__ = [
    "encode_spanned_rows",
    "enter_spans",
    "place_segments",
    "recall_spans",
    "spanned_function",
    "to_characters",
]

_SIGN = 1 << 31
_MARKED = np.uint64(_SIGN)
_ID = np.uint64(MOST_IDS - 1)
_ID_PAIR = np.uint64((MOST_IDS - 1) << 32 | (MOST_IDS - 1))
_PLACE = np.uint64(PLACE_BITS)
_LIMIT = np.uint64(MARK - 1)
_ZERO = np.uint64(0)


@kernel
def place_segments(data, row_starts, seg_starts, row_first_segment, unit, places):
    """Where segments begin in their rows.

    Parameters
    ----------
    data : uint8[n]
        Valid UTF-8.
    row_starts : int64[rows]
    seg_starts, row_first_segment : int64[s], int64[rows + 1]
        Segments of the rows; those of a template start at -1.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR`` of :mod:`numba_nlp.kernels.segment.spans`.
    places : int64[s]
        Written: bytes or characters of the row before the segment; 0 for those of a template.

    Returns
    -------
    int64
        0.
    """
    for row in range(row_starts.size):
        counted, characters = row_starts[row], np.int64(0)
        for segment in range(row_first_segment[row], row_first_segment[row + 1]):
            start = seg_starts[segment]
            if start < 0:
                places[segment] = 0
                continue
            if unit != UNIT_CHAR:
                places[segment] = start - row_starts[row]
                continue
            if start < counted:
                counted, characters = row_starts[row], np.int64(0)
            characters += count_chars(data, counted, start)
            counted = start
            places[segment] = characters
    return np.int64(0)


@kernel
def to_characters(data, start, n, places):
    """Turn places in a chunk from bytes into characters.

    Parameters
    ----------
    data : uint8[m]
        Valid UTF-8.
    start : int64
        Where the chunk begins.
    n : int64
        How many of the places.
    places : int64[k]
        Changed: bytes from ``start`` on become the number of characters that begin before.

    Returns
    -------
    int64
        0.
    """
    byte, character = np.int64(0), np.int64(0)
    for i in range(n):
        while byte < places[i]:
            character += np.int64(data[start + byte] & 0xC0 != 0x80)
            byte += 1
        while byte > places[i]:
            byte -= 1
            character -= np.int64(data[start + byte] & 0xC0 != 0x80)
        places[i] = character
    return np.int64(0)


@kernel
def enter_spans(cache, data, start, n, low, high, home, ids, n_ids, memory):
    """Enter the ids of a chunk with their ranges, if the cache takes such.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home.
    ids : int32[k]
        The first ``n_ids``, all below ``MOST_IDS``; the first one may be a mark.
    n_ids : int64
    memory : SpanMemory
        With ``starts`` and ``ends``, of which none is beyond the chunk; ``packed`` is written.

    Returns
    -------
    int64
        0.
    """
    cache.fill[MISSES] += 1
    packed = memory.packed
    if n > LONG_LIMIT or 2 * n_ids > packed.size:
        return np.int64(0)
    if high >= FIRST_SHORT:
        if n_ids <= SHORT_IDS:
            for i in range(n_ids):
                packed[i] = np.int32(ids[i] | memory.starts[i] << START_SHIFT | memory.ends[i] << END_SHIFT)
            if n_ids > 0 and ids[0] >= MARK:
                packed[0] = np.int32((np.int64(ids[0]) ^ MARK) - _SIGN)
            keep_short(cache, low, high, home, packed, np.int64(0), n_ids)
        return np.int64(0)
    for i in range(n_ids):
        packed[2 * i] = ids[i]
        packed[2 * i + 1] = np.int32(memory.starts[i] << 16 | memory.ends[i])
    keep_long(cache, low, high, home, data, start, n, packed, np.int64(0), 2 * n_ids)
    return np.int64(0)


if VECTOR:

    @inlined
    def _put_pair(word, base, ids, span_starts, span_ends, out):
        """Two tokens from two elements of an entry."""
        raw_store64(ids, out, word & _ID_PAIR)
        poke(span_starts, out, base + np.int64(shift_right(word, START_SHIFT) & _PLACE))
        poke(span_ends, out, base + np.int64(shift_right(word, END_SHIFT) & _PLACE))
        poke(span_starts, out + 1, base + np.int64(shift_right(word, 32 + START_SHIFT) & _PLACE))
        poke(span_ends, out + 1, base + np.int64(shift_right(word, 32 + END_SHIFT) & _PLACE))

    @inlined
    def _put_four(third, fourth, count, base, ids, span_starts, span_ends, out):
        """Up to four tokens that an entry holds itself; what is written behind the last one does no harm."""
        _put_pair(third, base, ids, span_starts, span_ends, out)
        if unlikely(count > 2):
            _put_pair(fourth, base, ids, span_starts, span_ends, out + 2)

else:

    @kernel
    def _put_four(third, fourth, count, base, ids, span_starts, span_ends, out):
        """Up to four tokens that an entry holds itself."""
        for k in range(count):
            word = shift_right(third if k < 2 else fourth, 32 * (k & 1))
            ids[out + k] = np.int32(word & _ID)
            span_starts[out + k] = base + np.int64(shift_right(word, START_SHIFT) & _PLACE)
            span_ends[out + k] = base + np.int64(shift_right(word, END_SHIFT) & _PLACE)


@inlined
def _put_short(cache, home, base, ids, span_starts, span_ends, out):
    """Write ids and spans of an entry of a short chunk; gives their number."""
    at = 4 * home
    count = np.int64(shift_right(peek(cache.entries, at + 1), 60))
    third = peek(cache.entries, at + 2)
    if count <= 4:
        _put_four(third, peek(cache.entries, at + 3), count, base, ids, span_starts, span_ends, out)
        if unlikely(third & _MARKED != _ZERO):
            poke(ids, out, np.int32(np.int64(third & _LIMIT) | MARK))
            poke(span_starts, out, base)
            poke(span_ends, out, base)
    else:
        place = np.int64(third)
        for k in range(count):
            element = np.int64(peek(cache.arena_ids, place + k))
            poke(ids, out + k, np.int32(element & (MOST_IDS - 1)))
            poke(span_starts, out + k, base + (element >> START_SHIFT & PLACE_BITS))
            poke(span_ends, out + k, base + (element >> END_SHIFT & PLACE_BITS))
        if peek(cache.arena_ids, place) < 0:
            poke(ids, out, np.int32(np.int64(peek(cache.arena_ids, place)) & (MARK - 1) | MARK))
            poke(span_starts, out, base)
            poke(span_ends, out, base)
    return count


@kernel
def _put_long(cache, home, data, start, n, base, ids, span_starts, span_ends, out):
    """Write ids and spans of an entry of a long chunk; -1 when it is that of another one."""
    third = cache.entries[4 * home + 2]
    if not equal_bytes(cache.arena_bytes, np.int64(shift_right(third, 32)), data, start, n):
        return np.int64(-1)
    place = np.int64(third & np.uint64(0xFFFFFFFF))
    count = np.int64(cache.entries[4 * home + 3]) >> 1
    for k in range(count):
        element = np.int64(cache.arena_ids[place + 2 * k + 1])
        ids[out + k] = cache.arena_ids[place + 2 * k]
        span_starts[out + k] = base + (element >> 16)
        span_ends[out + k] = base + (element & 0xFFFF)
    return count


@kernel
def recall_spans(cache, data, start, n, low, high, home, base, ids, span_starts, span_ends, out):
    """Ids and spans of one chunk, from wherever the cache holds it.

    Parameters
    ----------
    cache : WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home.
    base : int64
        Its place in the row.
    ids, span_starts, span_ends : int32[k], int64[k], int64[k]
        Written from ``out`` on; ``SPARE_IDS`` elements behind the last one may be overwritten.
    out : int64

    Returns
    -------
    int64
        Number of ids; -1 when the cache does not hold the chunk.
    """
    if not bring_home(cache, low, high, home):
        return np.int64(-1)
    if high >= FIRST_SHORT:
        return _put_short(cache, home, base, ids, span_starts, span_ends, out)
    return _put_long(cache, home, data, start, n, base, ids, span_starts, span_ends, out)


@inlined
def _put_hits(cache, data, first_span, n, scratch, memory, ids, span_starts, span_ends, out):
    """Ids and spans of chunks as long as each is found at its home: the first that is not, and the new ``out``."""
    entries = cache.entries
    lows, highs, homes, emitted, bases = scratch.low, scratch.high, scratch.homes, scratch.emitted, memory.bases
    for i in range(first_span, n):
        poke(emitted, i, out)
        home = peek(homes, i)
        high = peek(highs, i)
        differs = (peek(entries, 4 * home) ^ peek(lows, i)) | ((peek(entries, 4 * home + 1) ^ high) & KEY_BITS)
        if unlikely(differs != _ZERO):
            return i, out
        if unlikely(high < FIRST_SHORT):
            start = peek(scratch.starts, i)
            count = _put_long(
                cache, home, data, start, peek(scratch.ends, i) - start, peek(bases, i), ids, span_starts, span_ends,
                out,
            )  # fmt: skip
            if count < 0:
                return i, out
        else:
            count = _put_short(cache, home, peek(bases, i), ids, span_starts, span_ends, out)
        out += count
    return n, out


def put_block(tables, cache, data, n, unit, scratch, memory, ids, span_starts, span_ends, out):
    """Ids and spans of the ``n`` chunks of a block: the code that :func:`spanned_function` specialises.

    Gives the place after the last id, or what the function that solves gave when that is negative.
    """
    grow_if_full(cache)
    make_keys(cache, data, n, scratch)
    mark_firsts(cache, data, scratch)  # noqa: F821  bound by `spanned_function`, as `solve_spans`
    memory.unknown[0] = 0
    span = np.int64(0)
    while True:
        span, out = _put_hits(cache, data, span, n, scratch, memory, ids, span_starts, span_ends, out)
        if span >= n:
            break
        start = scratch.starts[span]
        length = scratch.ends[span] - start
        low, high, home = scratch.low[span], scratch.high[span], scratch.homes[span]
        base = memory.bases[span]
        n_ids = recall_spans(cache, data, start, length, low, high, home, base, ids, span_starts, span_ends, out)
        if n_ids < 0:
            found = ids[out:]
            n_ids = solve_spans(tables, data, start, length, low, high, scratch, memory, found)  # noqa: F821
            if n_ids < 0:
                return n_ids
            if n_ids > 0 and memory.starts[0] < 0:
                memory.unknown[0] += 1
                memory.unknown[memory.unknown[0]] = span
            else:
                if unit == UNIT_CHAR:
                    to_characters(data, start, n_ids, memory.starts)
                    to_characters(data, start, n_ids, memory.ends)
                enter_spans(cache, data, start, length, low, high, home, found, n_ids, memory)
                for k in range(n_ids):
                    span_starts[out + k] = base + memory.starts[k]
                    span_ends[out + k] = base + memory.ends[k]
        out += n_ids
        span += 1
    scratch.emitted[n] = out
    return out


@kernel
def _take_gaps_in(n, scratch, memory, span_starts, span_ends):
    """Let the token that begins with the space of a chunk begin with the run of spaces before: the first one counts."""
    for i in range(n):
        gap = memory.gaps[i]
        if gap == 0:
            continue
        for token in range(scratch.emitted[i], scratch.emitted[i + 1]):
            if span_starts[token] != memory.bases[i]:
                break
            span_starts[token] -= gap
            if span_ends[token] <= memory.bases[i] + 1:
                span_ends[token] -= gap
    return np.int64(0)


@inlined
def settle(tables, cache, data, n, opened, unit, scratch, memory, ids, span_starts, span_ends, out):
    """Change ids and spans of a block by what depends on more than one chunk: the default, of families without such.

    Parameters
    ----------
    tables, cache, data, n, opened, unit, scratch, memory, ids, span_starts, span_ends, out
        As of :func:`numba_nlp.kernels.segment.spanned_families.settle_spans`; nothing is read or written.

    Returns
    -------
    int64
        ``out``
    """
    return out


@kernel
def _leave_rows(pending, row, last_row, offsets, memory, left):
    """Note the rows of the block with chunks whose spans are not known; ``offsets`` still holds numbers of chunks."""
    for k in range(1, memory.unknown[0] + 1):
        chunk = memory.unknown[k]
        other = pending
        while other < row and offsets[other + 1] <= chunk:
            other += 1
        if other < last_row:
            left[other] = 1
    return np.int64(0)


def encode_spanned_rows(
    tables, cache, data, starts, ends, fixed, places, first_row, last_row, unit, scratch, memory, ids, offsets,
    span_starts, span_ends, left, out,
):  # fmt: skip
    """Encode rows of text, with spans: the code that :func:`spanned_function` compiles.

    Parameters
    ----------
    tables, cache : NamedTuple of arrays, WordCache
        The cache holds what :func:`enter_spans` entered for the same ``unit``.
    data : uint8[m]
        Valid UTF-8.
    starts, ends, fixed : int64[rows], int64[rows], int32[rows] or int32[0]
        As of :func:`numba_nlp.kernels.segment.cached_rows.encode_rows`; a given id of a template starts at -1.
    places : int64[rows]
        Where the row begins in what spans count from, in their unit.
    first_row, last_row : int64
        Rows to encode.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR`` of :mod:`numba_nlp.kernels.segment.spans`.
    scratch : Scratch
        Of the family.
    memory : SpanMemory
    ids : int32[k]
        Written from ``out`` on, with room as for :func:`numba_nlp.kernels.segment.cached_rows.encode_rows`.
    offsets : int64[rows + 1]
        ``offsets[r + 1]`` becomes the place after the last id of row ``r``.
    span_starts, span_ends : int64[k], int64[k]
        Written as ``ids``; -1, -1 for given ids of a template.
    left : uint8[rows]
        Becomes 1 where spans of the row are not known.
    out : int64

    Returns
    -------
    int64
        As of :func:`numba_nlp.kernels.segment.cached_rows.encode_rows`.
    """
    n = np.int64(0)
    pending, pending_out, row = first_row, out, first_row
    position = np.int64(-1)
    # place in bytes and in the unit of spans up to which the row was counted, and whether it has no other bytes than
    # ASCII from there; such lie from `plain_from` to `plain_to`
    counted, place, in_bytes = np.int64(0), np.int64(0), True
    behind = np.int64(-1)
    plain_from, plain_to = np.int64(0), np.int64(0)
    any_gap = False
    while True:
        stop_id = np.int64(-1)
        while row < last_row:
            if fixed.size != 0 and fixed[row] >= 0:
                stop_id = np.int64(fixed[row])
                break
            if position < 0:
                position = begin_row(tables, data, starts[row], ends[row])  # noqa: F821
                counted, place, in_bytes, behind = starts[row], places[row], True, np.int64(-1)
                if unit == UNIT_CHAR:
                    if starts[row] < plain_from or ends[row] > plain_to:
                        plain_from = starts[row]
                        plain_to = ascii_end(
                            data, plain_from, min(max(ends[row], plain_from + ASCII_AHEAD), np.int64(data.size))
                        )
                    in_bytes = ends[row] <= plain_to
            before, at_start = n, position == starts[row]
            n, position = fill_spans(  # noqa: F821
                tables, data, position, ends[row], scratch.starts, scratch.ends, n, BLOCK
            )
            if at_start and n > before and (fixed.size == 0 or fixed[row] == -1):
                note_first(scratch, before)  # noqa: F821
            if in_bytes:
                shift = place - counted
                for i in range(before, n):
                    poke(memory.bases, i, peek(scratch.starts, i) + shift)
            else:
                for i in range(before, n):
                    start = peek(scratch.starts, i)
                    place += count_chars(data, counted, start)
                    counted = start
                    poke(memory.bases, i, place)
            if TAKES_GAPS:  # noqa: F821
                for i in range(before, n):
                    gap = scratch.starts[i] - behind if behind >= 0 else np.int64(0)
                    behind = scratch.ends[i]
                    memory.gaps[i] = gap
                    any_gap |= gap != 0
            if position < ends[row]:
                break
            offsets[row + 1] = n
            row += 1
            position = np.int64(-1)
        out = put_block(tables, cache, data, n, unit, scratch, memory, ids, span_starts, span_ends, out)
        if any_gap and out >= 0:
            _take_gaps_in(n, scratch, memory, span_starts, span_ends)
            any_gap = False
        if out >= 0 and n > 0:
            opened = offsets[row] if row > pending else np.int64(-1)
            out = settle(tables, cache, data, n, opened, unit, scratch, memory, ids, span_starts, span_ends, out)
        if out < 0:
            scratch.progress[0] = pending
            scratch.progress[1] = pending_out
            return out
        if unlikely(memory.unknown[0] != 0):
            _leave_rows(pending, row, last_row, offsets, memory, left)
        for closed in range(pending, row):
            offsets[closed + 1] = scratch.emitted[offsets[closed + 1]]
        if row > pending:
            pending_out = offsets[row]
        n = np.int64(0)
        if stop_id >= 0:
            ids[out] = np.int32(stop_id)
            span_starts[out] = span_ends[out] = -1
            if starts[row] >= 0:
                span_starts[out] = places[row]
                width = ends[row] - starts[row]
                if unit == UNIT_CHAR:
                    width = count_chars(data, starts[row], ends[row])
                span_ends[out] = places[row] + width
            out += 1
            offsets[row + 1] = out
            row += 1
            pending_out = out
        pending = row
        if row >= last_row:
            return out


def spanned_function(
    name: str,
    fill_spans: Any,
    solve_spans: Any,
    *,
    begin_row: Any = cached_rows.begin_row,
    settle: Any = settle,
    note_first: Any = cached_rows.note_first,
    mark_firsts: Any = cached_rows.mark_firsts,
    takes_gaps: bool = False,
) -> Any:
    """Build and compile :func:`encode_spanned_rows` for one way to cut text.

    Parameters
    ----------
    name : str
        Of the kernel.
    fill_spans : callable
        As of :func:`numba_nlp.kernels.segment.cached_rows.rows_function`, and so are ``begin_row``, ``note_first`` and
        ``mark_firsts``.
    solve_spans : callable
        ``(tables, data, start, n, low, high, scratch, memory, ids) -> number of ids``, or negative when the scratch is
        too small: writes ids from 0 on, and where in the chunk they come from, in bytes, to ``memory.starts`` and
        ``memory.ends``. A negative first start: spans are not known, and the chunk is not kept.
    settle : callable
        Changes ids and spans of a block, with arguments as of :func:`settle`; gives the place after the last id, or
        negative as of ``solve_spans``.
    takes_gaps : bool
        Whether the bytes between two chunks of a row are spaces that belong to the one at the beginning of the second.
    """
    block = inlined(specialise(put_block, f"_put_block_of_{name}", solve_spans=solve_spans, mark_firsts=mark_firsts))
    hooks = {"begin_row": begin_row, "settle": settle, "note_first": note_first}
    made = specialise(encode_spanned_rows, name, fill_spans=fill_spans, put_block=block, TAKES_GAPS=takes_gaps, **hooks)
    return kernel(made)
