"""Twin of ``numba_nlp.kernels.training.word_symbols``: characters with their form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["character_totals", "forms_of", "symbols_of"]


def forms_of(word: str | bytes) -> list[tuple[int, int]]:
    """Number and form of each character: 0 first, 1 in the middle, 2 the only one, 3 last."""
    numbers = list(word) if isinstance(word, bytes) else list(map(ord, word))
    last = len(numbers) - 1
    return [(number, (place > 0) + 2 * (place == last)) for place, number in enumerate(numbers)]


def character_totals(words: Iterable[tuple[str | bytes, int]]) -> dict[int, int]:
    """How often each character occurs."""
    totals: dict[int, int] = {}
    for word, count in words:
        for number, _ in forms_of(word):
            totals[number] = totals.get(number, 0) + count
    return totals


def symbols_of(word: str | bytes, form_ids: Mapping[tuple[int, int], int]) -> list[int]:
    """Symbols of a word; characters without one are left out."""
    return [form_ids[form] for form in forms_of(word) if form in form_ids]
