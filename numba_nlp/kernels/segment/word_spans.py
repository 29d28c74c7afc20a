"""Where each id of WordPiece comes from: byte or character ranges in rows of text.

Normalisation moves places and ids come out of a cache, so the words of a text are cut again, with alignment. A range
holds all characters that the bytes of its piece come from; characters that are deleted belong to none, and an unknown
word has the range of the whole word.

Twin: ``numba_nlp.reference.segment.word_spans``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.spans import UNIT_CHAR, count_to
from numba_nlp.kernels.segment.wordpiece import next_word, put_word_spans, segment

__all__ = ["fill_word_spans"]


@kernel
def fill_word_spans(
    tables,
    data,
    row_starts,
    row_ends,
    seg_starts,
    seg_ends,
    seg_fixed,
    row_first_segment,
    ids,
    id_offsets,
    unit,
    scratch,
    word_ids,
    starts,
    ends,
    where,
):
    """Write the span of every id of a batch.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[n]
        Valid UTF-8.
    row_starts, row_ends : int64[rows], int64[rows]
        Byte range of each row, less than 2^31 bytes.
    seg_starts, seg_ends, seg_fixed, row_first_segment : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of :func:`numba_nlp.kernels.segment.special.split_rows`. When ``row_first_segment`` is empty every
        row is one text, and the other three are not read.
    ids, id_offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[id_offsets[r]:id_offsets[r + 1]]``.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR`` of :mod:`numba_nlp.kernels.segment.spans`.
    scratch : WordPieceScratch
    word_ids : int32[k]
        Working memory as long as ``scratch.text``.
    starts, ends : int64[m], int64[m]
        Written: half-open range of each id, counted from the start of its row; -1, -1 for template tokens.
    where : int64[2]
        Written on failure: row, and bytes that the scratch must be made for.

    Returns
    -------
    int64
        Number of spans written; ``STATUS_OUTPUT_FULL`` when a word does not fit into the scratch;
        ``STATUS_NOT_TILING`` when the text does not give these ids.
    """
    out = np.int64(0)
    for row in range(row_starts.size):
        where[0] = row
        origin, row_stop = row_starts[row], id_offsets[row + 1]
        part, last_part = np.int64(0), np.int64(1)
        if row_first_segment.size != 0:
            part, last_part = row_first_segment[row], row_first_segment[row + 1]
        # the character that a place was last counted to
        byte, character = origin, np.int64(0)
        while part < last_part:
            position, stop, fixed = origin, row_ends[row], np.int64(-1)
            if row_first_segment.size != 0:
                position, stop, fixed = seg_starts[part], seg_ends[part], np.int64(seg_fixed[part])
            part += 1
            first = out
            if fixed >= 0:
                if out >= row_stop or ids[out] != fixed:
                    return np.int64(STATUS_NOT_TILING)
                # template tokens come from no text
                starts[out] = position - origin if position >= 0 else -1
                ends[out] = stop - origin if position >= 0 else -1
                out += 1
                if position < 0:
                    continue
            while fixed < 0:
                base = position
                position, n, n_characters = next_word(
                    tables, data, position, stop, base, scratch.text, scratch.from_starts, scratch.from_ends
                )
                if n_characters < 0:
                    where[1] = stop - base
                    return np.int64(STATUS_OUTPUT_FULL)
                if n == 0:
                    break
                n_ids = segment(
                    tables, scratch.text, np.int64(0), n, n_characters, word_ids, scratch.token_ends, np.int64(0)
                )
                if out + n_ids > row_stop:
                    return np.int64(STATUS_NOT_TILING)
                for i in range(n_ids):
                    if word_ids[i] != ids[out + i]:
                        return np.int64(STATUS_NOT_TILING)
                out = put_word_spans(scratch, n_ids, base - origin, starts, ends, out)
            if unit == UNIT_CHAR:
                for i in range(first, out):
                    byte, character = count_to(data, byte, character, origin + starts[i])
                    starts[i] = character
                    byte, character = count_to(data, byte, character, origin + ends[i])
                    ends[i] = character
        if out != row_stop:
            return np.int64(STATUS_NOT_TILING)
    return out
