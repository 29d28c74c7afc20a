"""Twin of ``kernels/segment/staged_words.py``: raw text cut before runs of spaces, behind solid characters."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["fill_words", "is_solid"]


def is_solid(solid: Callable[[str], bool], text: str) -> bool:
    """Whether the last character is one that a word may end with."""
    return solid(text[-1])


def fill_words(solid: Callable[[str], bool], text: str) -> list[str]:
    """The words of a row."""
    words = [""]
    for place, character in enumerate(text):
        if place and character == " " and text[place - 1] != " " and is_solid(solid, text[:place]):
            words.append("")
        words[-1] += character
    return [word for word in words if word]
