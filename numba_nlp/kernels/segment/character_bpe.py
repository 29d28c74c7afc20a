"""BPE over the characters of words, with a mark at the end or the beginning of one: text to ids.

The rule (Sennrich, Haddow, Birch 2016): each character of a word is a symbol; the last one is another symbol than the
same character within the word, because a mark for the end of the word belongs to it (``</w>``), or the mark is a symbol
by itself behind it; inner characters may have a mark for that instead. Of all adjacent pairs that merge, the one with
the lowest rank goes first, the leftmost among equals. subword-nmt and CTRL merge all places of the best pair in one
pass; this is another order only where a merge of lower rank joins what one of higher rank makes (``IN_PASSES``).

What a symbol becomes depends on its place: the last one of a word has its own ids (``th@@`` and ``th``). A symbol may
fall into parts, where a vocabulary filter takes merges back, and a character without a symbol is unknown.

Twin: ``numba_nlp.reference.segment.character_bpe``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.lanes import MANY
from numba_nlp.kernels.segment.cached_rows import rows_function, unseen_function
from numba_nlp.kernels.segment.character_bpe_memory import (
    BYTE_CHARACTERS,
    END_SYMBOL,
    FORMS,
    IN_PASSES,
    PASSES_ALWAYS,
    PASSES_NEVER,
    UNKNOWN,
    UNKNOWN_FUSED,
    UNKNOWN_ID,
    WORDS,
    WORDS_BERT,
)
from numba_nlp.kernels.segment.character_words import fill_spaces, fill_white, fill_whole, next_word
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.dropout import DROP_EACH_STEP, join_with_dropout
from numba_nlp.kernels.segment.join_passes import join_in_passes
from numba_nlp.kernels.segment.merge_list import join_by_heap, start_list
from numba_nlp.kernels.segment.sentencepiece_bpe import merge_lanes
from numba_nlp.kernels.segment.window_words import fill_chunks
from numba_nlp.kernels.segment.wordpiece import next_word as next_bert_word
from numba_nlp.kernels.words import peek, poke, shift_right

__all__ = ["ENCODE_ROWS", "FILLS", "encode_unseen", "encode_words", "fill_characters", "segment", "solve_words"]

ZERO = np.uint64(0)
ONE = np.uint64(1)


@inlined
def fill_characters(tables, text, start, stop, limit, symbols, starts):
    """Read the characters of a word.

    Parameters
    ----------
    tables : CharacterBpeTables
    text : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The word, ``start < stop``.
    limit : int64
        Symbols at most.
    symbols, starts : int32[limit], int64[limit + 1]
        Written: each symbol and where it starts; after the last one the place after it.

    Returns
    -------
    int64
        Number of symbols; ``limit + 1`` when there are more.
    """
    index, numbers, forms = tables.character_index, tables.character_numbers, tables.character_forms
    of_bytes = tables.flags[BYTE_CHARACTERS] != 0
    position = start
    n = np.int64(0)
    while position < stop:
        if n == limit:
            return limit + 1
        poke(starts, n, position)
        code_point = np.int64(peek(text, position))
        following = position + 1
        if code_point >= 0x80 and not of_bytes:
            code_point = code_point_at(text, position)
            following = position + encoded_length(code_point)
        block = np.int64(peek(index, code_point >> 7))
        number = np.int64(peek(numbers, (block << 7) | (code_point & 127)))
        form = np.int64(position != start) | (np.int64(following >= stop) << 1)
        poke(symbols, n, peek(forms, number * FORMS + form))
        n += 1
        position = following
    if n > 1 and tables.flags[END_SYMBOL] >= 0:
        if n == limit:
            return limit + 1
        poke(symbols, n, np.int32(tables.flags[END_SYMBOL]))
        poke(starts, n, stop)
        n += 1
    poke(starts, n, stop)
    return n


@kernel
def emit_symbol(tables, text, symbol, start, stop, is_final, was_unknown, ids, token_ends, out):
    """Ids of a symbol.

    Parameters
    ----------
    tables : CharacterBpeTables
    text : uint8[m]
    symbol, start, stop : int64
        A symbol and its bytes in ``text``.
    is_final : bool
        Whether the word ends here.
    was_unknown : bool
        Whether the symbol before, in the same word, was unknown.
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    out, is_unknown : int64, bool
    """
    number = np.int64(tables.final_ids[symbol] if is_final else tables.symbol_ids[symbol])
    if number >= 0:
        ids[out] = np.int32(number)
        if token_ends.size != 0:
            token_ends[out] = stop
        return out + 1, False
    if number == UNKNOWN:
        if was_unknown and tables.flags[UNKNOWN_FUSED] != 0:
            if token_ends.size != 0:
                token_ends[out - 1] = stop
            return out, True
        ids[out] = np.int32(tables.flags[UNKNOWN_ID])
        if token_ends.size != 0:
            token_ends[out] = stop
        return out + 1, True
    parts = UNKNOWN - 1 - number
    end = start
    # never more than there is room for, whatever a file says: one a byte, and an empty one at the end of a word
    first, most = np.int64(tables.part_offsets[parts]), stop - start + np.int64(is_final)
    for part in range(first, min(np.int64(tables.part_offsets[parts + 1]), first + most)):
        number = np.int64(tables.part_ids[2 * part])
        for _ in range(tables.part_ids[2 * part + 1]):
            if end < stop:
                end += encoded_length(code_point_at(text, end))
        ids[out] = np.int32(number if number >= 0 else tables.flags[UNKNOWN_ID])
        if token_ends.size != 0:
            token_ends[out] = end
        out += 1
    return out, False


@kernel
def _segment_lanes(tables, text, n, scratch, ids, token_ends, out):
    """Ids of the ``n`` symbols in ``scratch.symbols``, at most ``MANY``."""
    symbols, starts = scratch.symbols, scratch.lane_starts
    alive = ONE
    if n > 1:
        alive = merge_lanes(tables, n, scratch)
    end_symbol = tables.flags[END_SYMBOL]
    last = np.int64(0)
    for i in range(n):
        if shift_right(alive, i) & ONE != ZERO:
            last = i
    has_end = end_symbol >= 0 and n > 1 and last == n - 1 and symbols[last] == end_symbol
    was_unknown = False
    i = np.int64(0)
    while i < n:
        following = i + 1
        while following < n and shift_right(alive, following) & ONE == ZERO:
            following += 1
        if has_end and i == n - 1:
            break
        is_final = following >= n or (has_end and following == n - 1)
        out, was_unknown = emit_symbol(
            tables, text, np.int64(symbols[i]), starts[i], starts[following], is_final, was_unknown, ids, token_ends,
            out,
        )  # fmt: skip
        i = following
    return out


@kernel
def _emit_list(tables, text, n, scratch, ids, token_ends, out):
    """Ids of the symbols that are left in the list of ``n``."""
    symbols, starts, following = scratch.list_symbols, scratch.list_starts, scratch.list_following
    end_symbol = tables.flags[END_SYMBOL]
    was_unknown = False
    i = np.int64(0)
    while i < n:
        after = np.int64(following[i])
        is_final = after >= n or (after == n - 1 and symbols[after] == end_symbol)
        out, was_unknown = emit_symbol(
            tables, text, np.int64(symbols[i]), starts[i], starts[after], is_final, was_unknown, ids, token_ends, out
        )
        if is_final:
            break
        i = after
    return out


@kernel
def segment(tables, text, start, stop, probability, state, scratch, ids, token_ends, out):
    """Ids of one word.

    Parameters
    ----------
    tables : CharacterBpeTables
    text : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The word, ``start < stop``.
    probability : float64
        With which merges are left out at random (BPE-dropout); 0 for all of them.
    state : uint64[3]
        As of :func:`numba_nlp.kernels.segment.dropout.join_with_dropout`; not used without dropout.
    scratch : CharacterBpeScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id; ``start - stop`` when the word is longer than the lists of the scratch.
    """
    passes = tables.flags[IN_PASSES]
    if probability <= 0.0 and passes != PASSES_ALWAYS:
        n = fill_characters(tables, text, start, stop, np.int64(MANY), scratch.symbols, scratch.lane_starts)
        if n <= MANY:
            return _segment_lanes(tables, text, n, scratch, ids, token_ends, out)
    symbols = scratch.list_symbols
    n = fill_characters(tables, text, start, stop, np.int64(symbols.size), symbols, scratch.list_starts)
    if n > symbols.size:
        return start - stop
    following, previous, merges = scratch.list_following, scratch.list_previous, scratch.list_merges
    start_list(tables.merge_table, tables.merge_pairs, n, symbols, following, previous, merges)
    if passes != PASSES_NEVER:
        join_in_passes(
            tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.merge_ranks, probability, n, state,
            symbols, following, previous, merges, scratch.heap, scratch.waiting,
        )  # fmt: skip
    elif probability > 0.0:
        join_with_dropout(
            tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.merge_ranks, DROP_EACH_STEP,
            probability, n, state, symbols, following, previous, merges, scratch.heap, scratch.waiting,
        )  # fmt: skip
    else:
        join_by_heap(
            tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.merge_ranks, n, symbols, following,
            previous, merges, scratch.heap,
        )  # fmt: skip
    return _emit_list(tables, text, n, scratch, ids, token_ends, out)


@kernel
def _put_spans(token_ends, n_ids, word_start, start, starts, ends, out):
    """Spans of the tokens of a word that stands in the text as it is, from places in ``token_ends``."""
    begin = word_start
    for i in range(n_ids):
        end = token_ends[i]
        starts[out + i] = begin - start
        ends[out + i] = end - start
        begin = end


@kernel
def _put_normalised_spans(scratch, n_ids, starts, ends, out):
    """Spans of the tokens of the word in ``scratch.text``."""
    first = np.int64(0)
    for i in range(n_ids):
        last = scratch.token_ends[i]
        begin, end = np.int64(scratch.from_starts[first]), np.int64(scratch.from_ends[max(last - 1, first)])
        # marks may have been put into another order
        for k in range(first, last):
            begin = min(begin, np.int64(scratch.from_starts[k]))
            end = max(end, np.int64(scratch.from_ends[k]))
        starts[out + i] = begin
        ends[out + i] = end
        first = last


@kernel
def encode_words(tables, data, start, stop, probability, state, scratch, ids, starts, ends, out):
    """Ids of a text, and where in the text each comes from.

    Parameters
    ----------
    tables : CharacterBpeTables
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The text: a chunk of the row, or a row that needs no other cut than that into words.
    probability, state : float64, uint64[3]
        As of :func:`segment`.
    scratch : CharacterBpeScratch
    ids : int32[k]
        Written from ``out`` on: room for one id a byte.
    starts, ends : int64[k] or int64[0]
        Written from ``out`` on unless empty: bytes of the text, relative to ``start``.
    out : int64

    Returns
    -------
    int64
        Place after the last id; ``start - stop`` when a word does not fit into the scratch: one made for
        ``stop - start`` bytes holds all words.
    """
    position, literal = start, np.int64(-1)
    token_ends = scratch.token_ends[:0]
    if starts.size != 0:
        token_ends = scratch.token_ends
    while True:
        if tables.flags[WORDS] == WORDS_BERT:
            from_starts, from_ends = scratch.from_starts[:0], scratch.from_ends[:0]
            if starts.size != 0:
                from_starts, from_ends = scratch.from_starts, scratch.from_ends
            position, n, n_characters = next_bert_word(
                tables, data, position, stop, start, scratch.text, from_starts, from_ends
            )
            if n_characters < 0:
                return start - stop
            if n == 0:
                return out
            n_ids = segment(
                tables, scratch.text, np.int64(0), n, probability, state, scratch, ids[out:], token_ends, np.int64(0)
            )
            if n_ids < 0:
                return start - stop
            if starts.size != 0:
                _put_normalised_spans(scratch, n_ids, starts, ends, out)
        else:
            word_start, position, literal = next_word(tables, data, position, stop, literal)
            if word_start >= position:
                return out
            if starts.size != 0 and position - word_start > token_ends.size:
                return start - stop
            n_ids = segment(
                tables, data, word_start, position, probability, state, scratch, ids[out:], token_ends, np.int64(0)
            )
            if n_ids < 0:
                return start - stop
            if starts.size != 0:
                _put_spans(token_ends, n_ids, word_start, start, starts, ends, out)
        out += n_ids


@kernel
def solve_words(tables, data, start, n, scratch, ids, first):
    """Ids of one chunk.

    Parameters
    ----------
    tables : CharacterBpeTables
    data : uint8[m]
    start, n : int64
        The chunk.
    scratch : CharacterBpeScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative, as of :func:`encode_words`, when the scratch is too small.
    """
    no_spans = scratch.starts[:0]
    end = encode_words(
        tables, data, start, start + n, 0.0, scratch.low, scratch, ids, no_spans, no_spans, first
    )  # fmt: skip
    return end - first if end >= 0 else end


#: What cuts text into chunks, by the name of the rule (:func:`numba_nlp.kernels.segment.cached_rows.rows_function`).
FILLS = {"bert": fill_chunks, "white": fill_white, "spaces": fill_spaces, "whole": fill_whole}
#: A chunk that the cache does not hold (:func:`numba_nlp.kernels.segment.cached_rows.encode_unseen`).
encode_unseen = unseen_function(inlined, "encode_unseen_character_bpe", solve_words)
#: Row encoders (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`) by the name of the rule.
ENCODE_ROWS = {
    name: rows_function(fill, kernel, f"encode_rows_character_{name}", encode_unseen) for name, fill in FILLS.items()
}

encode_rows_character_bert = ENCODE_ROWS["bert"]
encode_rows_character_white = ENCODE_ROWS["white"]
encode_rows_character_spaces = ENCODE_ROWS["spaces"]
encode_rows_character_whole = ENCODE_ROWS["whole"]
