"""Where each id comes from when general stages came before the model: through the alignment of the pieces.

A token made of the bytes ``[a, b)`` of a piece has the range from the start of the range of ``a`` to the end of that
of ``b - 1``, so always whole characters of the original text; that is what tokenizers gives, but for one thing: where
Unigram writes unknown characters as bytes, tokenizers gives each of them the range of the whole stretch of unknown
characters, and here each has that of its character.

Most ids say by themselves how long they are. A piece with an unknown token or with byte tokens (which stand for other
text than their own) is segmented once more.

Twin: ``numba_nlp.reference.segment.staged_spans``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.spans import UNIT_CHAR
from numba_nlp.kernels.segment.staged_models import segment_bpe, segment_unigram
from numba_nlp.kernels.segment.staged_word_models import segment_marked, segment_wordpiece
from numba_nlp.kernels.specialising import specialise

__all__ = [
    "count_to",
    "fill_staged_bpe_spans",
    "fill_staged_marked_spans",
    "fill_staged_unigram_spans",
    "fill_staged_wordpiece_spans",
]


@kernel
def count_to(data, byte, character, target):
    """Go on from a place that is known in bytes and characters to another one, which rarely lies before it.

    Parameters
    ----------
    data : uint8[n]
    byte, character : int64
        A place in bytes, and the characters before it, counted from anywhere.
    target : int64
        The other place, in bytes.

    Returns
    -------
    byte, character : int64, int64
        The other place.
    """
    while byte < target:
        character += np.int64(data[byte] & 0xC0 != 0x80)
        byte += 1
    while byte > target:
        byte -= 1
        character -= np.int64(data[byte] & 0xC0 != 0x80)
    return byte, character


def fill_staged_spans(
    tables, scratch, piece_widths, data, row_starts, source, bases, piece_starts, piece_ends, fixed, fixed_starts,
    fixed_ends, row_first_piece, ids, id_offsets, unit, solved_ids, solved_ends, starts, ends, where,
):  # fmt: skip
    """Write the span of every id of a batch: the code that is compiled for each model.

    Parameters
    ----------
    tables, scratch : StagedUnigramTables and StagedUnigramScratch, or those of another model
    piece_widths : int32[V]
        Bytes of text that each id stands for; 0 where that is not known.
    data : uint8[n]
        The original text.
    row_starts : int64[rows]
        Where each row starts in ``data``.
    source : Aligned
        Text of the pieces, with ranges.
    bases : int64[p]
        Where the ranges of each piece count from, in ``data``.
    piece_starts, piece_ends : int64[p], int64[p]
        The pieces in ``source``.
    fixed : int32[p]
        An id that is given in place of a piece, or -1.
    fixed_starts, fixed_ends : int64[p], int64[p]
        Where a given id stands in ``data``; -1 for those of a template.
    row_first_piece : int64[rows + 1]
    ids, id_offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[id_offsets[r]:id_offsets[r + 1]]``.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR`` of :mod:`numba_nlp.kernels.segment.spans`.
    solved_ids, solved_ends : int32[k], int64[k]
        Working memory, as long as the longest piece.
    starts, ends : int64[m], int64[m]
        Written: half-open range of each id, counted from the start of its row; -1, -1 for ids of a template.
    where : int64[1]
        Written on failure: the row.

    Returns
    -------
    int64
        Number of spans written; ``STATUS_NOT_TILING`` when the pieces do not give these ids; or, less than that, minus
        the capacity that the scratch must have.
    """
    token = np.int64(0)
    for row in range(row_starts.size):
        where[0] = row
        origin = row_starts[row]
        last_token = id_offsets[row + 1]
        byte, character = origin, np.int64(0)
        for piece in range(row_first_piece[row], row_first_piece[row + 1]):
            first = token
            begin, end = piece_starts[piece], piece_ends[piece]
            if fixed[piece] >= 0:
                if token >= last_token or ids[token] != fixed[piece]:
                    return np.int64(STATUS_NOT_TILING)
                starts[token] = fixed_starts[piece]
                ends[token] = fixed_ends[piece]
                token += 1
                if fixed_starts[piece] < 0:
                    continue
            else:
                base = bases[piece]
                place = begin
                while place < end and token < last_token:
                    number = np.int64(ids[token])
                    width = np.int64(piece_widths[number]) if 0 <= number < piece_widths.size else np.int64(0)
                    if width == 0 or place + width > end:
                        break
                    starts[token] = base + source.starts[place]
                    place += width
                    ends[token] = base + source.ends[place - 1]
                    token += 1
                if place < end:
                    # the ids do not say it all
                    token = first
                    n = segment(  # noqa: F821  bound by `_spans_of`
                        tables, source.text, begin, end, scratch, solved_ids, solved_ends, np.int64(0)
                    )
                    if n < 0:
                        return min(n, np.int64(STATUS_NOT_TILING - 1))
                    if token + n > last_token:
                        return np.int64(STATUS_NOT_TILING)
                    place = begin
                    for i in range(n):
                        if ids[token] != solved_ids[i] or solved_ends[i] <= place:
                            return np.int64(STATUS_NOT_TILING)
                        starts[token] = base + source.starts[place]
                        place = solved_ends[i]
                        ends[token] = base + source.ends[place - 1]
                        token += 1
            for i in range(first, token):
                if unit == UNIT_CHAR:
                    byte, character = count_to(data, byte, character, starts[i])
                    starts[i] = character
                    byte, character = count_to(data, byte, character, ends[i])
                    ends[i] = character
                else:
                    starts[i] -= origin
                    ends[i] -= origin
        if token != last_token:
            return np.int64(STATUS_NOT_TILING)
    return token


def _spans_of(name: str, segment: Any) -> Any:
    return kernel(specialise(fill_staged_spans, name, segment=segment))


fill_staged_unigram_spans = _spans_of("fill_staged_unigram_spans", segment_unigram)
fill_staged_bpe_spans = _spans_of("fill_staged_bpe_spans", segment_bpe)
fill_staged_wordpiece_spans = _spans_of("fill_staged_wordpiece_spans", segment_wordpiece)
fill_staged_marked_spans = _spans_of("fill_staged_marked_spans", segment_marked)
