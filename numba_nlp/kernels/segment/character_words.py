r"""Words of character BPE that stand in the text as they are: where they begin and end, and chunks for the word cache.

Rules (``flags[WORDS]``):

``WORDS_WHITE``
    What white space parts, the characters with the Unicode property. With ``NEWLINE_ENDS_WORD`` a line feed right
    behind a word belongs to it (CTRL: ``\S+\n?``).
``WORDS_SPACES``
    What U+0020 parts, after spaces and line ends are taken off both ends of the row (subword-nmt).
``WORDS_WHOLE``
    All of it.
``WORDS_CLIP``
    CLIP's regular expression, case left aside: a special token of CLIP, an English contraction, a run of letters, one
    number, a run of what is none of these nor white space; and what GPT-2's expression makes of a special token, three
    words.

Chunks are cut at ASCII white space only (at U+0020 only for ``WORDS_SPACES``), which parts words under each of these
rules, so that words of different chunks do not depend on each other.

Twin: ``numba_nlp.reference.segment.character_words``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.character_bpe_memory import (
    NEWLINE_ENDS_WORD,
    WORDS,
    WORDS_CLIP,
    WORDS_SPACES,
    WORDS_WHOLE,
)
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length, is_white_space
from numba_nlp.kernels.words import peek, poke

__all__ = ["fill_spaces", "fill_white", "fill_whole", "next_word"]

_SPACE, _LINE_FEED, _CARRIAGE_RETURN, _APOSTROPHE, _LESS, _BAR, _GREATER = 0x20, 0x0A, 0x0D, 0x27, 0x3C, 0x7C, 0x3E
#: Kinds of characters for CLIP, by their class: white space, letters, numbers, others.
_OF_SPACE, _OF_LETTER, _OF_NUMBER, _OF_OTHER = range(4)


@inlined
def _is_ascii_space(byte):
    return byte == 0x20 or (byte >= 0x09 and byte <= 0x0D)


@inlined
def fill_white(tables, data, position, stop, starts, ends, n, limit):
    """Append what ASCII white space parts, from ``position`` on, until the text ends or ``limit`` spans are reached.

    Parameters
    ----------
    tables : CharacterBpeTables
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the text; not within a chunk.
    starts, ends : int64[limit]
        Written from ``n`` on.
    n, limit : int64
        Chunks there are, and where to stop taking more.

    Returns
    -------
    n, position : int64, int64
        Chunks there are now, and where to go on (``stop`` at the end).
    """
    takes_newline = tables.flags[NEWLINE_ENDS_WORD] != 0
    while n < limit:
        while position < stop and _is_ascii_space(peek(data, position)):
            position += 1
        if position >= stop:
            break
        start = position
        while position < stop and not _is_ascii_space(peek(data, position)):
            position += 1
        if takes_newline and position < stop and peek(data, position) == _LINE_FEED:
            position += 1
        poke(starts, n, start)
        poke(ends, n, position)
        n += 1
    return n, position


@inlined
def fill_spaces(tables, data, position, stop, starts, ends, n, limit):
    """Append what U+0020 parts, without spaces and line ends at both ends of the row.

    The last element of ``ends`` says where the row goes on, plus one, when it was left in its middle: there line ends
    belong to a word, at its beginning they do not. Who calls this with a new row has had the row before finished.

    Parameters
    ----------
    tables : CharacterBpeTables
        Not used.
    data : uint8[m]
    position, stop : int64
        Where to go on, end of the row.
    starts, ends : int64[more than limit + 1]
        Written from ``n`` on.
    n, limit : int64
        Chunks there are, and where to stop taking more.

    Returns
    -------
    n, position : int64, int64
        Chunks there are now, and where to go on (``stop`` at the end).
    """
    mark = ends.size - 1
    last = stop
    while last > position and _is_stripped(peek(data, last - 1)):
        last -= 1
    if peek(ends, mark) != position + 1:
        while position < last and _is_stripped(peek(data, position)):
            position += 1
    poke(ends, mark, np.int64(0))
    while n < limit:
        while position < last and peek(data, position) == _SPACE:
            position += 1
        if position >= last:
            return n, stop
        start = position
        while position < last and peek(data, position) != _SPACE:
            position += 1
        poke(starts, n, start)
        poke(ends, n, position)
        n += 1
    if position >= last:
        return n, stop
    poke(ends, mark, position + 1)
    return n, position


@inlined
def _is_stripped(byte):
    return byte in (_SPACE, _LINE_FEED, _CARRIAGE_RETURN)


@inlined
def fill_whole(tables, data, position, stop, starts, ends, n, limit):
    """Append the whole text as one chunk, unless it is empty: for text that is already cut into words.

    Parameters
    ----------
    tables : CharacterBpeTables
        Not used.
    data : uint8[m]
        Not used.
    position, stop : int64
    starts, ends : int64[limit]
        Written at ``n``.
    n, limit : int64

    Returns
    -------
    n, position : int64, int64
    """
    if position < stop and n < limit:
        starts[n] = position
        ends[n] = stop
        return n + 1, stop
    return n, position


@kernel
def next_word(tables, data, position, stop, literal):
    """Find the next word.

    Parameters
    ----------
    tables : CharacterBpeTables
        Of another rule than ``WORDS_BERT``.
    data : uint8[m]
        Valid UTF-8.
    position, stop : int64
        Where to go on, end of the chunk; not within a word.
    literal : int64
        What the call before gave last; -1 before the first word.

    Returns
    -------
    start, end, literal : int64, int64, int64
        The word, which ends where to go on; ``stop, stop`` when there is none any more. The third is the end of the
        special token of CLIP that the word lies in, -1 for none.
    """
    rule = tables.flags[WORDS]
    if rule in (WORDS_WHOLE, WORDS_SPACES):
        return position, stop, np.int64(-1)
    if rule == WORDS_CLIP:
        return _next_clip_word(tables.class_index, tables.class_blocks, data, position, stop, literal)
    start = stop
    is_inside = False
    while position < stop:
        code_point = code_point_at(data, position)
        if is_white_space(code_point):
            if is_inside:
                if tables.flags[NEWLINE_ENDS_WORD] != 0 and code_point == _LINE_FEED:
                    position += 1
                return start, position, np.int64(-1)
        elif not is_inside:
            is_inside = True
            start = position
        position += encoded_length(code_point)
    return start, stop, np.int64(-1)


@kernel
def _kind_at(class_index, class_blocks, data, position):
    code_point = code_point_at(data, position)
    block = np.int64(class_index[code_point >> 7])
    character_class = class_blocks[(block << 7) | (code_point & 127)]
    if character_class >= 8:
        return np.int64(_OF_SPACE)
    if character_class == 7:
        return np.int64(_OF_NUMBER)
    return np.int64(_OF_LETTER if character_class >= 3 and character_class <= 5 else _OF_OTHER)


@kernel
def _letter_at(data, position, stop):
    """ASCII letter in lower case, other bytes as they are, 0 at the end."""
    if position >= stop:
        return np.int64(0)
    byte = np.int64(data[position])
    return byte | 0x20 if byte >= 0x41 and byte <= 0x5A else byte


@kernel
def _special_end(data, position, stop):
    """End of a special token of CLIP that begins at ``position``, or -1."""
    # <|startoftext|> or <|endoftext|>
    if position + 2 >= stop or data[position] != _LESS or data[position + 1] != _BAR:
        return np.int64(-1)
    at = position + 2
    letters = np.int64(0)
    while at < stop and _letter_at(data, at, stop) >= 0x61 and _letter_at(data, at, stop) <= 0x7A:
        letters = letters * 31 + _letter_at(data, at, stop)
        at += 1
        if at - position > 13:
            return np.int64(-1)
    n = at - position - 2
    wanted = _START_OF_TEXT if n == 11 else _END_OF_TEXT
    if (n != 11 and n != 9) or letters != wanted:
        return np.int64(-1)
    if at + 2 > stop or data[at] != _BAR or data[at + 1] != _GREATER:
        return np.int64(-1)
    return at + 2


def _number(word: str) -> int:
    """What ``_special_end`` makes of letters: a number of base 31, another one for every word of that length."""
    number = 0
    for letter in word.encode():
        number = number * 31 + letter
    return number


_START_OF_TEXT, _END_OF_TEXT = _number("startoftext"), _number("endoftext")


@kernel
def _contraction_end(data, position, stop):
    """End of a contraction whose apostrophe stands at ``position``, or -1."""
    first, second = _letter_at(data, position + 1, stop), _letter_at(data, position + 2, stop)
    if first == 0x73 or first == 0x74 or first == 0x6D or first == 0x64:  # s t m d
        return position + 2
    # re ve ll
    if ((first == 0x72 or first == 0x76) and second == 0x65) or (first == 0x6C and second == 0x6C):
        return position + 3
    return np.int64(-1)


@kernel
def _next_clip_word(class_index, class_blocks, data, position, stop, literal):
    while position < stop and _kind_at(class_index, class_blocks, data, position) == _OF_SPACE:
        position += encoded_length(code_point_at(data, position))
    if position >= stop:
        return stop, stop, np.int64(-1)
    if literal >= 0 and position == literal - 2:
        return position, literal, np.int64(-1)
    byte = data[position]
    if byte == _LESS:
        literal = _special_end(data, position, stop)
        if literal >= 0:
            return position, position + 2, literal
    elif byte == _APOSTROPHE:
        end = _contraction_end(data, position, stop)
        if end >= 0:
            return position, end, np.int64(-1)
    start = position
    kind = _kind_at(class_index, class_blocks, data, position)
    position += encoded_length(code_point_at(data, position))
    if kind != _OF_NUMBER:
        while position < stop and _kind_at(class_index, class_blocks, data, position) == kind:
            position += encoded_length(code_point_at(data, position))
    return start, position, literal
