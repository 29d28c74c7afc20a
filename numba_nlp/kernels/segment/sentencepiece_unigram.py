r"""SentencePiece's Unigram, word and character models: rows of text to ids through the word cache.

A raw chunk (:mod:`numba_nlp.kernels.segment.fill_spaced`) is normalised and segmented, and its ids are kept under its
raw bytes. For Unigram that is right only as far as the running score, which sentencepiece adds up from the start of the
row in single precision, changes nothing (:mod:`numba_nlp.kernels.segment.unigram_chunks`). So there are three kinds of
chunks:

1. Nearly all have a best path that wins by so much that no running score changes it. A score is added only where the
   sum is at most :math:`R` (100,000) in absolute value, since it starts again from 0 there, so every addition is off by
   at most :math:`u (R + L)`. When the chunk starts again, the sum of a position is subtracted from those behind, which
   is exact: both have one sign and differ by at most :math:`2 D L`, far less than either (Sterbenz). By the induction
   given there the margin :math:`m` suffices if :math:`m > 2 D u (A_0 + R + L)`.

   Where no piece that the text holds reaches across a place within the chunk, all paths go through it, so the
   induction may begin there, with the sum that all have in common in place of :math:`B`: bounds of sums remain those of
   the chunk, but :math:`D` is the number of characters since the last such place (``since`` of
   :func:`numba_nlp.kernels.segment.unigram.find_best`), each position with its own. In source code that is a third to a
   tenth of the chunk.
2. Those with a smaller margin are kept with the limit of running scores up to which their ids hold.
3. Those with two unknown characters in a row. Their ids are one id, but the running score adds each of them.

The ids of chunks of the second and third kind have a *mark* before them, and the unknown characters of the third one
id each. While a block of chunks has no mark, nothing is to be done. Else
:func:`numba_nlp.kernels.segment.unigram_settling.settle` goes through the block, adds up the running score from the
ids, compares it with the limits, solves the chunk anew with that very running score where it must, and takes marks and
repeated unknown ids out.

Scores of long rows approach :math:`R`, where a position that is not on the best path may make the sum start again. So
settling also begins when the scores of the row may have come that far, and solves the chunks that may reach it. A mark
of the first kind stands before chunks whose characters could add more than ``MOST_HIDDEN`` together, so that between
two ids no sum is hidden that is further than that.

Twin: ``numba_nlp.reference.segment.sentencepiece_unigram``: whole rows.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cached_rows import enter_chunk, rows_function
from numba_nlp.kernels.segment.fill_spaced import begin_row, fill_spaced
from numba_nlp.kernels.segment.normalize_charsmap import ROW_ENDS, WHOLE_ROW, normalize
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import (
    CHARACTERS,
    ID_GROWTH,
    MODEL,
    UNIGRAM,
    WHOLE,
)
from numba_nlp.kernels.segment.tiled_ids import same_ids, tile
from numba_nlp.kernels.segment.unigram import character_length, find_best, trace_path, write_ids
from numba_nlp.kernels.segment.unigram_chunks import MAX_CHARACTERS, SPLIT_BEFORE_EACH, chunk_end
from numba_nlp.kernels.segment.unigram_memory import BYTE_FALLBACK, HALF_ULP, LARGEST, RESET, UNKNOWN_ID
from numba_nlp.kernels.segment.unigram_settling import (
    _SHRINK,
    ANY_SCORE,
    MARK,
    MOST_HIDDEN,
    _begins_with_space,
    settle_function,
)
from numba_nlp.kernels.tables.darts import longest_match
from numba_nlp.kernels.tables.double_array import find
from numba_nlp.kernels.words import peek

__all__ = [
    "FILLS",
    "align_text",
    "encode_rows_spaced",
    "encode_rows_whole",
    "encode_unseen",
    "fill_row",
]

#: As in the reference: how many matching symbols are looked at.
_MOST_SYMBOLS = 64


@inlined
def _normalize(tables, data, start, stop, edges, text, from_starts, from_ends):
    """:func:`numba_nlp.kernels.segment.normalize_charsmap.normalize` with the tables of a vocabulary."""
    normalizer = NormalizerTables(
        tables.rule_units, tables.rule_strings, tables.symbol_units, tables.words, tables.steps, tables.after,
        tables.settings,
    )  # fmt: skip
    return normalize(normalizer, data, start, stop, edges, text, from_starts, from_ends)


@kernel
def find_path(tables, n, running, scratch):
    """Cut normalised text into pieces.

    Parameters
    ----------
    tables : SentencePieceTables
    n : int64
        Bytes in ``scratch.text``, at least one.
    running : float32
        Score before the text.
    scratch : SentencePieceScratch
        ``path`` is written, and by Unigram models ``best`` and ``second``.

    Returns
    -------
    first, n_steps, n_characters : int64, int64, int64
        Steps are ``path[first:first + n_steps]``: ids, or ``-k`` for an unknown character or word of ``k`` bytes. The
        number of steps is at most that of characters.
    """
    text, path = scratch.text, scratch.path
    if tables.options[MODEL] == UNIGRAM:
        n_characters = find_best(tables, text, np.int64(0), n, running, scratch, True)
        first = trace_path(tables, n, scratch)
        return first, path.size - first, n_characters
    place, n_steps = np.int64(0), np.int64(0)
    while place < n:
        if tables.options[MODEL] == CHARACTERS:
            length = np.int64(0)
            if tables.symbol_units.size:
                length, _ = longest_match(tables.symbol_units, text, place, n, _MOST_SYMBOLS)
            if length == 0:
                length = character_length(np.int64(text[place]), n - place)
        else:
            length = chunk_end(text, place, n, SPLIT_BEFORE_EACH) - place
        piece = find(tables.units, text, place, place + length)
        path[n_steps] = np.int32(piece if piece >= 0 else -length)
        n_steps += 1
        place += length
    return np.int64(0), n_steps, n_steps


@inlined
def _mark_of(tables, n, n_characters, scratch):
    """Mark of a chunk of ``n`` bytes that was solved with the running score 0; 0 when it needs none."""
    largest, reset = np.float64(tables.scores[LARGEST]), np.float64(tables.scores[RESET])
    sums = n_characters * largest
    if n_characters > MAX_CHARACTERS:
        return np.int64(MARK)
    # least margin by additions
    margin = np.inf
    place = n
    repeated, before_unknown = False, False
    while place > 0:
        unknown = peek(scratch.nodes, place) < 0
        repeated |= unknown and before_unknown
        before_unknown = unknown
        distance = np.float64(peek(scratch.best, place)) - np.float64(peek(scratch.second, place))
        margin = min(margin, distance / np.float64(peek(scratch.since, place)))
        place = np.int64(peek(scratch.origins, place))
    rounding = 2.0 * np.float64(tables.scores[HALF_ULP])
    if sums <= MOST_HIDDEN and margin > rounding * (reset + largest + 2.0 * sums) / _SHRINK:
        if repeated and tables.numbers[BYTE_FALLBACK] == 0:
            return np.int64(MARK | ANY_SCORE)
        return np.int64(0)
    limit = min(_SHRINK * margin / rounding - 2.0 * sums, _SHRINK * reset - sums) - 1.0
    return MARK | np.int64(max(limit, 0.0))


@inlined
def encode_unseen(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Solve one chunk with the running score 0, and enter its ids with their mark.

    Parameters
    ----------
    tables, cache : SentencePieceTables, WordCache
    data : uint8[m]
    start, n : int64
        The chunk.
    low, high, home : uint64, uint64, int64
        Its key and home (:func:`numba_nlp.kernels.segment.cached_loops.make_keys`). With a negative home the running
        score is ``scratch.running[0]``, which becomes that behind the chunk; the ids have no mark and are not entered.
    scratch : SentencePieceScratch
    ids : int32[k]
        Written from ``first`` on: at most ``ID_GROWTH`` elements a byte.
    first : int64

    Returns
    -------
    int64
        Number of elements; negative, the capacity that would do, when the scratch is too small.
    """
    no_alignment = scratch.path[:0]
    edges = WHOLE_ROW
    if tables.options[WHOLE] == 0 and _begins_with_space(tables, data, start):
        # spaces at the end are left out of every chunk
        edges = ROW_ENDS
    n_text = _normalize(tables, data, start, start + n, edges, scratch.text, no_alignment, no_alignment)
    if n_text < 0:
        return -(n * (tables.settings[1] + 3) // 3 + 16)
    as_bytes = tables.numbers[BYTE_FALLBACK] != 0
    n_ids = np.int64(0)
    if n_text > 0:
        running = np.float32(scratch.running[0] if home < 0 else 0.0)
        at, n_steps, n_characters = find_path(tables, n_text, running, scratch)
        if (n_text if as_bytes else n_characters) + 1 > n * tables.options[ID_GROWTH]:
            # only a vocabulary that lies about itself comes here
            return -(np.int64(1) << 40)
        path = scratch.path[at : at + n_steps]
        alone = home < 0 or tables.options[MODEL] != UNIGRAM or tables.options[WHOLE] != 0
        out = first
        mark = np.int64(0) if alone else _mark_of(tables, n_text, n_characters, scratch)
        if mark != 0:
            ids[out] = np.int32(mark)
            out += 1
        if mark == 0 or as_bytes:
            out = write_ids(tables, scratch.text, np.int64(0), path, np.int64(0), ids, scratch.starts[:0], out)
        else:
            for i in range(n_steps):
                step = np.int64(path[i])
                ids[out] = np.int32(step if step >= 0 else tables.numbers[UNKNOWN_ID])
                out += 1
        n_ids = out - first
        if home < 0:
            scratch.running[0] = np.float64(scratch.best[n_text])
    if home >= 0:
        enter_chunk(cache, data, start, n, low, high, home, ids, first, n_ids)
    return n_ids


@inlined
def fill_row(tables, data, position, stop, starts, ends, n, limit):
    """Append a row as one chunk; arguments as of :func:`numba_nlp.kernels.segment.fill_spaced.fill_spaced`."""
    if position < stop and n < limit:
        starts[n] = position
        ends[n] = stop
        return n + 1, stop
    return n, position


@inlined
def align_text(tables, data, start, stop, scratch, from_starts, from_ends, token_ends, ids, first):
    """Where the tokens of a text end in its normalised form, and where that comes from.

    Parameters
    ----------
    tables : SentencePieceTables
    data : uint8[m]
    start, stop : int64
        The text: a row, or a segment that was encoded by itself.
    scratch : SentencePieceScratch
        ``text`` is written.
    from_starts, from_ends : int32[room]
        Written: the alignment (:func:`numba_nlp.kernels.segment.normalize_charsmap.normalize`); as long as
        ``scratch.text``.
    token_ends : int64[room]
        Written.
    ids : int32[k]
        The ids of the text, from ``first`` on; others may follow.
    first : int64

    Returns
    -------
    int64
        Number of tokens; ``STATUS_OUTPUT_FULL`` when the scratch is too small, ``STATUS_NOT_TILING`` when the ids are
        not those of the text.
    """
    n_text = _normalize(tables, data, start, stop, WHOLE_ROW, scratch.text, from_starts, from_ends)
    if n_text < 0:
        return np.int64(STATUS_OUTPUT_FULL)
    # without unknown tokens the lengths of the pieces say where they end
    unknown = np.int64(tables.numbers[UNKNOWN_ID]) if tables.numbers[BYTE_FALLBACK] == 0 else np.int64(-1)
    count = tile(tables.piece_lengths, unknown, np.int64(n_text), ids, first, token_ends)
    if count >= 0:
        return count
    at, n_steps, _ = find_path(tables, n_text, np.float32(0), scratch)
    path = scratch.path[at : at + n_steps]
    found = scratch.nodes
    count = write_ids(tables, scratch.text, np.int64(0), path, np.int64(0), found, token_ends, np.int64(0))
    return count if same_ids(found, count, ids, first) else np.int64(STATUS_NOT_TILING)


#: What cuts rows, by the name of the pattern.
FILLS = {"spaced": fill_spaced, "whole": fill_row}
#: Row encoders (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`).
encode_rows_spaced = rows_function(
    fill_spaced, kernel, "encode_rows_spaced", encode_unseen, begin_row=begin_row, settle_function=settle_function
)
encode_rows_whole = rows_function(fill_row, kernel, "encode_rows_whole_row", encode_unseen)
