"""Chunks of raw text for SentencePiece: words with one space before them, cut before normalisation.

A chunk is a space and what follows up to the next run of spaces; of a run the last one stands for all, since the
normaliser makes one of them. Spaces are the bytes that become a space whatever stands around them (bit ``SPACE`` of
``byte_traits``). Text is cut only where the byte before the run is ``SOLID``: else what precedes the run may end with
a space after normalisation and take the run in, so the run stays inside the chunk.

A row's first chunk begins with no space (:func:`begin_row`), all others do. So a chunk's bytes say whether it is the
first one, and the ids of a chunk depend on its bytes alone.

Twin: ``numba_nlp.reference.segment.fill_spaced``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import LOW_SPACES, SOLID, SPACE
from numba_nlp.kernels.words import VECTOR, peek

__all__ = ["begin_row", "fill_spaced"]

ZERO, ONE = np.uint64(0), np.uint64(1)


@inlined
def _has(traits, data, place, trait):
    return np.int64(peek(traits, np.int64(peek(data, place)))) & trait != 0


if VECTOR:
    from numba_nlp.kernels.words import is_readable, trailing_zeros, window_masks

    _low_bytes = window_masks([(0x00, 0x20)])

    @inlined
    def _next_space(traits, data, place, stop):
        """First place from ``place`` on with a space, ``stop`` when there is none."""
        if np.int64(peek(traits, 0)) & LOW_SPACES != 0:
            while place < stop and is_readable(data, place, 64):
                (low,) = _low_bytes(data, place)
                while low != ZERO:
                    found = place + trailing_zeros(low)
                    if found >= stop:
                        return stop
                    if _has(traits, data, found, SPACE):
                        return found
                    low &= low - ONE
                place += 64
        while place < stop and not _has(traits, data, place, SPACE):
            place += 1
        return min(place, stop)

else:

    @inlined
    def _next_space(traits, data, place, stop):
        """The plain form of ``traits, data, place, stop``."""
        while place < stop and not _has(traits, data, place, SPACE):
            place += 1
        return place


@kernel
def begin_row(tables, data, start, stop):
    """Where a row begins once the spaces before it are left out.

    Parameters
    ----------
    tables : SentencePieceTables
    data : uint8[m]
    start, stop : int64
        The row.

    Returns
    -------
    int64
    """
    while start < stop and _has(tables.byte_traits, data, start, SPACE):
        start += 1
    return start


@kernel
def fill_spaced(tables, data, position, stop, starts, ends, n, limit):
    """Append the chunks from ``position`` on until the text ends or ``limit`` chunks are reached.

    Parameters
    ----------
    tables : SentencePieceTables
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the row; not within a chunk.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Chunks there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
        Chunks there are now, and where to go on (``stop`` at the end).
    """
    traits = tables.byte_traits
    while position < stop and n < limit:
        place = position
        while place < stop and _has(traits, data, place, SPACE):
            place += 1
        if place == stop:
            return n, stop
        starts[n] = max(place - 1, position)
        while True:
            place = _next_space(traits, data, place + 1, stop)
            if place >= stop or _has(traits, data, place - 1, SOLID):
                break
            while place < stop and _has(traits, data, place, SPACE):
                place += 1
            if place >= stop:
                break
        ends[n] = place
        n += 1
        position = place
    return n, position
