"""Rows of text into a table of word counts, one kernel for each way to cut them.

Twin: ``numba_nlp.reference.training.count_rows``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.bpe import SCANS
from numba_nlp.kernels.segment.character_words import fill_spaces, fill_whole
from numba_nlp.kernels.segment.normalize_bert import normalize
from numba_nlp.kernels.segment.window_words import fill_chunks
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.training.cut_words import fill_bert_words, fill_marked, fill_spaced, fill_white
from numba_nlp.kernels.training.word_table import add_word, has_room

__all__ = ["BLOCK", "COUNT_ROWS", "SLACK", "WordRules", "count_bert_words", "count_rows"]

#: Words that are cut before they are counted.
BLOCK = 256
#: Elements that scanners may write behind the last span, and one for :func:`fill_spaces`.
SLACK = 81


class WordRules(NamedTuple):
    """Character tables of the scanners; those that a way to cut does not look at may be empty.

    Attributes
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Character classes of :mod:`numba_nlp.kernels.segment.scan`.
    normal_index, normal_blocks, normal_several : uint16[0x110000 >> 7], uint32[blocks * 128], uint32[k]
    pair_kinds : uint8[4096]
        Of :mod:`numba_nlp.kernels.segment.normalize_bert`.
    """

    class_index: NDArray[np.uint16]
    class_blocks: NDArray[np.uint8]
    normal_index: NDArray[np.uint16]
    normal_blocks: NDArray[np.uint32]
    normal_several: NDArray[np.uint32]
    pair_kinds: NDArray[np.uint8]


def _scan(tables, data, position, stop, starts, ends, n, limit):
    """A scanner of byte-level patterns with the tables of :class:`WordRules`."""
    return scan(  # noqa: F821  bound by `specialise`
        tables.class_index, tables.class_blocks, data, position, stop, starts, ends, n, limit
    )


def count_rows(tables, data, starts, ends, first, span_starts, span_ends, table, where):
    """Cut rows into words and count them, as long as the table has room.

    Parameters
    ----------
    tables : WordRules
    data : uint8[m]
        Valid UTF-8.
    starts, ends : int64[rows]
        Row ``i`` is ``data[starts[i]:ends[i]]``.
    first : int64
        The row to begin with.
    span_starts, span_ends : int64[BLOCK + SLACK]
        Scratch.
    table : WordTable
        Written.
    where : int64[2]
        Where in the first row to go on, -1 for its beginning. Written when the table is full: where to go on in the
        row that is returned, and bytes that the words to come may have.

    Returns
    -------
    int64
        The row to go on with, once the table has grown; ``rows`` at the end.
    """
    mark = span_ends.size - 1
    for row in range(first, starts.size):
        position = starts[row]
        span_ends[mark] = 0
        if where[0] >= 0:
            position = where[0]
            where[0] = -1
            # what fill_spaces left there when it stopped within the row
            if position > starts[row]:
                span_ends[mark] = position + 1
        stop = ends[row]
        while position < stop:
            begun = position
            n, position = fill(  # noqa: F821  bound by `specialise`
                tables, data, position, stop, span_starts, span_ends, np.int64(0), np.int64(BLOCK)
            )
            if not has_room(table, n, position - begun):
                where[0] = begun
                where[1] = position - begun
                return np.int64(row)
            for i in range(n):
                add_word(table, data, span_starts[i], span_ends[i] - span_starts[i], np.int64(1))
    return np.int64(starts.size)


_FILLS: dict[str, Any] = {
    name: inlined(specialise(_scan, f"_fill_{name}", scan=scan)) for name, scan in SCANS.items() if name != "whole"
} | {
    "bert": fill_chunks,
    "metaspace": fill_marked,
    "none": fill_whole,
    "sentencepiece": fill_spaced,
    "spaces": fill_spaces,
    "whitespace": fill_white,
}
#: :func:`count_rows` compiled for each way to cut. ``"bert"`` counts chunks, for :func:`count_bert_words`.
COUNT_ROWS = {name: kernel(specialise(count_rows, f"count_rows_{name}", fill=fill)) for name, fill in _FILLS.items()}


@kernel
def count_bert_words(tables, data, offsets, counts, first, text, no_alignment, span_starts, span_ends, table, where):
    """Normalise counted chunks as BERT does, cut them into words, and count these.

    Parameters
    ----------
    tables : WordRules
    data, offsets, counts : uint8[m], int64[chunks + 1], int64[chunks]
        Chunks that words do not reach across, and how often each occurs.
    first : int64
        The chunk to begin with.
    text : uint8[normalized_room(longest chunk)]
        Scratch.
    no_alignment : int32[0]
        Not written.
    span_starts, span_ends : int64[BLOCK + SLACK]
        Scratch.
    table : WordTable
        Written.
    where : int64[2]
        Where in the normalised text of the first chunk to go on; -1 or 0: at its beginning. Written as by
        :func:`count_rows`.

    Returns
    -------
    int64
        The chunk to go on with, once the table has grown; ``chunks`` at the end.
    """
    for chunk in range(first, counts.size):
        size = normalize(tables, data, offsets[chunk], offsets[chunk + 1], text, no_alignment, no_alignment)
        position = max(where[0], np.int64(0))
        where[0] = -1
        while position < size:
            begun = position
            n, position = fill_bert_words(
                tables, text, position, size, span_starts, span_ends, np.int64(0), np.int64(BLOCK)
            )
            if not has_room(table, n, position - begun):
                where[0] = begun
                where[1] = position - begun
                return np.int64(chunk)
            for i in range(n):
                add_word(table, text, span_starts[i], span_ends[i] - span_starts[i], counts[chunk])
    return np.int64(counts.size)
