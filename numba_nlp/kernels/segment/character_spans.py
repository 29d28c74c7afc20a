"""Where each id of character BPE comes from, and texts encoded without the cache: byte or character ranges of rows.

Ids come out of a cache of chunks, so words are merged again, with the places of their symbols. A range holds all
characters that the bytes of its token come from; a token that has none (a part without characters, which a vocabulary
filter of subword-nmt can leave) has an empty one.

Twin: ``numba_nlp.reference.segment.character_spans``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cached_loops import BLOCK
from numba_nlp.kernels.segment.character_bpe import encode_words
from numba_nlp.kernels.segment.character_bpe_memory import WORDS, WORDS_SPACES
from numba_nlp.kernels.segment.character_words import fill_spaces
from numba_nlp.kernels.segment.spans import UNIT_CHAR, count_to

__all__ = ["encode_text", "fill_character_spans"]


@kernel
def encode_text(tables, data, start, stop, probability, state, scratch, ids, starts, ends, out):
    """Ids of a text without the cache.

    Parameters
    ----------
    tables : CharacterBpeTables
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The text.
    probability, state : float64, uint64[3]
        As of :func:`numba_nlp.kernels.segment.character_bpe.segment`.
    scratch : CharacterBpeScratch
    ids : int32[k]
        Written from ``out`` on: room for two ids a byte.
    starts, ends : int64[k] or int64[0]
        Written from ``out`` on unless empty: bytes of the text, relative to ``start``.
    out : int64

    Returns
    -------
    int64
        Place after the last id; ``start - stop`` when a word does not fit into the scratch.
    """
    if tables.flags[WORDS] != WORDS_SPACES:
        return encode_words(tables, data, start, stop, probability, state, scratch, ids, starts, ends, out)
    # no row is left in its middle
    scratch.ends[scratch.ends.size - 1] = 0
    position = np.int64(start)
    while position < stop:
        n, position = fill_spaces(
            tables, data, position, stop, scratch.starts, scratch.ends, np.int64(0), np.int64(BLOCK)
        )
        for i in range(n):
            first, word = out, scratch.starts[i]
            out = encode_words(
                tables, data, word, scratch.ends[i], probability, state, scratch, ids, starts, ends, first
            )
            if out < 0:
                return start - stop
            if starts.size != 0:
                for k in range(first, out):
                    starts[k] += word - start
                    ends[k] += word - start
    return out


@kernel
def fill_character_spans(
    tables,
    data,
    row_starts,
    row_ends,
    seg_starts,
    seg_ends,
    seg_fixed,
    row_first_segment,
    text,
    from_starts,
    from_ends,
    text_starts,
    text_ends,
    ids,
    id_offsets,
    unit,
    scratch,
    found_ids,
    found_starts,
    found_ends,
    starts,
    ends,
    where,
):
    """Write the span of every id of a batch.

    Parameters
    ----------
    tables : CharacterBpeTables
    data : uint8[n]
        Valid UTF-8.
    row_starts, row_ends : int64[rows], int64[rows]
        Byte range of each row.
    seg_starts, seg_ends, seg_fixed, row_first_segment : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of :func:`numba_nlp.kernels.segment.special.split_rows`.
    text, from_starts, from_ends : uint8[m], int32[m] or int32[0], int32[m] or int32[0]
        What was encoded, with the range of each of its bytes, which counts from the start of its segment; ``data``
        and nothing when the text was not normalised.
    text_starts, text_ends : int64[s], int64[s]
        The segments in ``text``.
    ids, id_offsets : int32[k], int64[rows + 1]
        Ids of row ``r`` are ``ids[id_offsets[r]:id_offsets[r + 1]]``.
    unit : int64
        ``UNIT_BYTE`` or ``UNIT_CHAR`` of :mod:`numba_nlp.kernels.segment.spans`.
    scratch : CharacterBpeScratch
    found_ids, found_starts, found_ends : int32[t], int64[t], int64[t]
        Working memory: two elements for each byte of the longest segment, and more.
    starts, ends : int64[k], int64[k]
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
        # the character that a place was last counted to
        byte, character = origin, np.int64(0)
        for part in range(row_first_segment[row], row_first_segment[row + 1]):
            first, base = out, seg_starts[part] - origin
            if seg_fixed[part] >= 0:
                if out >= row_stop or ids[out] != seg_fixed[part]:
                    return np.int64(STATUS_NOT_TILING)
                # template tokens come from no text
                starts[out] = base if seg_starts[part] >= 0 else -1
                ends[out] = seg_ends[part] - origin if seg_starts[part] >= 0 else -1
                out += 1
                if seg_starts[part] < 0:
                    continue
            else:
                start, stop = text_starts[part], text_ends[part]
                n = encode_text(
                    tables, text, start, stop, 0.0, scratch.low, scratch, found_ids, found_starts, found_ends,
                    np.int64(0),
                )  # fmt: skip
                if n < 0:
                    where[1] = stop - start
                    return np.int64(STATUS_OUTPUT_FULL)
                if out + n > row_stop:
                    return np.int64(STATUS_NOT_TILING)
                for i in range(n):
                    if found_ids[i] != ids[out]:
                        return np.int64(STATUS_NOT_TILING)
                    begin, end = found_starts[i], found_ends[i]
                    if from_starts.size != 0:
                        last = start + max(end - 1, begin)
                        begin, end = np.int64(from_starts[start + begin]), np.int64(from_ends[last])
                    starts[out] = base + begin
                    ends[out] = base + end
                    out += 1
            if unit == UNIT_CHAR:
                for i in range(first, out):
                    byte, character = count_to(data, byte, character, origin + starts[i])
                    starts[i] = character
                    byte, character = count_to(data, byte, character, origin + ends[i])
                    ends[i] = character
        if out != row_stop:
            return np.int64(STATUS_NOT_TILING)
    return out
