r"""Pre-tokenisation of DeepSeek-V3: three splits, one after the other, as one scanner.

Every split cuts the pieces of the one before and keeps what it does not match as pieces of their own (``Isolated``):

1. ``\p{N}{1,3}``
2. ``[一-龥぀-ゟ゠-ヿ]+``
3. ``[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|``
   ``\s*[\r\n]+|\s+(?!\S)|\s+``

So the third split sees pieces that are numbers only, or ideographs and kana only, or have none of both, and its matches
and its look-ahead end at the ends of these. The scanner reads characters through :func:`piece_character`, which reports
the end of such a piece as a class of its own.

Twin: ``numba_nlp.reference.segment.scan_deepseek``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.kernels.segment.characters import (
    LETTERS_AND_MARKS,
    NEWLINE,
    NUMBER,
    OTHER,
    SIGNS,
    SPACES,
    character,
    digits_end,
    lines_end,
    space_or_lines_end,
)

#: Class that stands for the end of a piece of the first two splits; in no mask.
PIECE_END = 15
_SPACE = 0x20


@inlined
def is_cjk(data, position):
    """Whether the character is in ``[一-龥぀-ゟ゠-ヿ]``: U+3040 to U+30FF, U+4E00 to U+9FA5.

    Parameters
    ----------
    data : uint8[n]
    position : int64
        Start of a character.

    Returns
    -------
    bool
    """
    lead = np.int64(data[np.uint64(position)])
    if lead < 0xE3 or lead > 0xE9:
        return False
    second = np.int64(data[np.uint64(position + 1)])
    if lead == 0xE3:
        return 0x81 <= second <= 0x83
    if lead == 0xE4:
        return second >= 0xB8
    if lead == 0xE9:
        return second < 0xBE or (second == 0xBE and np.int64(data[np.uint64(position + 2)]) <= 0xA5)
    return True


@inlined
def piece_character(class_index, class_blocks, data, position, stop, in_cjk):
    """Class and end of a character, or ``PIECE_END`` and ``position`` where the piece around it ends.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.
    in_cjk : bool
        Whether the piece is one of ideographs and kana, or has none of them; in neither case it has numbers.

    Returns
    -------
    character_class, end : int64, int64
    """
    if position >= stop:
        return np.int64(PIECE_END), position
    character_class, end = character(class_index, class_blocks, data, position)
    if character_class == NUMBER or is_cjk(data, position) != in_cjk:
        return np.int64(PIECE_END), position
    return character_class, end


@inlined
def piece_run_end(class_index, class_blocks, data, position, stop, in_cjk, classes):
    """End of the longest run of characters of some classes that stays within the piece.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.
    in_cjk : bool
        Kind of the piece, as for :func:`piece_character`.
    classes : int64
        Mask of the classes that the run is made of.

    Returns
    -------
    int64
    """
    while True:
        character_class, end = piece_character(class_index, class_blocks, data, position, stop, in_cjk)
        if (classes >> character_class) & 1 == 0:
            return position
        position = end


@inlined
def ascii_letters_end(data, position, stop):
    """End of a run of ``[A-Za-z]``.

    Parameters
    ----------
    data : uint8[n]
    position, stop : int64
        Start of a character (or ``stop``), end of the text.

    Returns
    -------
    int64
    """
    while position < stop:
        folded = np.int64(data[np.uint64(position)]) | 0x20
        if folded < 0x61 or folded > 0x7A:
            return position
        position += 1
    return stop


@inlined
def next_end_deepseek_v3(class_index, class_blocks, data, position, stop):
    """End of the DeepSeek-V3 token that starts at ``position``.

    Characters of class "other" (controls, format characters, unassigned) that no letter follows are matched by no
    alternative; a run of them is a token of its own.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position, stop : int64
        Start of a token, end of the text; ``position < stop``.

    Returns
    -------
    int64
    """
    first_class, end = character(class_index, class_blocks, data, position)
    if first_class == NUMBER:
        return digits_end(class_index, class_blocks, data, end, stop, 2)
    in_cjk = is_cjk(data, position)
    if (LETTERS_AND_MARKS >> first_class) & 1:
        return piece_run_end(class_index, class_blocks, data, end, stop, in_cjk, LETTERS_AND_MARKS)
    lead = data[np.uint64(position)]
    if (SIGNS >> first_class) & 1:
        if lead < 0x80:
            word = ascii_letters_end(data, end, stop)
            if word > end:
                return word
        end = piece_run_end(class_index, class_blocks, data, end, stop, in_cjk, SIGNS)
        # line ends are beyond the end of a piece of ideographs and kana
        return end if in_cjk else lines_end(data, end, stop, False)
    next_class, after = piece_character(class_index, class_blocks, data, end, stop, in_cjk)
    if first_class != NEWLINE and (LETTERS_AND_MARKS >> next_class) & 1:
        return piece_run_end(class_index, class_blocks, data, after, stop, in_cjk, LETTERS_AND_MARKS)
    if (SPACES >> first_class) & 1:
        if lead == _SPACE and (SIGNS >> next_class) & 1:
            end = piece_run_end(class_index, class_blocks, data, after, stop, in_cjk, SIGNS)
            return lines_end(data, end, stop, False)
        end = piece_run_end(class_index, class_blocks, data, end, stop, in_cjk, SPACES)
        next_class, after = piece_character(class_index, class_blocks, data, end, stop, in_cjk)
        # the look-ahead of \s+(?!\S) sees the end of the piece as the end of the text
        return space_or_lines_end(class_index, class_blocks, data, position, end if next_class == PIECE_END else stop)
    # class "other", not taken by a letter: unmatched, up to the first that is
    while next_class == OTHER:
        next_class, next_after = piece_character(class_index, class_blocks, data, after, stop, in_cjk)
        if (LETTERS_AND_MARKS >> next_class) & 1:
            return end
        end = after
        after = next_after
    return end
