"""Twin of ``numba_nlp.kernels.training.count_rows``: a counter over the words of all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

__all__ = ["count_rows"]


def count_rows(rows: Iterable[str], cut: Callable[[str], Iterable[str]]) -> dict[bytes, int]:
    """How often each word occurs."""
    return dict(Counter(word.encode() for row in rows for word in cut(row)))
