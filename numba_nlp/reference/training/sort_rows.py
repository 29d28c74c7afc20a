"""Twin of ``numba_nlp.kernels.training.sort_rows``: Python sorts bytes so."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["compare_bytes", "sort_rows"]


def compare_bytes(left: bytes, right: bytes) -> int:
    """-1, 0 or 1."""
    return (left > right) - (left < right)


def sort_rows(rows: Sequence[bytes]) -> list[int]:
    """Numbers of the rows in the order of their bytes."""
    return sorted(range(len(rows)), key=lambda row: (rows[row], row))
