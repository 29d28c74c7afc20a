"""The word cache: results of earlier pre-tokens in flat arrays, exact by full key comparison.

Short table
    Pre-tokens of 1 to 15 bytes. One 64-byte line a set, two entries a line:
    ``[low0, high0, low1, high1, ids0 (2 words), ids1 (2 words)]``. ``low`` holds bytes 0-7, ``high`` bytes 8-14, the
    length in bits 56-59 and, in a stored entry, the number of ids in bits 60-63 (0 = empty slot). Up to four ids lie
    inline; of 5 to 15 ids the first word is their place in the id arena.
Long table
    Longer pre-tokens, up to ``LONG_LIMIT`` bytes: four words an entry, ``[hash, place of the bytes << 32 | length,
    place of the ids << 32 | number of ids, unused]``, two entries a set; bytes and ids lie in the arenas.

A full arena wipes both tables: the memory of a cache is bounded, and one cache belongs to one thread at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER
from numba_nlp.kernels.words import add, multiply, shift_left, shift_right

#: Longest pre-token, in bytes, that is kept in the short table.
SHORT_LIMIT = 15
#: Longest pre-token, in bytes, that is cached at all.
LONG_LIMIT = 512
HIGH_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
#: Everything of ``high`` but the number of ids.
KEY_BITS = np.uint64(0x0FFFFFFFFFFFFFFF)


class WordCache(NamedTuple):
    """Arrays of one cache (see the module's text); made by :func:`new_word_cache`."""

    lines: Any  # uint64[8 * sets]
    long_entries: Any  # uint64[8 * long_sets]
    arena_bytes: Any  # uint8[a]
    arena_ids: Any  # int32[b]
    fill: Any  # int64[4]: used bytes, used ids, wipes, misses


def new_word_cache(sets: int = 1 << 17, long_sets: int = 1 << 14, arena: int = 1 << 20) -> WordCache:
    """Make an empty cache.

    Parameters
    ----------
    sets, long_sets : int
        Sets of two entries in the short and the long table; powers of two.
    arena : int
        Bytes of the byte arena, and ids of the id arena.
    """
    raw = np.zeros(8 * sets + 8, np.uint64)
    first = (-raw.ctypes.data // 8) % 8
    return WordCache(
        raw[first : first + 8 * sets],
        np.zeros(8 * long_sets, np.uint64),
        np.zeros(arena + 8, np.uint8),
        np.zeros(arena, np.int32),
        np.zeros(4, np.int64),
    )


@kernel
def short_set(low, high, bits):
    """Set of a short key.

    Parameters
    ----------
    low, high : uint64
        Key words.
    bits : int64
        Binary logarithm of the number of sets.

    Returns
    -------
    int64
    """
    return np.int64(shift_right(add(multiply(low, MERGE_MULTIPLIER), multiply(high, HIGH_MULTIPLIER)), 64 - bits))


@kernel
def wipe(cache):
    """Empty both tables and the arenas."""
    cache.lines[:] = np.uint64(0)
    cache.long_entries[:] = np.uint64(0)
    cache.fill[0] = 0
    cache.fill[1] = 0
    cache.fill[2] += 1


@kernel
def keep_short(cache, low, high, place, ids, first, n):
    """Enter the ids of a short pre-token into set ``place``; the older entry of a full set leaves.

    Parameters
    ----------
    cache : WordCache
    low, high : uint64
        Key.
    place : int64
        Set of the key.
    ids : int32[m]
    first, n : int64
        ``ids[first:first + n]``, ``1 <= n <= 15``.

    Returns
    -------
    int64
        0.
    """
    if n > 4 and cache.fill[1] + n > cache.arena_ids.size:
        wipe(cache)
    lines = cache.lines
    base = 8 * place
    if lines[base + 1] != np.uint64(0):
        lines[base + 2] = lines[base]
        lines[base + 3] = lines[base + 1]
        lines[base + 6] = lines[base + 4]
        lines[base + 7] = lines[base + 5]
    lines[base] = low
    lines[base + 1] = high | shift_left(np.uint64(n), 60)
    if n <= 4:
        a = np.int64(ids[first])
        b = np.int64(ids[first + 1]) if n > 1 else np.int64(0)
        c = np.int64(ids[first + 2]) if n > 2 else np.int64(0)
        d = np.int64(ids[first + 3]) if n > 3 else np.int64(0)
        lines[base + 4] = np.uint64(a | (b << 32))
        lines[base + 5] = np.uint64(c | (d << 32))
    else:
        at = cache.fill[1]
        for i in range(n):
            cache.arena_ids[at + i] = ids[first + i]
        cache.fill[1] = at + n
        lines[base + 4] = np.uint64(at)
        lines[base + 5] = np.uint64(0)
    return 0


@kernel
def find_long(cache, code, data, start, n):
    """Place of the entry of a long pre-token in the long table, or -1.

    Parameters
    ----------
    cache : WordCache
    code : uint64
        ``hash_bytes(data, start, start + n)``.
    data : uint8[m]
    start, n : int64

    Returns
    -------
    int64
        Index of the entry's first word.
    """
    entries = cache.long_entries
    sets = entries.size >> 3
    base = 8 * np.int64(code & np.uint64(sets - 1))
    for way in range(2):
        at = base + 4 * way
        if entries[at] == code and np.int64(entries[at + 1] & np.uint64(0xFFFFFFFF)) == n:
            first = np.int64(shift_right(entries[at + 1], 32))
            same = True
            for i in range(n):
                if cache.arena_bytes[first + i] != data[start + i]:
                    same = False
                    break
            if same:
                return at
    return np.int64(-1)


@kernel
def keep_long(cache, code, data, start, n, ids, first, n_ids):
    """Enter the ids of a long pre-token; the older entry of a full set leaves.

    Parameters
    ----------
    cache : WordCache
    code : uint64
        ``hash_bytes(data, start, start + n)``.
    data : uint8[m]
    start, n : int64
        The pre-token, ``n <= LONG_LIMIT``.
    ids : int32[k]
    first, n_ids : int64
        ``ids[first:first + n_ids]``.

    Returns
    -------
    int64
        0.
    """
    if cache.fill[0] + n + 8 > cache.arena_bytes.size or cache.fill[1] + n_ids > cache.arena_ids.size:
        wipe(cache)
    entries = cache.long_entries
    sets = entries.size >> 3
    base = 8 * np.int64(code & np.uint64(sets - 1))
    for word in range(3):
        entries[base + 4 + word] = entries[base + word]
    at_bytes = cache.fill[0]
    for i in range(n):
        cache.arena_bytes[at_bytes + i] = data[start + i]
    at_ids = cache.fill[1]
    for i in range(n_ids):
        cache.arena_ids[at_ids + i] = ids[first + i]
    cache.fill[0] = at_bytes + n
    cache.fill[1] = at_ids + n_ids
    entries[base] = code
    entries[base + 1] = np.uint64((at_bytes << 32) | n)
    entries[base + 2] = np.uint64((at_ids << 32) | n_ids)
    return 0
