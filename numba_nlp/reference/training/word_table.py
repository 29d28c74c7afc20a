"""Twin of ``numba_nlp.kernels.training.word_table``: a dictionary."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["count_words"]


def count_words(words: Iterable[tuple[bytes, int]]) -> dict[bytes, int]:
    """Add up the counts of equal words."""
    counts: dict[bytes, int] = {}
    for word, count in words:
        counts[word] = counts.get(word, 0) + count
    return counts
