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
from numba_nlp.kernels.segment.sentencepiece_unigram_memory import SOLID, SPACE
from numba_nlp.kernels.words import peek

__all__ = ["begin_row", "fill_spaced"]


@inlined
def _has(traits, data, place, trait):
    return np.int64(peek(traits, np.int64(peek(data, place)))) & trait != 0


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
            place += 1
            while place < stop and not _has(traits, data, place, SPACE):
                place += 1
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
