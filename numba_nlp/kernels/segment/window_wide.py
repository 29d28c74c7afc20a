r"""Characters beyond ASCII in a window of 64 bytes: their classes as masks.

The common letters of Latin-1, Latin Extended, Cyrillic, Chinese and Korean are told by their first bytes, and by the
second byte where the case or a sign between them asks for it, all at once; Unicode will not change what they are, and
``tests/kernels/test_window.py`` compares them with the class tables. All others are looked up one by one.

Twin: ``numba_nlp.reference.segment.window_wide``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.kernels.segment.characters import BLANK, LETTER, LETTERS, LOWER, MARK, NUMBER, UPPER, character
from numba_nlp.kernels.segment.window_spans import ONE, ZERO, lowest_cleared
from numba_nlp.kernels.words import VECTOR, add, shift_left, trailing_zeros

if VECTOR:
    from numba_nlp.kernels.words import window_masks

    _letter_masks = window_masks(
        # U+0100-02BF, 0400-047F, 04C0-04FF, 5000-8FFF, B000-CFFF
        [(0xC4, 0xCA), (0xD0, 0xD1), (0xD3, 0xD3), (0xE5, 0xE8), (0xEB, 0xEC)],
        [(0xC3, 0xC3)],  # U+00C0-00FF
        [(0x97, 0x97), (0xB7, 0xB7)],  # of these, the signs of multiplication and division
    )
    _case_masks = window_masks(
        [(0xC3, 0xC3)],  # U+00C0-00FF: capitals, and from A0 on small letters
        [(0x97, 0x97), (0x9F, 0x9F), (0xB7, 0xB7)],  # but for these
        [(0xD0, 0xD0)],  # U+0400-043F: capitals, and from B0 on small letters
        [(0xD1, 0xD1)],  # U+0440-047F: small letters up to A0
        [(0xA0, 0xBF)],
        [(0xB0, 0xBF)],
        [(0xE5, 0xE8), (0xEB, 0xEC)],  # U+5000-8FFF, B000-CFFF
    )

    @inlined
    def sure_letters(data, position):
        """First bytes of characters beyond ASCII that are letters, of the common ones.

        Parameters
        ----------
        data : uint8[n]
            64 bytes from ``position`` on must be readable.
        position : int64
            Start of the window.

        Returns
        -------
        uint64
            Of a character whose second byte is past the window the bit may be wrong.
        """
        letter, latin, sign = _letter_masks(data, position)
        return letter | (latin & ~(sign >> ONE))

    @inlined
    def sure_cases(data, position):
        """First bytes of characters beyond ASCII that are letters of a known case, of the common ones.

        Parameters
        ----------
        data, position
            As for :func:`sure_letters`.

        Returns
        -------
        upper, lower, both : uint64, uint64, uint64
            ``both`` are letters without case. As :func:`sure_letters` at the end of the window.
        """
        latin, odd, cyrillic, cyrillic_small, from_a0, from_b0, both = _case_masks(data, position)
        latin &= ~(odd >> ONE)
        from_a0 >>= ONE
        from_b0 >>= ONE
        upper = (latin & ~from_a0) | (cyrillic & ~from_b0)
        lower = (latin & from_a0) | (cyrillic & from_b0) | (cyrillic_small & ~from_a0)
        return upper, lower, both

else:

    @inlined
    def sure_letters(data, position):
        """None of ``data`` at ``position``: the plain form leaves all to the class tables."""
        return ZERO

    @inlined
    def sure_cases(data, position):
        """None of ``data`` at ``position``: the plain form leaves all to the class tables."""
        return ZERO, ZERO, ZERO


@inlined
def whole_characters(leads, further):
    """All bytes of the characters that start at the bits of ``leads``.

    Parameters
    ----------
    leads, further : uint64
        First bytes; further bytes of all characters.

    Returns
    -------
    uint64
    """
    # a carry from each lead through its further bytes
    behind = add(leads << ONE, further)
    return leads | (further & ~behind)


@inlined
def wide_letters(class_index, class_blocks, data, position, leads, further):
    r"""Letters, numbers and white space beyond ASCII.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    data : uint8[n]
    position : int64
        Start of the window.
    leads, further : uint64
        First and further bytes of characters beyond ASCII.

    Returns
    -------
    letter, number, blank : uint64, uint64, uint64
        All bytes of the characters of ``\p{L}``, of ``\p{N}``, of ``\s``.

    Notes
    -----
    No branch tells letters from marks and others, since in many scripts these change from character to character.
    """
    number = blank = ZERO
    letter = sure_letters(data, position) & leads
    leads ^= letter
    while leads != ZERO:
        rest = lowest_cleared(leads)
        lead = leads ^ rest
        i = trailing_zeros(leads)
        character_class, _ = character(class_index, class_blocks, data, position + i)
        letter |= shift_left(np.uint64(LETTERS >> character_class & 1), i)
        if character_class > MARK:
            if character_class == NUMBER:
                number |= lead
            else:
                blank |= lead
        leads = rest
    letter = whole_characters(letter, further)
    if (number | blank) != ZERO:
        number = whole_characters(number, further)
        blank = whole_characters(blank, further)
    return letter, number, blank


@inlined
def wide_cases(class_index, class_blocks, data, position, leads, further):
    """Letters by case, marks, numbers and white space beyond ASCII.

    Parameters
    ----------
    class_index, class_blocks, data, position, leads, further
        As for :func:`wide_letters`.

    Returns
    -------
    upper, lower, both, mark, number, blank : uint64, uint64, uint64, uint64, uint64, uint64
        All bytes of the characters of a class, of marks the first byte only; ``both`` has letters without case and
        marks.
    """
    mark = number = blank = ZERO
    upper, lower, both = sure_cases(data, position)
    upper &= leads
    lower &= leads
    both &= leads
    leads ^= upper | lower | both
    while leads != ZERO:
        rest = lowest_cleared(leads)
        lead = leads ^ rest
        i = trailing_zeros(leads)
        character_class, _ = character(class_index, class_blocks, data, position + i)
        if LETTER <= character_class <= MARK:
            both |= lead
            mark |= shift_left(np.uint64(character_class >> 1 & 1), i)  # LETTER is 5, MARK 6
        elif character_class == LOWER:
            lower |= lead
        elif character_class == UPPER:
            upper |= lead
        elif character_class == NUMBER:
            number |= lead
        elif character_class == BLANK:
            blank |= lead
        leads = rest
    upper = whole_characters(upper, further)
    lower = whole_characters(lower, further)
    both = whole_characters(both, further)
    if (number | blank) != ZERO:
        number = whole_characters(number, further)
        blank = whole_characters(blank, further)
    return upper, lower, both, mark, number, blank
