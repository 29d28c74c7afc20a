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

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.code_points import code_point_at, code_point_before
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import UNKNOWN, UNKNOWN_FUSED, UNKNOWN_POLICY
from numba_nlp.kernels.words import peek, shift_right

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


@kernel
def next_cut(tables, text, position, stop):
    """End of the chunk that starts at ``position``.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    text : uint8[n]
        Valid UTF-8.
    position, stop : int64
        Start of a chunk, end of the text; ``position < stop``.

    Returns
    -------
    int64
        Above ``position``.
    """
    bridge = tables.bridge
    is_fused = tables.flags[UNKNOWN_POLICY] == UNKNOWN_FUSED
    left = np.int64(peek(text, position))
    position += 1
    while position < stop:
        right = np.int64(peek(text, position))
        pair = (left << 8) | right
        if shift_right(peek(bridge, pair >> 6), pair & 63) & ONE == np.uint64(0):
            if not is_fused:
                return position
            if not (
                is_unknown(
                    tables.character_index, tables.character_symbols, tables.symbol_ids, code_point_at(text, position)
                )
                and is_unknown(
                    tables.character_index, tables.character_symbols, tables.symbol_ids,
                    code_point_before(text, position),
                )
            ):  # fmt: skip
                return position
        left = right
        position += 1
    return stop


@kernel
def fill_spans_bridge(tables, data, position, stop, starts, ends, n, limit):
    """Append the chunks from ``position`` on until the text ends or ``limit`` spans are reached.

    Parameters
    ----------
    tables : SentencePieceBpeTables
    data : uint8[m]
        Valid UTF-8: normalised text, or raw text where the vocabulary allows that.
    position, stop : int64
        Start of a chunk, end of the text.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Spans there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
        Spans there are now, and the start of the first chunk that was not taken (``stop`` at the end).
    """
    while position < stop and n < limit:
        end = next_cut(tables, data, position, stop)
        starts[n] = position
        ends[n] = end
        n += 1
        position = end
    return n, position
