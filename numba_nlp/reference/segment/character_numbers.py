"""Plain twin of ``numba_nlp/kernels/segment/character_numbers.py``: words counted as they are cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numba_nlp.reference.segment.character_bpe import Plan, segment


def number_words_character(
    plan: Plan, words_of: Callable[[str], Sequence[tuple[int, int]]], row: Sequence[str | int]
) -> list[tuple[int, int]]:
    """Id and word number of every token of a row of texts and given ids."""
    found: list[tuple[int, int]] = []
    word = 0
    for part in row:
        if isinstance(part, int):
            found.append((part, word))
            word += 1
            continue
        for start, end in words_of(part):
            found += [(token.id, word) for token in segment(plan, part[start:end])]
            word += 1
    return found
