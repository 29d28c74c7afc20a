"""Plain twin of :mod:`numba_nlp.kernels.segment.graphemes`: the rules of Unicode annex 29, by their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["clusters"]

#: A letter for each class, in the order of the kernel's numbers.
_LETTERS = "oceljspLVTBDkxz"


def clusters(class_of: Callable[[str], int], text: str) -> list[str]:
    """Cut a text into extended grapheme clusters.

    Parameters
    ----------
    class_of : callable
        Class of a character, as the kernel numbers them.
    text : str
    """
    classes = "".join(_LETTERS[class_of(character)] for character in text)
    ends = [place for place in range(1, len(text)) if _breaks(text, classes, place)]
    return [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)] if text else []


def _breaks(text: str, classes: str, place: int) -> bool:
    before, after = classes[place - 1], classes[place]
    if text[place - 1] == "\r" and text[place] == "\n":  # GB3
        return False
    if before == "c" or after == "c":  # GB4, GB5
        return True
    joined = (
        (before == "L" and after in "LVBD")  # GB6
        or (before in "BV" and after in "VT")  # GB7
        or (before in "DT" and after == "T")  # GB8
        or after in "eljzs"  # GB9, GB9a
        or before == "p"  # GB9b
        or (after == "k" and re.search(r"k[elj]*l[elj]*$", classes[:place]))  # GB9c
        or (after == "x" and re.search(r"x[elz]*j$", classes[:place]))  # GB11
    )
    return not joined
