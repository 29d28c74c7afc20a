"""Row encoders with spans (:mod:`numba_nlp.kernels.segment.spanned_rows`) of the families whose chunks are solved here.

How a chunk is solved, with the range of each of its tokens:

WordPiece, character BPE
    as any other text (:func:`numba_nlp.kernels.segment.wordpiece.encode_words`).
Unigram, word and character models
    normalised with alignment. Marks are settled as in :mod:`numba_nlp.kernels.segment.sentencepiece_unigram`, and spans
    move with their ids.
SentencePiece BPE
    raw where the normaliser only escapes spaces; else normalised with alignment.

Twin: ``numba_nlp.reference.segment.aligned_spans`` and ``word_spans``, ``character_spans``: whole rows.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import character_bpe, sentencepiece_bpe_rows, wordpiece
from numba_nlp.kernels.segment.fill_spaced import begin_row, fill_spaced
from numba_nlp.kernels.segment.normalize_charsmap import ROW_ENDS, WHOLE_ROW, normalize
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.kernels.segment.row_firsts import FIRSTS, is_first_of_row
from numba_nlp.kernels.segment.sentencepiece_bpe import segment_from
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import PREFIX_SYMBOL
from numba_nlp.kernels.segment.sentencepiece_bpe_rows import _most_ids
from numba_nlp.kernels.segment.sentencepiece_bpe_rows_memory import BRIDGED, MODE
from numba_nlp.kernels.segment.sentencepiece_bpe_rows_memory import ID_GROWTH as BPE_GROWTH
from numba_nlp.kernels.segment.sentencepiece_unigram import _mark_of, find_path
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import ID_GROWTH, MODEL, SPACE, UNIGRAM
from numba_nlp.kernels.segment.spanned_rows import spanned_function, to_characters
from numba_nlp.kernels.segment.spans import UNIT_CHAR
from numba_nlp.kernels.segment.unigram import write_ids
from numba_nlp.kernels.segment.unigram_memory import BYTE_FALLBACK, UNKNOWN_ID
from numba_nlp.kernels.segment.unigram_settling import _begins_with_space, is_settled, settle_marked
from numba_nlp.kernels.segment.window_words import fill_chunks
from numba_nlp.kernels.specialising import specialise

__all__ = [
    "SPANNED_BPE",
    "SPANNED_CHARACTERS",
    "SPANNED_UNIGRAM",
    "encode_spanned_wordpiece",
    "settle_spans",
    "solve_spans_characters",
    "solve_spans_sentencepiece_bpe",
    "solve_spans_unigram",
    "solve_spans_words",
]


@kernel
def solve_spans_words(tables, data, start, n, low, high, scratch, memory, ids):
    """Ids and ranges of one chunk of WordPiece.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high : uint64, uint64
        Its key.
    scratch : WordPieceScratch
    memory : SpanMemory
        ``starts`` and ``ends`` are written, in bytes of the chunk.
    ids : int32[k]
        Written from 0 on.

    Returns
    -------
    int64
        Number of ids; negative, the capacity that would do, when the scratch is too small.
    """
    if memory.starts.size < n:
        return -n
    return wordpiece.encode_words(tables, data, start, start + n, scratch, ids, memory.starts, memory.ends, np.int64(0))


@kernel
def solve_spans_characters(tables, data, start, n, low, high, scratch, memory, ids):
    """Ids and ranges of one chunk of character BPE.

    Arguments and result as of :func:`solve_spans_words`, with the tables and the scratch of this family.
    """
    if memory.starts.size < 2 * n:
        return -n
    return character_bpe.encode_words(
        tables, data, start, start + n, 0.0, scratch.low, scratch, ids, memory.starts, memory.ends, np.int64(0)
    )


@inlined
def _normalize(tables, data, start, stop, edges, text, from_starts, from_ends):
    """:func:`numba_nlp.kernels.segment.normalize_charsmap.normalize` with the tables of a vocabulary."""
    normalizer = NormalizerTables(
        tables.rule_units, tables.rule_strings, tables.symbol_units, tables.words, tables.steps, tables.after,
        tables.settings,
    )  # fmt: skip
    return normalize(normalizer, data, start, stop, edges, text, from_starts, from_ends)


@inlined
def _put_ranges(begin, end, memory):
    """Ranges of tokens from their ends in normalised text and its alignment."""
    first = np.int64(0)
    for i in range(begin, end):
        last = memory.token_ends[i]
        memory.starts[i] = memory.from_starts[first]
        memory.ends[i] = memory.from_ends[last - 1]
        first = last


@kernel
def solve_spans_unigram(tables, data, start, n, low, high, scratch, memory, ids):
    """Ids and ranges of one chunk of a Unigram, word or character model.

    Arguments and result as of :func:`solve_spans_words`, with the tables and the scratch of this family. The ids of a
    chunk with a mark have it before them, as :func:`settle_spans` expects.
    """
    n_text = _align_chunk(tables, data, start, n, scratch, memory)
    if n_text <= 0:
        return n_text
    as_bytes = tables.numbers[BYTE_FALLBACK] != 0
    at, n_steps, n_characters = find_path(tables, n_text, np.float32(0), scratch)
    if (n_text if as_bytes else n_characters) + 1 > n * tables.options[ID_GROWTH]:
        # only a vocabulary that lies about itself comes here
        return -(np.int64(1) << 40)
    path = scratch.path[at : at + n_steps]
    mark = np.int64(0)
    if tables.options[MODEL] == UNIGRAM:
        mark = _mark_of(tables, n_text, n_characters, scratch)
    if mark == 0 or as_bytes:
        first = np.int64(mark != 0)
        last = write_ids(tables, scratch.text, np.int64(0), path, np.int64(0), ids, memory.token_ends, first)
    else:
        # each unknown character counts
        first, last, place = np.int64(1), np.int64(1), np.int64(0)
        for i in range(n_steps):
            step = np.int64(path[i])
            ids[last] = np.int32(step if step >= 0 else tables.numbers[UNKNOWN_ID])
            place += np.int64(tables.piece_lengths[step]) if step >= 0 else -step
            memory.token_ends[last] = place
            last += 1
    if mark != 0:
        ids[0] = np.int32(mark)
        memory.starts[0] = memory.ends[0] = 0
    _put_ranges(first, last, memory)
    return last


@inlined
def _align_chunk(tables, data, start, n, scratch, memory):
    """Normalise a chunk with alignment: bytes in ``scratch.text``; negative as of :func:`solve_spans_unigram`."""
    lacking = -(n * (tables.settings[1] + 3) // 3 + 16)
    edges = np.int64(ROW_ENDS if _begins_with_space(tables, data, start) else WHOLE_ROW)
    if memory.from_starts.size < scratch.text.size:
        return lacking
    n_text = _normalize(tables, data, start, start + n, edges, scratch.text, memory.from_starts, memory.from_ends)
    return n_text if n_text >= 0 else lacking


@kernel
def _solve_again(tables, data, i, scratch, working):
    """Solve chunk ``i`` with the running score before it: ids in ``scratch.nodes``, spans in the memory."""
    unit, memory = working
    start = scratch.starts[i]
    n_text = _align_chunk(tables, data, start, scratch.ends[i] - start, scratch, memory)
    if n_text <= 0:
        return n_text
    at, n_steps, _ = find_path(tables, n_text, np.float32(scratch.running[0]), scratch)
    path = scratch.path[at : at + n_steps]
    n_ids = write_ids(
        tables, scratch.text, np.int64(0), path, np.int64(0), scratch.nodes, memory.token_ends, np.int64(0)
    )
    scratch.running[0] = np.float64(scratch.best[n_text])
    _put_ranges(np.int64(0), n_ids, memory)
    if unit == UNIT_CHAR:
        to_characters(data, start, n_ids, memory.starts)
        to_characters(data, start, n_ids, memory.ends)
    # the spaces before, of which the first one counts
    for k in range(n_ids):
        if memory.starts[k] != 0:
            break
        memory.starts[k] -= memory.gaps[i]
        if memory.ends[k] <= 1:
            memory.ends[k] -= memory.gaps[i]
    for k in range(n_ids):
        memory.starts[k] += memory.bases[i]
        memory.ends[k] += memory.bases[i]
    return n_ids


@kernel
def solve_spans_sentencepiece_bpe(tables, data, start, n, low, high, scratch, memory, ids):
    """Ids and ranges of one chunk of SentencePiece BPE.

    Arguments and result as of :func:`solve_spans_words`, with the tables and the scratch of this family; the key says
    whether the chunk begins a row.
    """
    lacking = -(n * (tables.settings[1] + 3) // 3 + 16)
    if memory.from_starts.size < scratch.text.size:
        return lacking
    if tables.options[MODE] != BRIDGED:
        edges = np.int64(ROW_ENDS if tables.byte_traits[data[start]] & SPACE != 0 else WHOLE_ROW)
        n_text = _normalize(tables, data, start, start + n, edges, scratch.text, memory.from_starts, memory.from_ends)
        if n_text < 0:
            return lacking
        most = n * tables.options[BPE_GROWTH]
        if n_text > most and _most_ids(tables, scratch.text, n_text) > most:
            # only a vocabulary that lies about itself comes here
            return -(np.int64(1) << 40)
        n_ids = segment_from(
            tables, scratch.text, np.int64(0), n_text, np.int64(-1), scratch, ids, memory.token_ends, np.int64(0)
        )
        if n_ids >= 0:
            _put_ranges(np.int64(0), n_ids, memory)
        return n_ids
    prefix = np.int64(tables.flags[PREFIX_SYMBOL]) if is_first_of_row(low, high, n) else np.int64(-1)
    n_ids = segment_from(tables, data, start, start + n, prefix, scratch, ids, memory.token_ends, np.int64(0))
    first = start
    for i in range(n_ids):
        last = memory.token_ends[i]
        begin, end = first, last
        # tokens that stand for bytes have the range of their character
        while begin > start and begin < start + n and data[begin] & 0xC0 == 0x80:
            begin -= 1
        while end > first and end < start + n and data[end] & 0xC0 == 0x80:
            end += 1
        memory.starts[i] = begin - start
        memory.ends[i] = end - start
        first = last
    return n_ids


_settle_spans_marked = kernel(specialise(settle_marked, "_settle_spans_marked", solve_again=_solve_again))


@inlined
def settle_spans(tables, cache, data, n, opened, unit, scratch, memory, ids, span_starts, span_ends, out):
    """Make ids and spans of a block right for the running scores of its rows.

    Parameters
    ----------
    tables, cache, data, n, opened
        As of :func:`numba_nlp.kernels.segment.unigram_settling.settle`.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR`` of :mod:`numba_nlp.kernels.segment.spans`.
    scratch : SentencePieceScratch
        As there.
    memory : SpanMemory
    ids : int32[k]
        As there.
    span_starts, span_ends : int64[k], int64[k]
        Spans of the ids; they move with them.
    out : int64
        As there.

    Returns
    -------
    int64
        Place after the last id now; negative when the scratch is too small.
    """
    if is_settled(tables, data, opened, scratch, ids, out):
        return out
    return _settle_spans_marked(
        tables, data, n, scratch, (unit, memory), memory.starts, memory.ends, ids, span_starts, span_ends, out
    )


#: WordPiece (:func:`numba_nlp.kernels.segment.spanned_rows.encode_spanned_rows`).
encode_spanned_wordpiece = spanned_function("encode_spanned_wordpiece", fill_chunks, solve_spans_words)
#: Character BPE by the name of the rule of words.
SPANNED_CHARACTERS = {
    name: spanned_function(f"encode_spanned_characters_{name}", fill, solve_spans_characters)
    for name, fill in character_bpe.FILLS.items()
}
#: Unigram, word and character models by the name of the pattern.
SPANNED_UNIGRAM = {
    "spaced": spanned_function(
        "encode_spanned_unigram_spaced",
        fill_spaced,
        solve_spans_unigram,
        begin_row=begin_row,
        settle=settle_spans,
        takes_gaps=True,
    )
}
#: SentencePiece BPE by the name of the pattern.
SPANNED_BPE = {
    "bridged": spanned_function(
        "encode_spanned_bpe_bridged",
        sentencepiece_bpe_rows.FILLS["bridged"],
        solve_spans_sentencepiece_bpe,
        **FIRSTS,
    ),
    "spaced": spanned_function(
        "encode_spanned_bpe_spaced",
        fill_spaced,
        solve_spans_sentencepiece_bpe,
        begin_row=begin_row,
        takes_gaps=True,
    ),
}
