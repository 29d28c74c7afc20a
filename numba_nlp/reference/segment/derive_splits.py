"""Plain twins of ``numba_nlp/kernels/segment/derive_splits.py``: texts instead of symbols."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise


def merge_alone_ranked(text: str, ranks: Mapping[str, int]) -> list[str]:
    """Merge the characters of a text until nothing merges, or until two parts are left.

    Any two neighbours merge whose text has a rank; the lowest first, the leftmost among equals.
    """
    parts = list(text)
    while len(parts) > 2:
        known = [
            (ranks[left + right], place) for place, (left, right) in enumerate(pairwise(parts)) if left + right in ranks
        ]
        if not known:
            break
        _, place = min(known)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts


def derive_splits(ranks: Mapping[str, int]) -> dict[str, tuple[str, str] | None]:
    """Find the pair by which each piece of two characters and more is made; None when merging never makes it."""
    splits: dict[str, tuple[str, str] | None] = {}
    for piece in ranks:
        parts = merge_alone_ranked(piece, ranks)
        splits[piece] = (parts[0], parts[1]) if len(parts) == 2 else None
    return splits
