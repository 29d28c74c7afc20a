"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_maps`."""

from __future__ import annotations

from collections.abc import Mapping

from numba_nlp.reference.segment.normalize_text import Character, put_characters

__all__ = ["map_characters"]


def map_characters(replacements: Mapping[str, str], characters: list[Character]) -> list[Character]:
    """Replace every character that the mapping has by what it has for it."""
    result: list[Character] = []
    for text, start, end in characters:
        result += put_characters(replacements.get(text, text), start, end)
    return result
