"""Where each id of byte-level BPE comes from, when the text was normalized before it was encoded.

As :mod:`numba_nlp.kernels.segment.spans`, through the alignment of the normalized text: a token has the range from the
start of its first byte's range to the end of its last byte's. So ranges are of whole characters, in bytes too. What
``trim_offsets`` takes off follows tokenizers in characters, where each space of the normalized token counts for one
character of the range, even where a space came out of a longer decomposition; in bytes the range is that of the
token's bytes that are left.

Twin: ``numba_nlp.reference.segment.normalized_spans``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment.spans import (
    TRIM_KEEP_FIRST,
    TRIM_NONE,
    UNIT_BYTE,
    ascii_end,
    count_chars,
    edge_spaces,
    trim_special,
)

__all__ = ["fill_normalized_spans"]

_SPACE = 0x20


@kernel
def fill_normalized_spans(
    piece_offsets,
    data,
    row_starts,
    row_ends,
    seg_starts,
    seg_ends,
    seg_fixed,
    row_first_segment,
    source,
    text_starts,
    text_ends,
    ids,
    id_offsets,
    unit,
    add_prefix_space,
    trim,
    starts,
    ends,
    where,
):
    """Write the span of every id of a batch.

    Parameters
    ----------
    piece_offsets, data, row_starts, row_ends
        As of :func:`numba_nlp.kernels.segment.spans.fill_spans`; ``data`` is the original text.
    seg_starts, seg_ends, seg_fixed, row_first_segment : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of the original text; a row without special tokens is one.
    source : Aligned
        Normalized text; ranges count from the start of each segment.
    text_starts, text_ends : int64[s], int64[s]
        The segments in ``source``; empty for those that are an id.
    ids, id_offsets, unit, add_prefix_space, trim, starts, ends, where
        As of :func:`numba_nlp.kernels.segment.spans.fill_spans`.

    Returns
    -------
    int64
        Number of spans written; ``STATUS_UNKNOWN_ID`` for an id outside the vocabulary; ``STATUS_NOT_TILING`` when
        the pieces do not tile the normalized text.
    """
    n_pieces = piece_offsets.size - 1
    for row in range(row_starts.size):
        row_start = row_starts[row]
        token = id_offsets[row]
        last_token = id_offsets[row + 1]
        first_token = np.int64(-1)
        in_bytes = unit == UNIT_BYTE or ascii_end(data, row_start, row_ends[row]) == row_ends[row]
        # characters of the row before byte `counted`
        counted = row_start
        n_chars = np.int64(0)
        for segment in range(row_first_segment[row], row_first_segment[row + 1]):
            is_text = seg_fixed[segment] < 0
            begin = seg_starts[segment]
            position, stop = text_starts[segment], text_ends[segment]
            prefix = np.int64(0)
            if is_text and position < stop and add_prefix_space != 0 and source.text[position] != _SPACE:
                prefix = np.int64(1)
            while not is_text or position < stop:
                piece = np.int64(ids[token]) if token < last_token else np.int64(0)
                n = np.int64(0)
                if is_text and 0 <= piece < n_pieces:
                    n = piece_offsets[piece + 1] - piece_offsets[piece] - prefix
                fits = n > 0 or (n == 0 and prefix == 1)
                if token >= last_token or (is_text and (not fits or position + n > stop)):
                    where[0] = row
                    where[1] = token
                    known = token >= last_token or 0 <= piece < n_pieces
                    return np.int64(STATUS_NOT_TILING if known else STATUS_UNKNOWN_ID)
                if not is_text and begin < 0:
                    starts[token] = -1
                    ends[token] = -1
                    token += 1
                    break
                if first_token < 0:
                    first_token = token
                # the token's own range of bytes, in the row
                first, last = begin, seg_ends[segment]
                if is_text:
                    behind = position + max(n, np.int64(1)) - 1
                    first, last = begin + source.starts[position], begin + source.ends[behind]
                    if n == 0 and unit == UNIT_BYTE:  # the added space alone
                        last = first
                if not in_bytes:
                    if first < counted:
                        counted = row_start
                        n_chars = np.int64(0)
                    n_chars += count_chars(data, counted, first)
                    counted = first
                    width = count_chars(data, first, last)
                    first, last = n_chars, n_chars + width
                else:
                    first, last = first - row_start, last - row_start
                starts[token] = first
                ends[token] = last
                if trim != TRIM_NONE:
                    keep = trim == TRIM_KEEP_FIRST and (token == first_token or first == 0)
                    if not is_text:
                        trim_special(data, begin, seg_ends[segment], unit, keep, token, starts, ends)
                    elif unit == UNIT_BYTE:
                        _trim_bytes(source, position, n, prefix, keep, begin - row_start, token, starts, ends)
                    else:
                        _trim_characters(source.text, position, n, prefix, keep, token, starts, ends)
                position += n
                prefix = np.int64(0)
                token += 1
                if not is_text:
                    break
        if token != last_token:
            where[0] = row
            where[1] = token
            return np.int64(STATUS_NOT_TILING)
    return id_offsets[row_starts.size] - id_offsets[0]


@kernel
def _trim_characters(text, position, n, prefix, keep, token, starts, ends):
    """Move both ends of a span by one for each space."""
    leading, trailing = edge_spaces(text, position, n)
    if trailing == n:
        trailing += prefix
    leading += prefix
    if keep and leading == 1:
        leading = np.int64(0)
    first = min(starts[token] + leading, ends[token])
    starts[token] = first
    if ends[token] >= trailing:
        ends[token] = max(ends[token] - trailing, first)


@kernel
def _trim_bytes(source, position, n, prefix, keep, base, token, starts, ends):
    """Give a token the range of its bytes without the spaces; an added space has none."""
    if n == 0:
        return
    leading, trailing = edge_spaces(source.text, position, n)
    stays = keep and prefix == 0 and leading == 1
    if leading == n:
        if stays:
            ends[token] = starts[token]
        else:
            starts[token] = ends[token]
        return
    if leading > 0 and not stays:
        starts[token] = base + source.starts[position + leading]
    if trailing > 0:
        ends[token] = max(base + source.ends[position + n - trailing - 1], starts[token])
