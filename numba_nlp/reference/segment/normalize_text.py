"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_text`: a text is a list of characters with their ranges."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Character", "load_aligned", "text_of"]


class Character(NamedTuple):
    """One character and the byte range of the original row that it came from."""

    text: str
    start: int
    end: int


def load_aligned(row: str) -> list[Character]:
    """Every character of a raw row comes from itself."""
    characters, place = [], 0
    for text in row:
        characters.append(Character(text, place, place + len(text.encode())))
        place += len(text.encode())
    return characters


def text_of(characters: list[Character]) -> str:
    """The text without its ranges."""
    return "".join(character.text for character in characters)


def put_characters(text: str, start: int, end: int) -> list[Character]:
    """Characters that all have one range."""
    return [Character(character, start, end) for character in text]
