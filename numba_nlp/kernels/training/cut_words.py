"""Where words begin and end for trainers, where no encoder has the rule already.

All of them have the signature of the scanners in :mod:`numba_nlp.kernels.segment.character_words`.

Twin: ``numba_nlp.reference.training.cut_words``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length, is_white_space
from numba_nlp.kernels.segment.normalize_bert import CHINESE_WORD, PUNCTUATION_WORD, SPACE, unit_of

__all__ = ["fill_bert_words", "fill_marked", "fill_spaced", "fill_white"]

_SPACE = 0x20


@inlined
def _mark_length(data, position, stop):
    """Bytes of the space or U+2581 at ``position``; 0 for anything else."""
    if data[position] == _SPACE:
        return 1
    if position + 2 < stop and data[position] == 0xE2 and data[position + 1] == 0x96 and data[position + 2] == 0x81:
        return 3
    return 0


@kernel
def fill_white(tables, data, position, stop, starts, ends, n, limit):
    """Append what white space parts, the characters with the Unicode property White_Space.

    Parameters
    ----------
    tables : WordRules
        Not used.
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the row; not within a word.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Words there are, and where to stop taking more.

    Returns
    -------
    n, position : int64, int64
        Words there are now, and where to go on (``stop`` at the end).
    """
    start = np.int64(-1)
    while position < stop and n < limit:
        code_point = np.int64(data[position])
        length = np.int64(1)
        if code_point >= 0x80:
            code_point = code_point_at(data, position)
            length = encoded_length(code_point)
        if is_white_space(code_point):
            if start >= 0:
                starts[n] = start
                ends[n] = position
                n += 1
            start = np.int64(-1)
        elif start < 0:
            start = position
        position += length
    if start >= 0:
        starts[n] = start
        ends[n] = position
        n += 1
    return n, position


@kernel
def fill_marked(tables, data, position, stop, starts, ends, n, limit):
    """Append words as ``Metaspace`` of tokenizers cuts them, without the mark that each begins with.

    Every space or U+2581 begins a word, also where nothing follows it, and so does the row. Arguments as in
    :func:`fill_white`: ``tables, data, position, stop, starts, ends, n, limit``.

    Returns
    -------
    n, position : int64, int64
        Words there are now, and where to go on: ``stop`` at the end, else the mark of the next word.
    """
    while position < stop and n < limit:
        position += _mark_length(data, position, stop)
        starts[n] = position
        while position < stop and _mark_length(data, position, stop) == 0:
            position += 1
        ends[n] = position
        n += 1
    return n, position


@kernel
def fill_spaced(tables, data, position, stop, starts, ends, n, limit):
    """Append words as SentencePiece cuts normalised text: what runs of U+0020 and U+2581 part.

    Arguments as in :func:`fill_white`: ``tables, data, position, stop, starts, ends, n, limit``.

    Returns
    -------
    n, position : int64, int64
    """
    while n < limit:
        while position < stop:
            length = _mark_length(data, position, stop)
            if length == 0:
                break
            position += length
        if position >= stop:
            break
        starts[n] = position
        while position < stop and _mark_length(data, position, stop) == 0:
            position += 1
        ends[n] = position
        n += 1
    return n, position


@kernel
def fill_bert_words(tables, data, position, stop, starts, ends, n, limit):
    """Append words of BERT's pre-tokeniser; the text has been through its normaliser.

    Arguments as in :func:`fill_white`: ``tables, data, position, stop, starts, ends, n, limit``; the kinds of
    characters come from ``tables.normal_index`` and ``tables.normal_blocks``.

    Returns
    -------
    n, position : int64, int64
    """
    start = np.int64(-1)
    while position < stop and n < limit:
        code_point = code_point_at(data, position)
        length = encoded_length(code_point)
        kind = unit_of(tables.normal_index, tables.normal_blocks, code_point) & 7
        if kind in (SPACE, PUNCTUATION_WORD, CHINESE_WORD):
            if start >= 0:
                # the character is looked at again, so that a call adds one word at a time
                starts[n] = start
                ends[n] = position
                n += 1
                start = np.int64(-1)
                continue
            if kind != SPACE:
                starts[n] = position
                ends[n] = position + length
                n += 1
        elif start < 0:
            start = position
        position += length
    if start >= 0:
        starts[n] = start
        ends[n] = position
        n += 1
    return n, position
