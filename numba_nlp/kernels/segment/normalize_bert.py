"""BERT's normaliser: clean-up, spaces around Chinese characters, accents stripped, lower case; with alignment.

One table, made for the options of a vocabulary (``vocab_tools.compiler.bert_characters``), says for every code point
what it becomes and how the pre-tokeniser treats that. A unit of it (uint32) holds

* bits 0-2: ``LETTER`` (part of a word), ``SPACE`` (parts words), ``DELETED`` (words around it join),
  ``PUNCTUATION_WORD`` (a word by itself), ``CHINESE_WORD`` (a word by itself with a space on either side in the
  normalised text), or ``SEVERAL``;
* bits 3-23: the code point that it becomes, ``ITSELF`` when it stays as it is; of ``SEVERAL`` the place of its units
  in ``normal_several``;
* bits 24-31: the canonical combining class, 0 for what is no mark, ``NO_CLASS`` for what is taken away before marks
  are put into order; of ``SEVERAL`` the number of its units.

Each character is normalised by itself, with one exception: canonical decomposition puts the marks of a run into the
order of their combining classes (Unicode standard, 3.11). Nearly all marks are then taken away as accents; the few
that stay (spacing marks, and nonspacing ones younger than the reference's tables) are put into order here.

Twin: ``numba_nlp.reference.segment.normalize_bert``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.code_points import code_point_at, code_point_before, encoded_length

__all__ = [
    "CHINESE_WORD",
    "DELETED",
    "ITSELF",
    "LETTER",
    "MIXED",
    "NO_CLASS",
    "PUNCTUATION_WORD",
    "SEVERAL",
    "SPACE",
    "normalize",
    "normalized_room",
]

#: What a character is to the pre-tokeniser.
LETTER, SPACE, DELETED, PUNCTUATION_WORD, CHINESE_WORD, SEVERAL = range(6)
#: In place of a kind, of characters that share their first two bytes: they are not of one kind.
MIXED = 255
#: In place of a code point: the character stays as it is.
ITSELF = 0
#: In place of a combining class: deleted before marks are put into order.
NO_CLASS = 255
#: Most bytes that a byte becomes: Hangul syllables become three letters of three bytes each.
GROWTH = 3


def normalized_room(n: int) -> int:
    """Most bytes that ``n`` bytes of text are normalised to, for every choice of options."""
    return GROWTH * n


@kernel
def unit_of(normal_index, normal_blocks, code_point):
    """Unit of a code point.

    Parameters
    ----------
    normal_index, normal_blocks : uint16[0x110000 >> 7], uint32[blocks * 128]
    code_point : int64

    Returns
    -------
    int64
    """
    block = np.int64(normal_index[code_point >> 7])
    return np.int64(normal_blocks[(block << 7) | (code_point & 127)])


@kernel
def put_character(text, at, code_point):
    """Write a character as UTF-8.

    Parameters
    ----------
    text : uint8[room]
        Written from ``at`` on.
    at, code_point : int64

    Returns
    -------
    int64
        Place after it.
    """
    if code_point < 0x80:
        text[at] = np.uint8(code_point)
        return at + 1
    if code_point < 0x800:
        text[at] = np.uint8(0xC0 | (code_point >> 6))
        text[at + 1] = np.uint8(0x80 | (code_point & 0x3F))
        return at + 2
    if code_point < 0x10000:
        text[at] = np.uint8(0xE0 | (code_point >> 12))
        text[at + 1] = np.uint8(0x80 | ((code_point >> 6) & 0x3F))
        text[at + 2] = np.uint8(0x80 | (code_point & 0x3F))
        return at + 3
    text[at] = np.uint8(0xF0 | (code_point >> 18))
    text[at + 1] = np.uint8(0x80 | ((code_point >> 12) & 0x3F))
    text[at + 2] = np.uint8(0x80 | ((code_point >> 6) & 0x3F))
    text[at + 3] = np.uint8(0x80 | (code_point & 0x3F))
    return at + 4


@kernel
def settle_mark(normal_index, normal_blocks, text, from_starts, from_ends, run, at, stop):
    """Move the mark at the end of a run of marks to its place in canonical order.

    Parameters
    ----------
    normal_index, normal_blocks : uint16[0x110000 >> 7], uint32[blocks * 128]
    text : uint8[room]
        ``text[run:at]`` holds marks in canonical order, ``text[at:stop]`` one more.
    from_starts, from_ends : int32[room] or int32[0]
        Moved together with the bytes.
    run, at, stop : int64

    Returns
    -------
    int64
        0.
    """
    mark_class = unit_of(normal_index, normal_blocks, code_point_at(text, at)) >> 24
    place = at
    while place > run:
        code_point = code_point_before(text, place)
        if unit_of(normal_index, normal_blocks, code_point) >> 24 <= mark_class:
            break
        place -= encoded_length(code_point)
    for k in range(stop - at if place < at else 0):
        byte = text[at + k]
        for i in range(at + k, place + k, -1):
            text[i] = text[i - 1]
        text[place + k] = byte
        if from_starts.size:
            first, last = from_starts[at + k], from_ends[at + k]
            for i in range(at + k, place + k, -1):
                from_starts[i] = from_starts[i - 1]
                from_ends[i] = from_ends[i - 1]
            from_starts[place + k] = first
            from_ends[place + k] = last
    return np.int64(0)


@kernel
def normalize(tables, data, start, stop, text, from_starts, from_ends):
    """Normalise a text.

    Parameters
    ----------
    tables : WordPieceTables
        Or any tuple with ``normal_index``, ``normal_blocks`` and ``normal_several``.
    data : uint8[m]
        Valid UTF-8.
    start, stop : int64
        The text.
    text : uint8[normalized_room(stop - start)]
        Written.
    from_starts, from_ends : int32[normalized_room(stop - start)] or int32[0]
        Written unless empty: for each normalised byte the bytes, relative to ``start``, of the character that it came
        from.

    Returns
    -------
    int64
        Bytes of the normalised text.

    Notes
    -----
    O(stop - start), and quadratic in the length of a run of marks that stay and stand in the wrong order.
    """
    index, blocks = tables.normal_index, tables.normal_blocks
    position, at, run = start, np.int64(0), np.int64(0)
    while position < stop:
        code_point = code_point_at(data, position)
        following = position + encoded_length(code_point)
        unit = unit_of(index, blocks, code_point)
        kind = unit & 7
        first = at
        if kind == SEVERAL:
            place = (unit >> 3) & 0x1FFFFF
            for k in range(unit >> 24):
                part = np.int64(tables.normal_several[place + k])
                before = at
                at = put_character(text, at, (part >> 3) & 0x1FFFFF)
                run = _aligned(from_starts, from_ends, before, at, position - start, following - start, run, part)
                if part >> 24 != 0:
                    settle_mark(index, blocks, text, from_starts, from_ends, run, before, at)
        elif kind == DELETED:
            if unit >> 24 == 0:
                run = at
        else:
            image = (unit >> 3) & 0x1FFFFF
            if image == ITSELF:
                image = code_point
            if kind == CHINESE_WORD:
                at = put_character(text, at, 0x20)
            at = put_character(text, at, image)
            if kind == CHINESE_WORD:
                at = put_character(text, at, 0x20)
            run = _aligned(from_starts, from_ends, first, at, position - start, following - start, run, unit)
            if unit >> 24 != 0:
                settle_mark(index, blocks, text, from_starts, from_ends, run, first, at)
        position = following
    return at


@kernel
def _aligned(from_starts, from_ends, first, stop, start, end, run, unit):
    """Align normalised bytes ``first`` to ``stop``, one character; where the run of marks begins after it."""
    if from_starts.size:
        for i in range(first, stop):
            from_starts[i] = np.int32(start)
            from_ends[i] = np.int32(end)
    return run if unit >> 24 != 0 else stop
