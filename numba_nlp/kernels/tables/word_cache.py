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

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, equal_bytes
from numba_nlp.kernels.words import add, multiply, shift_left, shift_right

#: Longest pre-token, in bytes, that is kept in the short table.
SHORT_LIMIT = 15
#: Longest pre-token, in bytes, that is cached at all.
LONG_LIMIT = 512
HIGH_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
#: Everything of ``high`` but the number of ids.
KEY_BITS = np.uint64(0x0FFFFFFFFFFFFFFF)


#: Places in ``WordCache.fill``: bytes and ids used of the arenas, wipes, pre-tokens that had to be merged, binary
#: logarithm of the sets in use, entries of the short table.
USED_BYTES, USED_IDS, WIPES, MISSES, SET_BITS, ENTRIES = range(6)
#: Binary logarithm of the sets that an empty cache begins with.
FIRST_BITS = 12


class WordCache(NamedTuple):
    """Arrays of one cache (see the module's text); made by :func:`new_word_cache`."""

    lines: Any  # uint64[8 * sets]
    long_entries: Any  # uint64[8 * long_sets]
    arena_bytes: Any  # uint8[a]
    arena_ids: Any  # int32[b]
    fill: Any  # int64[6]


def new_word_cache(bits: int = 18, long_bits: int = 14, arena: int = 1 << 21) -> WordCache:
    """Make an empty cache.

    Parameters
    ----------
    bits, long_bits : int
        Binary logarithm of the most sets of two entries in the short and in the long table.
    arena : int
        Bytes of the byte arena, and ids of the id arena.

    Notes
    -----
    The arrays come from ``calloc``: memory that no entry has touched yet is not resident.
    """
    raw = np.zeros((8 << bits) + 8, np.uint64)
    first = (-raw.ctypes.data // 8) % 8
    fill = np.zeros(6, np.int64)
    fill[SET_BITS] = min(FIRST_BITS, bits)
    return WordCache(
        raw[first : first + (8 << bits)],
        np.zeros(8 << long_bits, np.uint64),
        np.zeros(arena + 8, np.uint8),
        np.zeros(arena, np.int32),
        fill,
    )


@inlined
def short_set(low, high, shift):
    """Set of a short key.

    Parameters
    ----------
    low, high : uint64
        Key words.
    shift : int64
        64 less the binary logarithm of the number of sets.

    Returns
    -------
    int64
    """
    return np.int64(shift_right(add(multiply(low, MERGE_MULTIPLIER), multiply(high, HIGH_MULTIPLIER)), shift))


@kernel
def grow_if_full(cache):
    """Double the sets in use once they hold more than two entries in three sets, as far as the array reaches.

    Notes
    -----
    A set's number is the top bits of its keys' hash, so the entries of set ``s`` go to ``2 s`` or ``2 s + 1``, and
    working from the last set down needs no second table.
    """
    bits = cache.fill[SET_BITS]
    if 3 * cache.fill[ENTRIES] <= (2 << bits) or (16 << bits) > cache.lines.size:
        return 0
    lines = cache.lines
    bits += 1
    cache.fill[SET_BITS] = bits
    entries = 0
    for old in range((1 << (bits - 1)) - 1, -1, -1):
        low0, high0, low1, high1 = lines[8 * old], lines[8 * old + 1], lines[8 * old + 2], lines[8 * old + 3]
        a0, b0, a1, b1 = lines[8 * old + 4], lines[8 * old + 5], lines[8 * old + 6], lines[8 * old + 7]
        for word in range(16):
            lines[16 * old + word] = np.uint64(0)
        # a guest from the sibling set does not move along: it comes back when it is next met
        place = short_set(low1, high1 & KEY_BITS, 64 - bits)
        if high1 != np.uint64(0) and place >> 1 == old:
            _put(lines, 8 * place, low1, high1, a1, b1)
            entries += 1
        place = short_set(low0, high0 & KEY_BITS, 64 - bits)
        if high0 != np.uint64(0) and place >> 1 == old:
            _put(lines, 8 * place, low0, high0, a0, b0)
            entries += 1
    cache.fill[ENTRIES] = entries
    return 0


@kernel
def _put(lines, base, low, high, first, second):
    """Make an entry the first of the set at word ``base``; the one there before becomes the second."""
    if lines[base + 1] != np.uint64(0):
        lines[base + 2] = lines[base]
        lines[base + 3] = lines[base + 1]
        lines[base + 6] = lines[base + 4]
        lines[base + 7] = lines[base + 5]
    lines[base] = low
    lines[base + 1] = high
    lines[base + 4] = first
    lines[base + 5] = second


@kernel
def find_sibling(cache, low, high, place):
    """Place of an entry that was pushed out of its set into the sibling set, or -1.

    Parameters
    ----------
    cache : WordCache
    low, high, place : uint64, uint64, int64
        Key and the first word of its own set.

    Returns
    -------
    int64
        Index of the key's first word.
    """
    base = place ^ 8
    for way in range(2):
        at = base + 2 * way
        if cache.lines[at] == low and cache.lines[at + 1] & KEY_BITS == high:
            return at
    return np.int64(-1)


@kernel
def copy_ids(cache, at, ids, first):
    """Write the ids of the short entry whose key is at ``at`` to ``ids[first:]``; returns their number."""
    count = np.int64(shift_right(cache.lines[at + 1], 60))
    # words of the line: keys at 0 and 2, ids at 4 and 6
    values = at + 4
    if count <= 4:
        for k in range(count):
            word = cache.lines[values + (k >> 1)]
            ids[first + k] = np.int32(np.int64(shift_right(word, 32 * (k & 1)) & np.uint64(0xFFFFFFFF)))
    else:
        source = np.int64(cache.lines[values])
        for k in range(count):
            ids[first + k] = cache.arena_ids[source + k]
    return count


@kernel
def wipe(cache):
    """Empty both tables and the arenas."""
    cache.lines[:] = np.uint64(0)
    cache.long_entries[:] = np.uint64(0)
    cache.fill[USED_BYTES] = 0
    cache.fill[USED_IDS] = 0
    cache.fill[ENTRIES] = 0
    cache.fill[WIPES] += 1


@kernel
def keep_short(cache, low, high, place, ids, first, n):
    """Enter the ids of a short pre-token into the set at word ``place``; the older entry of a full set leaves.

    Parameters
    ----------
    cache : WordCache
    low, high : uint64
        Key.
    place : int64
        First word of the key's set.
    ids : int32[m]
    first, n : int64
        ``ids[first:first + n]``, ``1 <= n <= 15``.

    Returns
    -------
    int64
        0.
    """
    if n > 4 and cache.fill[USED_IDS] + n > cache.arena_ids.size:
        wipe(cache)
    lines = cache.lines
    base = place
    if lines[base + 1] != np.uint64(0) and lines[base + 3] != np.uint64(0):
        # the set is full: its older entry becomes a guest of the sibling set, if there is room
        guest = place ^ 8
        if lines[guest + 1] != np.uint64(0) and lines[guest + 3] == np.uint64(0):
            guest += 2
        if lines[guest + 1] == np.uint64(0):
            values = guest + 4
            lines[guest] = lines[base + 2]
            lines[guest + 1] = lines[base + 3]
            lines[values] = lines[base + 6]
            lines[values + 1] = lines[base + 7]
            cache.fill[ENTRIES] += 1
    else:
        cache.fill[ENTRIES] += 1
    if n <= 4:
        a = np.int64(ids[first])
        b = np.int64(ids[first + 1]) if n > 1 else np.int64(0)
        c = np.int64(ids[first + 2]) if n > 2 else np.int64(0)
        d = np.int64(ids[first + 3]) if n > 3 else np.int64(0)
        one = np.uint64(a | (b << 32))
        two = np.uint64(c | (d << 32))
    else:
        at = cache.fill[USED_IDS]
        for i in range(n):
            cache.arena_ids[at + i] = ids[first + i]
        cache.fill[USED_IDS] = at + n
        one = np.uint64(at)
        two = np.uint64(0)
    _put(lines, place, low, high | shift_left(np.uint64(n), 60), one, two)
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
            if equal_bytes(cache.arena_bytes, first, data, start, n):
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
    if cache.fill[USED_BYTES] + n + 8 > cache.arena_bytes.size or cache.fill[USED_IDS] + n_ids > cache.arena_ids.size:
        wipe(cache)
    entries = cache.long_entries
    sets = entries.size >> 3
    base = 8 * np.int64(code & np.uint64(sets - 1))
    for word in range(3):
        entries[base + 4 + word] = entries[base + word]
    at_bytes = cache.fill[USED_BYTES]
    for i in range(n):
        cache.arena_bytes[at_bytes + i] = data[start + i]
    at_ids = cache.fill[USED_IDS]
    for i in range(n_ids):
        cache.arena_ids[at_ids + i] = ids[first + i]
    cache.fill[USED_BYTES] = at_bytes + n
    cache.fill[USED_IDS] = at_ids + n_ids
    entries[base] = code
    entries[base + 1] = np.uint64((at_bytes << 32) | n)
    entries[base + 2] = np.uint64((at_ids << 32) | n_ids)
    return 0
