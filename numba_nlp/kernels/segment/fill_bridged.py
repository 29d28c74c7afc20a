"""Chunks of raw text for SentencePiece BPE whose normaliser does no more than escape spaces.

Text may be cut wherever no merge crosses (:mod:`numba_nlp.kernels.segment.bridge`), and any union of such chunks may be
encoded by itself. Which of the cuts are used decides how well a cache of chunks works: few chunks, and such that come
often. Here a chunk is white space and the word after it, found 64 bytes at a time by comparing bytes. Only where more
than ``LONGEST`` bytes follow each other without white space are byte pairs looked up: text that begins with ASCII is
cut at the last place within that length, else at the first one.

What counts as white space says ``white``, made by :func:`white_masks`: spaces, tabs and line feeds, as far as text may
be cut before each of them unless another one precedes, or a U+2581, which is the same as a space.

Twin: ``numba_nlp.reference.segment.fill_bridged``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.bridge import cut_mask, is_cut
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import UNKNOWN_BYTES, UNKNOWN_POLICY, WINDOW
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    is_readable,
    leading_zeros,
    peek,
    poke,
    shift_left,
    shift_right,
    trailing_zeros,
)

__all__ = ["fill_bridged", "white_masks"]

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
#: Longest chunk, in bytes, that is not cut any further: that of the cache's short keys.
LONGEST = 15
#: U+2581.
_MARK = (0xE2, 0x96, 0x81)


def white_masks(bridge: NDArray[np.uint64], flags: NDArray[np.int64], cuts_before_spaces: bool) -> NDArray[np.uint64]:
    """What counts as white space.

    Parameters
    ----------
    bridge : uint64[1024]
    flags : int64[N_FLAGS]
        As of :class:`numba_nlp.kernels.segment.sentencepiece_bpe_memory.SentencePieceBpeTables`.
    cuts_before_spaces : bool
        Whether U+2581 is a piece, and stands in no piece behind another character.

    Returns
    -------
    uint64[2]
        All ones or zero: for spaces; for tabs and line feeds.
    """
    bits = np.unpackbits(bridge.astype("<u8").view(np.uint8), bitorder="little").reshape(256, 256)
    # a line feed may be unknown, and unknown characters stay together unless they become bytes
    controls = flags[UNKNOWN_POLICY] == UNKNOWN_BYTES and not bits[:, (0x09, 0x0A)].any()
    return np.array([ALL_ONES if kind else 0 for kind in (cuts_before_spaces, controls)], np.uint64)


@inlined
def is_white(white, byte):
    """Whether a byte counts as white space.

    Parameters
    ----------
    white : uint64[2]
    byte : int64

    Returns
    -------
    bool
    """
    if byte == 0x20:
        return peek(white, np.int64(0)) != ZERO
    return (byte == 0x0A or byte == 0x09) and peek(white, np.int64(1)) != ZERO


@kernel
def last_cut(tables, data, position):
    """End of the longest chunk of up to ``LONGEST`` bytes.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    data : uint8[m]
    position : int64
        Start of the chunk; at least ``LONGEST + 1`` bytes follow.

    Returns
    -------
    int64
        0 when it cannot be cut so early.
    """
    mask = cut_mask(tables.bridge, data, position + 1, np.int64(LONGEST))
    while mask != ZERO:
        bit = 63 - leading_zeros(mask)
        if is_cut(tables, data, position + 1 + bit):
            return position + 1 + bit
        mask ^= shift_left(ONE, bit)
    return np.int64(0)


@kernel
def first_cut(tables, data, position, stop):
    """End of the shortest chunk.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    data : uint8[m]
    position, stop : int64
        Start of the chunk, end of the text.

    Returns
    -------
    int64
    """
    place = position + 1
    while place < stop:
        size = min(stop - place, np.int64(WINDOW))
        mask = cut_mask(tables.bridge, data, place, size)
        while mask != ZERO:
            end = place + trailing_zeros(mask)
            if is_cut(tables, data, end):
                return end
            mask &= mask - ONE
        place += size
    return stop


@kernel
def end_of_long(tables, data, position, stop):
    """End of a chunk that no white space and no end of the text is near.

    Parameters
    ----------
    tables : SentencePieceBpeRowTables
    data : uint8[m]
    position, stop : int64
        Start of the chunk, end of the text; more than ``LONGEST`` bytes later.

    Returns
    -------
    int64
    """
    end = np.int64(0)
    if data[position] < 0x80:
        end = last_cut(tables, data, position)
    return end if end != 0 else first_cut(tables, data, position, stop)


@kernel
def end_of_chunk(tables, data, position, stop):
    """End of the chunk that begins at ``position``.

    Parameters
    ----------
    tables : SentencePieceBpeRowTables
    data : uint8[m]
    position, stop : int64
        Start of the chunk, end of the text.

    Returns
    -------
    int64
    """
    for place in range(position + 1, min(position + LONGEST + 1, stop)):
        if is_white(tables.white, np.int64(data[place])):
            before = np.int64(data[place - 1])
            is_mark = before == _MARK[2] and data[place - 2] == _MARK[1] and data[place - 3] == _MARK[0]
            if not is_mark and not is_white(tables.white, before):
                return np.int64(place)
    return stop if stop - position <= LONGEST else end_of_long(tables, data, position, stop)


if VECTOR:
    from numba_nlp.kernels.words import window_masks

    _white_masks = window_masks([(0x20, 0x20)], [(0x09, 0x0A)], *([(byte, byte)] for byte in _MARK))

    @inlined
    def fill_bridged(tables, data, position, stop, starts, ends, n, limit):
        """Append the chunks from ``position`` on until the text ends or ``limit`` spans are reached.

        Parameters
        ----------
        tables : SentencePieceBpeRowTables
        data : uint8[m]
            Valid UTF-8.
        position, stop : int64
            Start of a chunk, end of the text.
        starts, ends : int64[limit + 64]
            Written from ``n`` on.
        n, limit : int64
            Spans there are, and where to stop taking more.

        Returns
        -------
        n, position : int64, int64
            Spans there are now, and the start of the first chunk that was not taken (``stop`` at the end).
        """
        spaces, controls = peek(tables.white, np.int64(0)), peek(tables.white, np.int64(1))
        while position < stop and n < limit:
            if is_readable(data, position, 64):
                space, control, mark_first, mark_second, mark_third = _white_masks(data, position)
                white = (space & spaces) | (control & controls)
                mark = mark_third & (mark_second << ONE) & (mark_first << TWO)
                # bit i: a chunk ends behind i + 1 bytes
                bounds = (white & ~((white | mark) << ONE)) >> ONE
                window = position
                room = stop - position
                if room <= 64:
                    bounds = (bounds & (shift_left(ONE, room - 1) - ONE)) | shift_left(ONE, room - 1)
                while True:
                    length = trailing_zeros(bounds) + 1
                    if length > LONGEST:
                        break
                    poke(starts, n, position)
                    position += length
                    poke(ends, n, position)
                    n += 1
                    bounds = shift_right(bounds, length)
                if position >= stop:
                    break
                if position - window > 63 - LONGEST:
                    continue
                end = end_of_long(tables, data, position, stop)
            else:
                end = end_of_chunk(tables, data, position, stop)
            poke(starts, n, position)
            poke(ends, n, end)
            n += 1
            position = end
        return n, position

else:

    @kernel
    def fill_bridged(tables, data, position, stop, starts, ends, n, limit):
        """Append chunks, one at a time; arguments and result as in the vector form.

        ``tables, data, position, stop, starts, ends, n, limit``
        """
        while position < stop and n < limit:
            end = end_of_chunk(tables, data, position, stop)
            starts[n] = position
            ends[n] = end
            n += 1
            position = end
        return n, position
