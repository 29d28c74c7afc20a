"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_program`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numba_nlp.reference.segment.normalize_text import Character, load_aligned

__all__ = ["normalize", "normalize_rows"]

Step = Callable[[list[Character]], list[Character]]


def normalize(steps: Sequence[Step], row: str) -> list[Character]:
    """Apply one step after the other to a row."""
    characters = load_aligned(row)
    for step in steps:
        characters = step(characters)
    return characters


def normalize_rows(steps: Sequence[Step], rows: Sequence[str]) -> list[list[Character]]:
    """Normalize every row."""
    return [normalize(steps, row) for row in rows]
