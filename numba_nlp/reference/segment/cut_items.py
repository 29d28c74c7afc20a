"""Plain twin of :mod:`numba_nlp.kernels.segment.cut_items`: items are strings with a flag."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["behave", "items_of_class", "items_of_string", "items_of_words"]

Item = tuple[int, int, bool]


def _tiled(matches: list[tuple[int, int]], length: int, invert: bool) -> list[Item]:
    """Matches and the gaps between them."""
    items: list[Item] = []
    done = 0
    for start, end in matches:
        items += [(done, start, invert), (start, end, not invert)]
        done = end
    items.append((done, length, invert))
    return [item for item in items if item[0] < item[1]]


def items_of_class(is_member: Callable[[str], bool], invert: bool, text: str) -> list[Item]:
    """Every character of a class matches by itself."""
    return _tiled([(i, i + 1) for i, character in enumerate(text) if is_member(character)], len(text), invert)


def items_of_words(is_word: Callable[[str], bool], is_space: Callable[[str], bool], text: str) -> list[Item]:
    """Runs of word characters, and of others that are no white space, are gaps; runs of white space match."""
    kinds = "".join("w" if is_word(character) else "s" if is_space(character) else "o" for character in text)
    return [(*run.span(), run[0][0] == "s") for run in re.finditer("w+|s+|o+", kinds)]


def items_of_string(pattern: str, invert: bool, text: str) -> list[Item]:
    """Every occurrence of a string matches."""
    return _tiled([match.span() for match in re.finditer(re.escape(pattern), text)], len(text), invert)


def behave(behavior: str, items: list[Item]) -> list[tuple[int, int]]:
    """Make pieces of items."""
    if behavior == "Removed":
        return [(start, end) for start, end, is_match in items if not is_match]
    if behavior == "MergedWithNext":
        # the same as merging with the previous one, seen from the other end
        mirrored = [(-end, -start, is_match) for start, end, is_match in reversed(items)]
        return [(-end, -start) for start, end in reversed(behave("MergedWithPrevious", mirrored))]
    pieces: list[tuple[int, int]] = []
    before = None
    for start, end, is_match in items:
        is_same = behavior == "Contiguous" and is_match == before
        follows_gap = behavior == "MergedWithPrevious" and is_match and before is False
        if is_same or follows_gap:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
        before = is_match
    return pieces
