"""Plain twins of ``numba_nlp/kernels/segment/window_wide.py``: every character looked up."""

from __future__ import annotations

from numba_nlp.reference.segment.characters import character
from numba_nlp.reference.segment.window_spans import bits_of, mask_of

_LETTERS = (3, 4, 5)
_UPPER, _LOWER, _LETTER, _MARK, _NUMBER, _BLANK = 3, 4, 5, 6, 7, 8


def whole_characters(leads, further) -> int:
    """All bytes of the characters that start at the bits of ``leads``."""
    inner = set(bits_of(further))
    found: set[int] = set()
    for lead in bits_of(leads):
        end = lead + 1
        while end in inner:
            end += 1
        found.update(range(lead, end))
    return mask_of(found)


def _leads_of(class_index, class_blocks, data, position, leads, *classes) -> int:
    """First bytes of the characters of some classes."""
    return mask_of(
        i for i in bits_of(leads) if int(character(class_index, class_blocks, data, position + i)[0]) in classes
    )


def wide_letters(class_index, class_blocks, data, position, leads, further) -> tuple[int, int, int]:
    """Letters, numbers and white space beyond ASCII."""
    here = (class_index, class_blocks, data, position, leads)
    letter, number, blank = (_leads_of(*here, *classes) for classes in (_LETTERS, (_NUMBER,), (_BLANK,)))
    return whole_characters(letter, further), whole_characters(number, further), whole_characters(blank, further)


def wide_cases(class_index, class_blocks, data, position, leads, further) -> tuple[int, ...]:
    """Letters by case, marks, numbers and white space beyond ASCII."""
    here = (class_index, class_blocks, data, position, leads)
    upper, lower, both, number, blank = (
        whole_characters(_leads_of(*here, *classes), further)
        for classes in ((_UPPER,), (_LOWER,), (_LETTER, _MARK), (_NUMBER,), (_BLANK,))
    )
    return upper, lower, both, _leads_of(*here, _MARK), number, blank
