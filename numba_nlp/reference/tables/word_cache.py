"""Plain twin of ``numba_nlp/kernels/tables/word_cache.py``: one dictionary that forgets nothing until it is wiped.

What the kernels find must be what this dictionary holds; they may have forgotten it, but never know it otherwise. In
place of a key and its home stands the chunk itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from numba_nlp.kernels.tables.word_cache import LONG_LIMIT, SHORT_IDS, SHORT_LIMIT

WordCache = dict[bytes, list[int]]


def new_word_cache() -> WordCache:
    """Make an empty cache."""
    return {}


def grow_if_full(cache: WordCache) -> int:
    """Do nothing: a dictionary makes room by itself, and its content stays as it is."""
    return 0


def keep_short(cache: WordCache, chunk: bytes, ids: Sequence[int]) -> int:
    """Enter the ids of a short chunk."""
    assert 1 <= len(chunk) <= SHORT_LIMIT
    assert len(ids) <= SHORT_IDS
    cache[chunk] = list(ids)
    return 0


def keep_long(cache: WordCache, chunk: bytes, ids: Sequence[int]) -> int:
    """Enter the ids of a long chunk."""
    assert SHORT_LIMIT < len(chunk) <= LONG_LIMIT
    cache[chunk] = list(ids)
    return 0


def bring_home(cache: WordCache, chunk: bytes) -> bool:
    """Whether a chunk is known."""
    return chunk in cache


def copy_ids(cache: WordCache, chunk: bytes) -> list[int]:
    """Ids of a known short chunk."""
    return cache[chunk]


def copy_long(cache: WordCache, chunk: bytes) -> list[int]:
    """Ids of a known long chunk."""
    return cache[chunk]


def wipe(cache: WordCache) -> None:
    """Forget everything."""
    cache.clear()
