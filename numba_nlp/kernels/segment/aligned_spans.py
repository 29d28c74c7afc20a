"""Spans of tokens that were found in normalised text: where each comes from in the original.

A token made of the normalised bytes ``[a, b)`` comes from the text from where the first of them comes from to where the
last one ends: ``(from_starts[a], from_ends[b - 1])``. A space that was added has an empty range at its place, so a
token that consists of it alone has an empty span.

Twin: ``numba_nlp.reference.segment.aligned_spans``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
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


@kernel
def fill_aligned_spans(
    tables, data, starts, seg_starts, seg_ends, seg_fixed, first_of_row, ids, offsets, characters, scratch, alignment,
    span_starts, span_ends, where,
):  # fmt: skip
    """Spans of the ids of rows.

    Parameters
    ----------
    tables : SentencePieceTables
    data : uint8[m]
        Valid UTF-8.
    starts : int64[rows]
        Where the rows begin.
    seg_starts, seg_ends, seg_fixed : int64[s], int64[s], int32[s] or int32[0]
        Their segments: texts, and where there are any given ids.
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
    from_starts, from_ends, token_ends = alignment
    for row in range(starts.size):
        first, last = offsets[row], offsets[row + 1]
        row_start = starts[row]
        at = first
        for segment in range(first_of_row[row], first_of_row[row + 1]):
            start = seg_starts[segment]
            if seg_fixed.size != 0 and seg_fixed[segment] >= 0:
                span_starts[at] = -1 if start < 0 else start - row_start
                span_ends[at] = -1 if start < 0 else seg_ends[segment] - row_start
                at += 1
                continue
            n = align_text(
                tables, data, start, seg_ends[segment], scratch, from_starts, from_ends, token_ends, ids[:last], at
            )
            if n < 0:
                where[0] = row
                return n
            begin = np.int64(0)
            for i in range(n):
                end = token_ends[i]
                span_starts[at + i] = start - row_start + from_starts[begin]
                span_ends[at + i] = start - row_start + from_ends[end - 1]
                begin = end
            at += n
        if at != last:
            where[0] = row
            return np.int64(STATUS_NOT_TILING)
        if characters != 0:
            in_characters(data, row_start, span_starts[first:last])
            in_characters(data, row_start, span_ends[first:last])
    return np.int64(0)
