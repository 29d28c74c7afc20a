"""Cutting text where no merge can cross, so that each chunk is encoded, and cached, by itself.

The table ``bridge`` has a bit for each pair of bytes, set when some piece that merging can make, or some user-defined
symbol, holds the two next to each other; also for every pair whose second byte continues a character. The text is cut
between bytes whose bit is not set. With ``UNKNOWN_FUSED`` it is never cut between two unknown characters.

*Cutting there is exact.* Every symbol that merging makes is a piece, so its bytes are neighbours within a piece, and
none reaches over a cut. So no pair over a cut ever merges: the candidates of the whole text are at any time those of
the chunks, the lowest, leftmost candidate of the whole is the lowest, leftmost of its chunk, and merging the whole
takes in each chunk the steps of that chunk alone. User-defined symbols are looked for from left to right before any
merging; none lies over a cut, so the longest match at a place, and the place where the search goes on, are the same.
What a symbol becomes depends on the symbol alone (an unused piece is taken apart the one way that it was made:
:mod:`numba_nlp.kernels.segment.derive_splits`), but for one thing: sentencepiece gives one id for neighbouring unknown
characters. A symbol without an id is a single character, so such neighbours are never cut apart. With byte fallback
each unknown character becomes its own bytes, whatever stands beside it.

*Raw text.* When escaping spaces is all that the normaliser does, the table serves both forms: every piece is entered as
it is and with spaces in place of U+2581, and the space has the symbol of U+2581.

Twin: ``numba_nlp.reference.segment.bridge``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.code_points import code_point_at, code_point_before
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import UNKNOWN, UNKNOWN_FUSED, UNKNOWN_POLICY, WINDOW
from numba_nlp.kernels.words import peek, poke, shift_left, shift_right, trailing_zeros

ZERO = np.uint64(0)
ONE = np.uint64(1)


@kernel
def is_unknown(character_index, character_symbols, symbol_ids, code_point):
    """Whether a character is no piece.

    Parameters
    ----------
    character_index, character_symbols, symbol_ids : uint16[0x110000 >> 7], int32[blocks * 128], int32[S]
    code_point : int64

    Returns
    -------
    bool
    """
    block = np.int64(character_index[code_point >> 7])
    return symbol_ids[character_symbols[(block << 7) | (code_point & 127)]] == UNKNOWN


@inlined
def is_cut(tables, text, position):
    """Whether text may be cut where the table of byte pairs allows it.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[n]
        Valid UTF-8.
    position : int64
        Between two bytes whose bit is not set, so between characters.

    Returns
    -------
    bool
        False between two unknown characters that have one id together. Pairs of ASCII characters are not looked at:
        their bits are set.
    """
    if tables.flags[UNKNOWN_POLICY] != UNKNOWN_FUSED or (peek(text, position - 1) | peek(text, position)) < 0x80:
        return True
    index, symbols, ids = tables.character_index, tables.character_symbols, tables.symbol_ids
    return not (
        is_unknown(index, symbols, ids, code_point_at(text, position))
        and is_unknown(index, symbols, ids, code_point_before(text, position))
    )


@inlined
def cut_mask(bridge, text, position, n):
    """Places without a bridge among ``n`` neighbouring ones.

    Parameters
    ----------
    bridge : uint64[1024]
    text : uint8[m]
    position, n : int64
        ``1 <= position``, ``1 <= n <= 64``, ``position + n <= m``.

    Returns
    -------
    uint64
        Bit ``i``: the table allows a cut before byte ``position + i``.
    """
    mask = ZERO
    left = np.int64(peek(text, position - 1))
    if n == WINDOW:
        # a constant length, which is unrolled
        for i in range(WINDOW):
            right = np.int64(peek(text, position + i))
            pair = (left << 8) | right
            mask |= (~shift_right(peek(bridge, pair >> 6), pair & 63) & ONE) << np.uint64(i)
            left = right
        return mask
    for i in range(n):
        right = np.int64(peek(text, position + i))
        pair = (left << 8) | right
        mask |= shift_left(~shift_right(peek(bridge, pair >> 6), pair & 63) & ONE, i)
        left = right
    return mask


@inlined
def fill_spans_bridge(tables, data, position, stop, starts, ends, n, limit):
    """Append the chunks from ``position`` on until the text ends or ``limit`` spans are reached.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    data : uint8[m]
        Valid UTF-8: normalised text, or raw text where the vocabulary allows that.
    position, stop : int64
        Start of a chunk, end of the text.
    starts, ends : int64[limit + WINDOW]
        Written from ``n`` on.
    n, limit : int64
        Spans there are, and where to stop; up to ``WINDOW`` more may come.

    Returns
    -------
    n, position : int64, int64
        Spans there are now, and the start of the first chunk that was not taken (``stop`` at the end).
    """
    if position >= stop:
        return n, position
    place = position + 1
    while n < limit:
        if place >= stop:
            poke(starts, n, position)
            poke(ends, n, stop)
            return n + 1, stop
        size = min(stop - place, np.int64(WINDOW))
        mask = cut_mask(tables.bridge, data, place, size)
        while mask != ZERO:
            end = place + trailing_zeros(mask)
            if is_cut(tables, data, end):
                poke(starts, n, position)
                poke(ends, n, end)
                n += 1
                position = end
            mask &= mask - ONE
        place += size
    return n, position
