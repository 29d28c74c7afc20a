"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_maps`."""

from __future__ import annotations

from collections.abc import Container, Mapping

from numba_nlp.reference.segment.normalize_text import Character, put_characters

__all__ = ["map_characters", "surround_characters"]


def map_characters(replacements: Mapping[str, str], characters: list[Character]) -> list[Character]:
    """Replace every character that the mapping has by what it has for it."""
    result: list[Character] = []
    for text, start, end in characters:
        result += put_characters(replacements.get(text, text), start, end)
    return result


def surround_characters(chosen: Container[str], string: str, characters: list[Character]) -> list[Character]:
    """Put a string before and behind some characters."""
    result: list[Character] = []
    for text, start, end in characters:
        result += put_characters(string + text + string if text in chosen else text, start, end)
    return result
