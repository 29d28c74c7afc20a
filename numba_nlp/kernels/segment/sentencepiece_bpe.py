"""BPE over characters, as sentencepiece and ``tokenizer.json`` files with byte fallback do it: text to ids.

The rule (Sennrich, Haddow, Birch 2016; Kudo, Richardson 2018): from characters and user-defined symbols on, of all
adjacent pairs whose text is a piece the one with the highest score merges, the leftmost among equals, until none does.
User-defined symbols are matched first, the longest at each place, and never merge. An unused piece may be made and is
taken apart again. A character that is no piece becomes an unknown id (one for a run of them), or an id for each byte.

Chunks of up to 64 symbols are merged by the lanes of :mod:`numba_nlp.kernels.segment.merge`; longer ones by
:mod:`numba_nlp.kernels.segment.merge_list`, a stretch after the other: why that is exact for any merge list is told in
:mod:`numba_nlp.kernels.segment.merge_long`, and holds for equal ranks as well, because it needs only that the next step
among some symbols depends on nothing but them. (Lists by merge number, which are linear, would need that no two merges
have the same rank and that each comes after those that make its parts; vocabularies with a piece for every run of
spaces, all of one score, break both.)

Twin: ``numba_nlp.reference.segment.sentencepiece_bpe``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.lanes import FEW, MANY, NO_KEY
from numba_nlp.kernels.segment.bridge import fill_spans_bridge
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.merge import AFTER, BEFORE, first_no_key, merge_once
from numba_nlp.kernels.segment.merge_list import join_by_heap, start_list
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import (
    BLOCK,
    FIRST_TIED,
    OVERLAP,
    PREFIX_SYMBOL,
    STRETCH,
    UNIQUE_PRODUCTS,
    UNKNOWN,
    UNKNOWN_BYTES,
    UNKNOWN_FUSED,
    UNKNOWN_ID,
    UNKNOWN_POLICY,
    UNUSED,
)
from numba_nlp.kernels.tables.double_array import ROOT, longest_prefix, step
from numba_nlp.kernels.tables.hashing import table_bits
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL, guess_merge, number_bits
from numba_nlp.kernels.words import ALL_ONES, peek, poke, shift_right, trailing_zeros, unlikely

ZERO = np.uint64(0)
ONE = np.uint64(1)
#: Bytes of text that are merged without a look where they could be cut.
SHORT = 24


@inlined
def fill_symbols(tables, text, position, stop, limit, symbols, starts, n):
    """Read characters and user-defined symbols.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to read from, end of the chunk.
    limit : int64
        Symbols at most.
    symbols : int32[limit]
        Written from ``n`` on.
    starts : int64[limit + 1]
        Written from ``n`` on: where each symbol starts, and after the last one the place after it.
    n : int64
        Symbols there are.

    Returns
    -------
    n, position : int64, int64
        Symbols there are now, and the place after the last one.
    """
    character_index, character_symbols = tables.character_index, tables.character_symbols
    user_units = tables.user_units
    while position < stop and n < limit:
        poke(starts, n, position)
        byte = np.int64(peek(text, position))
        if user_units.size != 0 and step(user_units, ROOT, byte) >= 0:
            length, symbol = longest_prefix(user_units, text, position, stop)
            if length > 0:
                poke(symbols, n, np.int32(symbol))
                n += 1
                position += length
                continue
        if byte < 0x80:
            poke(symbols, n, peek(character_symbols, byte))
            position += 1
        else:
            code_point = code_point_at(text, position)
            block = np.int64(peek(character_index, code_point >> 7))
            poke(symbols, n, peek(character_symbols, (block << 7) | (code_point & 127)))
            position += encoded_length(code_point)
        n += 1
    poke(starts, n, position)
    return n, position


@kernel
def emit_unknown(tables, text, start, stop, was_unknown, ids, token_ends, out):
    """Ids of an unknown character.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[n]
    start, stop : int64
        The character.
    was_unknown : bool
        Whether the symbol before was unknown as well.
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    int64
        Place after the last id.
    """
    if tables.flags[UNKNOWN_POLICY] == UNKNOWN_BYTES:
        for place in range(start, stop):
            ids[out] = tables.byte_ids[text[place]]
            if token_ends.size != 0:
                token_ends[out] = place + 1
            out += 1
        return out
    if was_unknown and tables.flags[UNKNOWN_POLICY] == UNKNOWN_FUSED:
        if token_ends.size != 0:
            token_ends[out - 1] = stop
        return out
    ids[out] = np.int32(tables.flags[UNKNOWN_ID])
    if token_ends.size != 0:
        token_ends[out] = stop
    return out + 1


@kernel
def emit_special(tables, text, symbol, start, stop, was_unknown, ids, token_ends, out):
    """Ids of a symbol that has none of its own; arguments as of :func:`emit_symbol`."""
    number = np.int64(tables.symbol_ids[symbol])
    if number == UNKNOWN:
        return emit_unknown(tables, text, start, stop, was_unknown, ids, token_ends, out), True
    unused = UNUSED - number
    first, last = np.int64(tables.unused_offsets[unused]), np.int64(tables.unused_offsets[unused + 1])
    # a symbol put before the text is a character without bytes
    missing = np.int64(0)
    for part in range(first, last):
        missing += tables.unused_parts[2 * part + 1]
    for place in range(start, stop):
        missing -= np.int64(text[place] & 0xC0 != 0x80)
    for part in range(first, last):
        number = np.int64(tables.symbol_ids[tables.unused_parts[2 * part]])
        end = start
        for _ in range(tables.unused_parts[2 * part + 1] - missing):
            # only parts that are not those of the symbol go on to its end
            if end < stop:
                end += encoded_length(code_point_at(text, end))
        missing = np.int64(0)
        if number == UNKNOWN:
            out = emit_unknown(tables, text, start, end, was_unknown, ids, token_ends, out)
        else:
            ids[out] = np.int32(number)
            if token_ends.size != 0:
                token_ends[out] = end
            out += 1
        was_unknown = number == UNKNOWN
        start = end
    return out, was_unknown


@inlined
def emit_symbol(tables, text, symbol, start, stop, was_unknown, ids, token_ends, out):
    """Ids of a symbol.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[n]
    symbol, start, stop : int64
        A symbol and its bytes in ``text``.
    was_unknown : bool
        Whether the symbol before was an unknown character.
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    out, was_unknown : int64, bool
    """
    number = peek(tables.symbol_ids, symbol)
    if unlikely(number < 0):
        return emit_special(tables, text, symbol, start, stop, was_unknown, ids, token_ends, out)
    ids[out] = number
    if token_ends.size != 0:
        token_ends[out] = stop
    return out + 1, False


@kernel
def leftmost_tied(merge_ranks, keys, n, best):
    """Of all keys whose merge has the rank of the smallest one, that of the leftmost pair.

    Parameters
    ----------
    merge_ranks : int32[M]
    keys : uint32[n]
        ``merge number << 6 | lane``, or a number too large.
    n : int64
    best : uint32
        The smallest key.

    Returns
    -------
    uint32
    """
    rank = merge_ranks[np.int64(best) >> 6]
    for lane in range(n):
        merge = np.int64(keys[lane]) >> 6
        if merge < merge_ranks.size and merge_ranks[merge] == rank:
            return keys[lane]
    return best


@inlined
def merge_lanes(tables, n, scratch):
    """Merge the first ``n`` symbols of ``scratch.symbols``.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    n : int64
        ``2 <= n <= 64``.
    scratch : SentencePieceBpeScratch

    Returns
    -------
    uint64
        Bit ``i`` set: a symbol starts in lane ``i`` and is ``scratch.symbols[i]``.
    """
    symbols, keys = scratch.symbols, scratch.keys
    merge_table, merge_pairs, merge_symbols = tables.merge_table, tables.merge_pairs, tables.merge_symbols
    size_bits, bits = table_bits(merge_table.size), number_bits(merge_pairs.size)
    no_key = first_no_key(merge_pairs.size)
    first_tied = np.int64(tables.flags[FIRST_TIED]) << 6
    unique = tables.flags[UNIQUE_PRODUCTS] != 0
    before = np.int64(NO_SYMBOL)
    here = np.int64(peek(symbols, 0))
    best = NO_KEY
    for i in range(n - 1):
        after = np.int64(peek(symbols, i + 1))
        key = np.uint32(((guess_merge(merge_table, size_bits, bits, here, after) << 6) | i) & 0xFFFFFFFF)
        poke(keys, i, key)
        best = min(best, key)
        poke(symbols, BEFORE + i, np.int32(before))
        poke(symbols, AFTER + i, peek(symbols, i + 2) if i < n - 2 else np.int32(NO_SYMBOL))
        before, here = here, after
    poke(symbols, BEFORE + n - 1, np.int32(before))
    for i in range(n - 1, FEW if n <= FEW else MANY):
        poke(keys, i, NO_KEY)
    # what stands after the last symbol
    poke(symbols, np.int64(MANY), np.int32(NO_SYMBOL))
    alive = shift_right(ALL_ONES, 64 - n)
    while best < no_key:
        if unlikely(np.int64(best) >= first_tied):
            best = leftmost_tied(tables.merge_ranks, keys, n, best)
        best, alive = merge_once(merge_table, merge_pairs, merge_symbols, unique, n, symbols, 0, keys, 0, best, alive)
    return alive


@inlined
def segment_chunk(tables, text, start, stop, prefix, scratch, ids, token_ends, out):
    """Ids of one chunk.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The chunk, ``start < stop``.
    prefix : int64
        A symbol to put before the text, of no bytes, or -1.
    scratch : SentencePieceBpeScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id. Negative when the lists of the scratch are too short, which takes pieces of more than
        ``OVERLAP`` characters or a vocabulary made for it: minus the capacity that is enough.
    """
    n = np.int64(0)
    if prefix >= 0:
        poke(scratch.symbols, np.int64(0), np.int32(prefix))
        poke(scratch.lane_starts, np.int64(0), start)
        n = np.int64(1)
    n, position = fill_symbols(tables, text, start, stop, MANY, scratch.symbols, scratch.lane_starts, n)
    if unlikely(position < stop):
        return segment_long(tables, text, start, stop, prefix, scratch, ids, token_ends, out)
    alive = ONE
    if n > 1:
        alive = merge_lanes(tables, n, scratch)
    was_unknown = False
    lane = np.int64(0)
    while alive != ZERO:
        alive &= alive - ONE
        following = min(trailing_zeros(alive), n)
        out, was_unknown = emit_symbol(
            tables, text, np.int64(peek(scratch.symbols, lane)), peek(scratch.lane_starts, lane),
            peek(scratch.lane_starts, following), was_unknown, ids, token_ends, out,
        )  # fmt: skip
        lane = following
    return out


@kernel
def segment_long(tables, text, start, stop, prefix, scratch, ids, token_ends, out):
    """Ids of a chunk of any length, by lists; arguments and result as of :func:`segment_chunk`."""
    symbols, starts = scratch.list_symbols, scratch.list_starts
    limit = min(np.int64(STRETCH), np.int64(symbols.size))
    first_out = out
    position = start
    expected = np.int64(-1)
    was_unknown = False
    is_first = True
    while True:
        n = np.int64(0)
        if is_first and prefix >= 0:
            symbols[0] = prefix
            starts[0] = position
            n = np.int64(1)
        n, end = fill_symbols(tables, text, position, stop, limit, symbols, starts, n)
        is_last = end == stop
        start_list(
            tables.merge_table, tables.merge_pairs, n, symbols, scratch.list_following, scratch.list_previous,
            scratch.list_merges,
        )  # fmt: skip
        join_by_heap(
            tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.merge_ranks, n, symbols,
            scratch.list_following, scratch.list_previous, scratch.list_merges, scratch.heap,
        )  # fmt: skip
        keep = n if is_last else n - OVERLAP
        i = np.int64(0)
        if expected < 0 or symbols[0] == expected:
            while i < keep:
                following = np.int64(scratch.list_following[i])
                out, was_unknown = emit_symbol(
                    tables, text, np.int64(symbols[i]), starts[i], starts[following], was_unknown, ids, token_ends, out
                )
                i = following
            if is_last:
                return out
        if 0 < i < n:
            expected = np.int64(symbols[i])
            position = starts[i]
            is_first = False
        else:
            # no boundary to go on from: all at once
            needed = stop - start + 1
            if symbols.size < needed:
                return -needed
            limit = needed
            out, position, expected, was_unknown, is_first = first_out, start, np.int64(-1), False, True


@kernel
def segment_from(tables, text, start, stop, prefix, scratch, ids, token_ends, out):
    """Ids of a row of text, with or without a symbol before it.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The row.
    prefix : int64
        A symbol to put before a row that is not empty, or -1.
    scratch : SentencePieceBpeScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    int64
        Place after the last id, or a negative status as of :func:`segment_chunk`.
    """
    starts, ends = scratch.cut_starts, scratch.cut_ends
    while start < stop:
        if stop - start <= SHORT:
            # cutting costs more than it saves
            starts[0], ends[0] = start, stop
            n, start = np.int64(1), stop
        else:
            n, start = fill_spans_bridge(tables, text, start, stop, starts, ends, 0, BLOCK)
        for i in range(n):
            out = segment_chunk(tables, text, starts[i], ends[i], prefix, scratch, ids, token_ends, out)
            if out < 0:
                return out
            prefix = np.int64(-1)
    return out


@kernel
def segment(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of a row of normalised text.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The row.
    scratch : SentencePieceBpeScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, at most one a byte, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id, or a negative status as of :func:`segment_chunk`.
    """
    return segment_from(tables, text, start, stop, np.int64(-1), scratch, ids, token_ends, out)


@kernel
def segment_raw(tables, data, start, stop, scratch, ids, token_ends, out):
    """Ids of a row of raw text, for vocabularies whose normaliser escapes spaces, puts one in front, and no more.

    Parameters
    ----------
    tables : SentencePieceBpeTables
        Compiled with ``escape_whitespaces``; ``flags[PREFIX_SYMBOL]`` is the symbol to put in front, or -1.
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The row.
    scratch : SentencePieceBpeScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, at most one a byte and one more, and the place in ``data`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id, or a negative status as of :func:`segment_chunk`.
    """
    prefix = np.int64(tables.flags[PREFIX_SYMBOL])
    return segment_from(tables, data, start, stop, prefix, scratch, ids, token_ends, out)
