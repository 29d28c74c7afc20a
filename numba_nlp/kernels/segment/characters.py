"""Characters of UTF-8 text and their classes: one character, a run of them, a run of white space.

Classes (``docs/data_contracts.md``): 0 other, 1 P, 2 S, 3 Lu or Lt, 4 Ll, 5 Lm or Lo, 6 M, 7 N, 8 white space other
than CR and LF, 9 CR or LF. A set of classes is an int64 mask whose bit ``c`` stands for class ``c``. The text must be
valid UTF-8; bytes at and after ``stop`` are never read.

Block 0 of ``class_blocks`` holds ASCII, so the class of an ASCII byte is ``class_blocks[byte]``.

Twin: ``numba_nlp.reference.segment.characters``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel

OTHER = 0
PUNCTUATION = 1
SYMBOL = 2
UPPER = 3
LOWER = 4
LETTER = 5
MARK = 6
NUMBER = 7
BLANK = 8
NEWLINE = 9

#: ``\p{L}``
LETTERS = 1 << UPPER | 1 << LOWER | 1 << LETTER
#: ``\p{N}``
NUMBERS = 1 << NUMBER
#: ``\s``
SPACES = 1 << BLANK | 1 << NEWLINE
#: ``[\r\n]``
NEWLINES = 1 << NEWLINE
#: ``[\p{P}\p{S}]``
SIGNS = 1 << PUNCTUATION | 1 << SYMBOL
#: ``[\p{L}\p{M}]``
LETTERS_AND_MARKS = LETTERS | 1 << MARK
#: ``[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]``
CAPITALS = 1 << UPPER | 1 << LETTER | 1 << MARK
#: ``[\p{Ll}\p{Lm}\p{Lo}\p{M}]``
SMALLS = 1 << LOWER | 1 << LETTER | 1 << MARK
#: ``[^\s\p{L}\p{N}]``
OTHERS = 1 << OTHER | 1 << PUNCTUATION | 1 << SYMBOL | 1 << MARK


@inlined
def character(class_index, class_blocks, data, position):
    """Class and end of the character that starts at a byte.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position : int64
        Start of a character.

    Returns
    -------
    character_class, end : int64, int64
    """
    lead = np.int64(data[np.uint64(position)])
    if lead < 0x80:
        return np.int64(class_blocks[np.uint64(lead)]), position + 1
    # The block number is the code point >> 7, the place in the block its low seven bits; both are put together from
    # the bytes without building the code point.
    second = np.int64(data[np.uint64(position + 1)]) & 0x3F
    if lead < 0xE0:
        block, place, end = (lead & 0x1F) >> 1, (lead & 1) << 6 | second, position + 2
    else:
        third = np.int64(data[np.uint64(position + 2)]) & 0x3F
        if lead < 0xF0:
            block, place, end = (lead & 0x0F) << 5 | second >> 1, (second & 1) << 6 | third, position + 3
        else:
            fourth = np.int64(data[np.uint64(position + 3)]) & 0x3F
            block = (lead & 0x07) << 11 | second << 5 | third >> 1
            place, end = (third & 1) << 6 | fourth, position + 4
    first = np.int64(class_index[np.uint64(block)]) << 7
    return np.int64(class_blocks[np.uint64(first | place)]), end


@inlined
def run_end(class_index, class_blocks, data, position, stop, classes):
    """End of the longest run of characters of some classes.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.
    classes : int64
        Mask of the classes that the run is made of.

    Returns
    -------
    int64
        ``position`` when the first character is of none of the classes.
    """
    while position < stop:
        lead = np.int64(data[np.uint64(position)])
        if lead < 0x80:
            if (classes >> np.int64(class_blocks[np.uint64(lead)])) & 1 == 0:
                return position
            position += 1
        else:
            character_class, end = character(class_index, class_blocks, data, position)
            if (classes >> character_class) & 1 == 0:
                return position
            position = end
    return stop


@kernel
def space_end(class_index, class_blocks, data, position, stop):
    r"""End of the match of ``\s+(?!\S)|\s+`` at a white space character.

    A run of white space gives its last character to the token that follows, unless the text ends or the run is that
    one character.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a white space character, end of the text.

    Returns
    -------
    int64
    """
    start = position
    last = position
    while position < stop:
        character_class, end = character(class_index, class_blocks, data, position)
        if character_class < BLANK:
            return last if last > start else position
        last = position
        position = end
    return stop


@kernel
def space_or_lines_end(class_index, class_blocks, data, position, stop):
    r"""End of the match of ``\s*[\r\n]+|\s+(?!\S)|\s+`` at a white space character.

    A run of white space that holds a line end is cut after its last line end; otherwise as :func:`space_end`.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a white space character, end of the text.

    Returns
    -------
    int64
    """
    start = position
    last = position
    lines = position
    while position < stop:
        character_class, end = character(class_index, class_blocks, data, position)
        if character_class < BLANK:
            if lines > start:
                return lines
            return last if last > start else position
        last = position
        position = end
        if character_class == NEWLINE:
            lines = end
    return lines if lines > start else stop


@inlined
def lines_end(data, position, stop, slashes):
    r"""End of a run of ``[\r\n]``, or of ``[\r\n/]``.

    Parameters
    ----------
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.
    slashes : bool
        Whether ``/`` belongs to the run.

    Returns
    -------
    int64
    """
    while position < stop:
        byte = data[np.uint64(position)]
        if not (byte == 0x0A or byte == 0x0D or (slashes and byte == 0x2F)):
            return position
        position += 1
    return stop


@kernel
def digits_end(class_index, class_blocks, data, position, stop, limit):
    r"""End of a run of at most ``limit`` characters of ``\p{N}``.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.
    limit : int64
        Most characters to take.

    Returns
    -------
    int64
    """
    while limit > 0 and position < stop:
        character_class, end = character(class_index, class_blocks, data, position)
        if character_class != NUMBER:
            return position
        position = end
        limit -= 1
    return position


@kernel
def contraction_end(data, position, stop, fold_case):
    r"""End of the match of ``'s|'t|'re|'ve|'m|'ll|'d`` at an apostrophe.

    Parameters
    ----------
    data : uint8[n]
    position, stop : int64
        Place of the apostrophe, end of the text.
    fold_case : bool
        ``(?i:...)``. Besides ASCII capitals U+017F (long s) is an s; no other letter of the contractions has a
        further case variant.

    Returns
    -------
    int64
        ``position`` when nothing matches.
    """
    if position + 1 >= stop:
        return position
    first = np.int64(data[np.uint64(position + 1)])
    second = np.int64(data[np.uint64(position + 2)]) if position + 2 < stop else np.int64(0)
    if fold_case:
        if first == 0xC5 and second == 0xBF:
            return position + 3
        if 0x41 <= first <= 0x5A:
            first |= 0x20
        if 0x41 <= second <= 0x5A:
            second |= 0x20
    # s t m d
    if first == 0x73 or first == 0x74 or first == 0x6D or first == 0x64:
        return position + 2
    # re ve ll
    if second == 0x65 and (first == 0x72 or first == 0x76):
        return position + 3
    if second == 0x6C and first == 0x6C:
        return position + 3
    return position
