"""Spans of tokens that were found in normalised text: where each comes from in the original.

A token made of the normalised bytes ``[a, b)`` comes from the text from where the first of them comes from to where the
last one ends: ``(from_starts[a], from_ends[b - 1])``. A space that was added has an empty range at its place, so a token
that consists of it alone has an empty span.

Twin: ``numba_nlp.reference.segment.aligned_spans``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.sentencepiece_unigram import align_text

__all__ = ["fill_aligned_spans", "in_characters"]


@kernel
def in_characters(data, start, places):
    """Turn places in bytes into places in characters.

    Parameters
    ----------
    data : uint8[m]
        Valid UTF-8.
    start : int64
        Where the row begins.
    places : int64[k]
        Changed: bytes from ``start`` on, at the beginnings of characters; best in ascending order. Negative ones
        stay.
    """
    byte, character = np.int64(0), np.int64(0)
    for i in range(places.size):
        place = places[i]
        if place < 0:
            continue
        while byte < place:
            character += data[start + byte] & 0xC0 != 0x80
            byte += 1
        while byte > place:
            byte -= 1
            character -= data[start + byte] & 0xC0 != 0x80
        places[i] = character


@inlined
def _text_spans(tables, data, row_start, start, stop, scratch, alignment, ids, first, last, span_starts, span_ends):
    """Spans of one text; the place after its ids, or a status."""
    from_starts, from_ends, token_ends = alignment
    n = align_text(tables, data, start, stop, scratch, from_starts, from_ends, token_ends, ids[:last], first)
    if n < 0:
        return n
    begin = np.int64(0)
    for i in range(n):
        end = token_ends[i]
        span_starts[first + i] = start - row_start + from_starts[begin]
        span_ends[first + i] = start - row_start + from_ends[end - 1]
        begin = end
    return first + n


@kernel
def fill_aligned_spans(
    tables, data, starts, ends, seg_starts, seg_ends, seg_fixed, first_of_row, ids, offsets, characters, scratch,
    alignment, span_starts, span_ends, where,
):  # fmt: skip
    """Spans of the ids of rows.

    Parameters
    ----------
    tables : SentencePieceTables
    data : uint8[m]
        Valid UTF-8.
    starts, ends : int64[rows]
        Rows, as the caller sees them.
    seg_starts, seg_ends, seg_fixed : int64[s], int64[s], int32[s]
        Segments of the rows; of length 0, with ``first_of_row`` of length 0, when each row is one text.
    first_of_row : int64[rows + 1]
    ids, offsets : int32[k], int64[rows + 1]
        Ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``.
    characters : int64
        1 for spans in characters of the row, 0 in bytes.
    scratch : SentencePieceScratch
    alignment : (int32[room], int32[room], int64[room])
        Written: memory for the alignment and the ends of tokens, as long as ``scratch.text``.
    span_starts, span_ends : int64[k]
        Written; -1 for ids of the template.
    where : int64[1]
        Written on failure: the row.

    Returns
    -------
    int64
        0, or a status as of :func:`numba_nlp.kernels.segment.sentencepiece_unigram.align_text`.
    """
    for row in range(starts.size):
        first, last = offsets[row], offsets[row + 1]
        at = first
        if first_of_row.size == 0:
            at = _text_spans(
                tables, data, starts[row], starts[row], ends[row], scratch, alignment, ids, at, last, span_starts,
                span_ends,
            )  # fmt: skip
        else:
            for segment in range(first_of_row[row], first_of_row[row + 1]):
                if seg_fixed[segment] >= 0:
                    template = seg_starts[segment] < 0
                    span_starts[at] = -1 if template else seg_starts[segment] - starts[row]
                    span_ends[at] = -1 if template else seg_ends[segment] - starts[row]
                    at += 1
                    continue
                at = _text_spans(
                    tables, data, starts[row], seg_starts[segment], seg_ends[segment], scratch, alignment, ids, at,
                    last, span_starts, span_ends,
                )  # fmt: skip
                if at < 0:
                    break
        if at >= 0 and at != last:
            at = np.int64(STATUS_NOT_TILING)
        if at < 0:
            where[0] = row
            return at
        if characters != 0:
            in_characters(data, starts[row], span_starts[first:last])
            in_characters(data, starts[row], span_ends[first:last])
    return np.int64(0)
