"""Chunks of text for WordPiece, 64 bytes at a time; what a chunk is says :mod:`numba_nlp.kernels.segment.fill_words`.

A window that begins with a chunk becomes masks of white space, punctuation, Chinese characters and letters (all
else). Where chunks start depends on what stands before only, so that every start in the window is certain. Where they
end depends on one byte behind, and the chunk that the window cuts off is left to the next window, or to the scalar
scanner when it fills the whole window. Letters beyond ASCII are told by their first byte where no other kind of
character shares it; ``tests/kernels/test_window_words.py`` compares these bytes with the tables of all options. Others
are told by two bytes where those suffice (``pair_kinds``).

Twin: ``numba_nlp.reference.segment.fill_words``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.bit_places import put_places
from numba_nlp.kernels.segment.code_points import code_point_at
from numba_nlp.kernels.segment.fill_words import next_chunk
from numba_nlp.kernels.segment.normalize_bert import CHINESE_WORD, LETTER, MIXED, PUNCTUATION_WORD, SPACE, unit_of
from numba_nlp.kernels.segment.window_spans import ONE, TWO, ZERO, lowest_cleared
from numba_nlp.kernels.segment.window_wide import whole_characters
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    add,
    is_readable,
    leading_zeros,
    peek,
    popcount,
    shift_left,
    trailing_zeros,
)

__all__ = ["SURE_CHINESE", "SURE_LETTERS", "fill_chunks"]

#: First bytes of which every character is a letter or deleted, whatever the options.
SURE_LETTERS = ((0xC3, 0xCC), (0xCF, 0xD4), (0xDA, 0xDA), (0xDD, 0xDE), (0xEB, 0xEC))
#: First bytes of which every character is Chinese where these are words, else a letter.
SURE_CHINESE = ((0xE5, 0xE9),)
#: One of them.
_CHINESE_CHARACTER = 0x4E2D

if VECTOR:
    from numba_nlp.kernels.words import window_masks

    _masks = window_masks(
        [(0x20, 0x20), (0x09, 0x0A), (0x0D, 0x0D)],  # white space, cleaned or not
        [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],  # punctuation
        [(0x27, 0x27)],  # apostrophe
        [(0x80, 0xFF)],  # all of a character beyond ASCII
    )
    _wide_masks = window_masks(
        [(0xC0, 0xFF)],  # first byte of a character beyond ASCII
        SURE_LETTERS,
        SURE_CHINESE,
    )

    @inlined
    def _wide_kinds(tables, data, position, beyond, chinese_words):
        """White space, punctuation (all bytes of both), Chinese characters beyond ASCII (all bytes, first bytes)."""
        pair_kinds = tables.pair_kinds
        leads, letters, chinese = _wide_masks(data, position)
        leads &= beyond
        further = beyond & ~leads
        leads &= ~letters
        chinese &= leads
        leads ^= chinese
        chinese &= chinese_words
        space = punctuation = ZERO
        while leads != ZERO:
            rest = lowest_cleared(leads)
            lead = leads ^ rest
            at = position + trailing_zeros(leads)
            leads = rest
            pair = (np.int64(peek(data, at)) & 63) << 6 | (np.int64(peek(data, at + 1)) & 63)
            kind = np.int64(peek(pair_kinds, pair))
            if kind == LETTER:
                continue
            if kind == MIXED:
                kind = unit_of(tables.normal_index, tables.normal_blocks, code_point_at(data, at)) & 7
            if kind == PUNCTUATION_WORD:
                punctuation |= lead
            elif kind == SPACE:
                space |= lead
            elif kind == CHINESE_WORD:
                chinese |= lead
        if (space | punctuation) != ZERO:
            space = whole_characters(space, further)
            punctuation = whole_characters(punctuation, further)
        return space, punctuation, whole_characters(chinese, further), chinese

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
        starts, ends : int64[limit + 80]
            Written from ``n`` on.
        n, limit : int64
            Chunks there are, and where to stop taking more.

        Returns
        -------
        n, position : int64, int64
            Chunks there are now, and where to go on (``stop`` at the end).
        """
        index, blocks = tables.normal_index, tables.normal_blocks
        chinese_words = ZERO
        if unit_of(index, blocks, _CHINESE_CHARACTER) & 7 == CHINESE_WORD:
            chinese_words = ALL_ONES
        while position < stop and n < limit:
            if is_readable(data, position, 64):
                space, punctuation, quote, beyond = _masks(data, position)
                room = stop - position
                valid = ALL_ONES
                if room < 64:
                    valid = shift_left(ONE, room) - ONE
                    space |= ~valid
                    punctuation &= valid
                    beyond &= valid
                if space & ONE != ZERO:
                    # white space of ASCII before the chunk
                    position = min(position + trailing_zeros(~space), stop)
                    continue
                narrow = space
                chinese = chinese_leads = ZERO
                if beyond != ZERO:
                    wide_space, wide_punctuation, chinese, chinese_leads = _wide_kinds(
                        tables, data, position, beyond, chinese_words
                    )
                    space |= wide_space
                    punctuation |= wide_punctuation
                if space & ONE == ZERO:
                    letter = ~(space | punctuation | chinese)
                    after_gap = (space << ONE) & (space << TWO)
                    leading = punctuation & (after_gap | ONE)
                    joined = (quote << ONE) & (letter << TWO)
                    led = add(punctuation, leading) & ~punctuation
                    start = (letter & ~((letter << ONE) | joined | led)) | chinese_leads | leading | ONE
                    # single white space before punctuation lies within a chunk
                    bound = space & ~((punctuation >> ONE) & ~(space << ONE))
                    parted = ~(bound << ONE)
                    end = ((bound | start) & parted) & ~ONE
                    if room > 64:
                        # the last byte may be single white space before punctuation
                        end &= ~((bound & parted) & (ONE << np.uint64(63)))
                    n_ends = popcount(end)
                    if n_ends != 0:
                        n_starts = popcount(start)
                        last = 63 - leading_zeros(start)
                        if n_starts == n_ends:
                            # the window ends in white space
                            last = 63 - leading_zeros(end)
                            if narrow >> np.uint64(last) == ALL_ONES >> np.uint64(last):
                                last = np.int64(64)
                        put_places(starts, n, position, start)
                        put_places(ends, n, position, end)
                        n += n_ends
                        position = min(position + last, stop)
                        continue
            start_of_one, end_of_one = next_chunk(index, blocks, data, position, stop)
            if start_of_one < end_of_one:
                starts[n] = start_of_one
                ends[n] = end_of_one
                n += 1
            position = end_of_one
        return n, position

else:
    from numba_nlp.kernels.segment.fill_words import fill_chunks
