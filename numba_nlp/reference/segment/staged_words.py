"""Twin of ``kernels/segment/staged_words.py``: raw text cut before runs of spaces; plain words."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["fill_words", "is_solid", "write_plain"]


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


def write_plain(
    is_plain: Callable[[str], bool],
    prefixes: dict[tuple[bool, bool], str | None],
    further: str | None,
    word: str,
    begins_row: bool,
) -> str | None:
    """What the stages make of a word, None if it is not plain.

    Parameters
    ----------
    is_plain : callable
        Whether no stage changes a character or cuts at it.
    prefixes : dict
        What stands before the rest, by whether the word is the first of a row and whether it begins with a space; None
        if such words are not plain.
    further : str or None
        What each space beyond the first adds, None if such words are not plain.
    word : str
    begins_row : bool
    """
    rest = word.lstrip(" ")
    n_spaces = len(word) - len(rest)
    prefix = prefixes[begins_row, n_spaces > 0]
    if prefix is None or not rest or not all(map(is_plain, rest)):
        return None
    if n_spaces <= 1:
        return prefix + rest
    return None if further is None else prefix + further * (n_spaces - 1) + rest
