"""Chunks of text for WordPiece, one at a time: the plain form of :mod:`numba_nlp.kernels.segment.window_words`.

BERT's pre-tokeniser cuts beside white space, punctuation and Chinese characters, whatever else stands there, so text
may be cut at any of these and the parts encoded by themselves. Which of the cuts are used decides how well a cache of
chunks works: few chunks, and such that come often. Here a chunk is a word and the punctuation after it, over single
white space too; punctuation right before it where that begins a line or follows a gap; and another word where an
apostrophe alone stands between them. A Chinese character begins a chunk. White space at its ends is left out.
Characters that the normaliser deletes count as letters: they join what stands around them. Vertical tab and form feed
count as letters too, though they are white space when there is no clean-up.

Twin: ``numba_nlp.reference.segment.fill_words``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length
from numba_nlp.kernels.segment.normalize_bert import CHINESE_WORD, LETTER, PUNCTUATION_WORD, SPACE, unit_of

__all__ = ["fill_chunks", "next_chunk"]

APOSTROPHE, VERTICAL_TAB, FORM_FEED = 0x27, 0x0B, 0x0C


@kernel
def next_chunk(normal_index, normal_blocks, data, position, stop):
    """Find the next chunk.

    Parameters
    ----------
    normal_index, normal_blocks : uint16[0x110000 >> 7], uint32[blocks * 128]
        As in :mod:`numba_nlp.kernels.segment.normalize_bert`.
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the text; not within a chunk.

    Returns
    -------
    start, end : int64, int64
        The chunk; ``stop, stop`` when there is none any more.
    """
    start, end = stop, stop
    # what stands before, within the chunk: a letter, an apostrophe right behind a letter, punctuation from its start on
    after_letter, after_join, leading = False, False, False
    while position < stop:
        code_point = code_point_at(data, position)
        following = position + encoded_length(code_point)
        kind = unit_of(normal_index, normal_blocks, code_point) & 7
        if code_point in (VERTICAL_TAB, FORM_FEED):
            kind = np.int64(LETTER)
        if kind == SPACE:
            # a gap of more than a byte ends the chunk
            if start < stop and following - end > 1:
                break
            after_letter, after_join, leading = False, False, False
        elif kind == PUNCTUATION_WORD:
            leading = leading or start == stop
            after_join = after_letter and code_point == APOSTROPHE
            after_letter = False
        elif kind == CHINESE_WORD:
            if start < stop:
                break
        else:
            if start < stop and not (after_letter or after_join or leading):
                break
            after_letter, after_join, leading = True, False, False
        if kind != SPACE:
            start = min(start, position)
            end = following
        position = following
    return start, end


@kernel
def fill_chunks(tables, data, position, stop, starts, ends, n, limit):
    """Append the chunks from ``position`` on until the text ends or ``limit`` spans are reached.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the text; not within a chunk.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Chunks there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
        Chunks there are now, and where to go on (``stop`` at the end).
    """
    while position < stop and n < limit:
        start, end = next_chunk(tables.normal_index, tables.normal_blocks, data, position, stop)
        if start < end:
            starts[n] = start
            ends[n] = end
            n += 1
        position = end
    return n, position
