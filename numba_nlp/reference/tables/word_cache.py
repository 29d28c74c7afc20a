"""Plain twin of ``numba_nlp/kernels/tables/word_cache.py``: one dictionary that forgets nothing until it is wiped.

What the kernels find must be what this dictionary holds; they may have forgotten it, but never know it otherwise. In
place of a key, its home and its hash stands the pre-token itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from numba_nlp.kernels.tables.word_cache import LONG_LIMIT, SHORT_LIMIT

WordCache = dict[bytes, list[int]]


def new_word_cache() -> WordCache:
    """Make an empty cache."""
    return {}


def grow_if_full(cache: WordCache) -> int:
    """Do nothing: a dictionary makes room by itself, and its content stays as it is."""
    return 0


def keep_short(cache: WordCache, piece: bytes, ids: Sequence[int]) -> int:
    """Enter the ids of a short pre-token."""
    assert 1 <= len(piece) <= SHORT_LIMIT
    cache[piece] = list(ids)
    return 0


def bring_home(cache: WordCache, piece: bytes) -> bool:
    """Whether a short pre-token is known."""
    return piece in cache


def copy_ids(cache: WordCache, piece: bytes) -> list[int]:
    """Ids of a known short pre-token."""
    return cache[piece]


def keep_long(cache: WordCache, piece: bytes, ids: Sequence[int]) -> int:
    """Enter the ids of a long pre-token."""
    assert SHORT_LIMIT < len(piece) <= LONG_LIMIT
    cache[piece] = list(ids)
    return 0


def find_long(cache: WordCache, piece: bytes) -> list[int] | None:
    """Ids of a long pre-token, or None."""
    return cache.get(piece)


def wipe(cache: WordCache) -> None:
    """Forget everything."""
    cache.clear()
