"""The word cache: results of earlier pre-tokens in flat arrays, exact by full key comparison.

Short table
    Pre-tokens of 1 to 15 bytes. An entry is four words, ``[low, high, first, second]``. ``low`` holds bytes 0-7,
    ``high`` bytes 8-14 and the length in its top byte (0 = empty entry). ``first`` and
    ``second`` hold up to four ids of 32 bits; the number of ids is in the top four bits of ``first``. Of 5 to 15 ids,
    ``first`` holds the place in the id arena. The hash names an entry, its *home*; the four entries
    ``home ^ 0..3`` are a group, and a pre-token may lie anywhere in its group. The hot path looks at the home only;
    the slow path looks at the other three and brings what it finds back home, so what is used often is found at once.
Long table
    Longer pre-tokens, up to ``LONG_LIMIT`` bytes: four words an entry, ``[hash, place of the bytes << 32 | length,
    place of the ids << 32 | number of ids, unused]``, two entries a set; bytes and ids lie in the arenas.

A full arena wipes both tables: the memory of a cache is bounded, and one cache belongs to one thread at a time.

Twin: ``numba_nlp.reference.tables.word_cache``.

What was measured on the way (GPT-2, 17 MB of English lines, one thread, same machine): sets of two entries compared
without branches 373 MB/s; bringing guests home 473 MB/s; one home entry a lookup as here 530 MB/s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, equal_bytes
from numba_nlp.kernels.words import multiply, shift_left, shift_right

#: Longest pre-token, in bytes, that is kept in the short table.
SHORT_LIMIT = 15
#: Most ids of a result that is kept in the short table: their number has four bits.
SHORT_IDS = 15
#: Longest pre-token, in bytes, that is cached at all.
LONG_LIMIT = 512
#: Everything of ``first`` but the number of ids.
ID_BITS = np.uint64(0x0FFFFFFFFFFFFFFF)


#: Places in ``WordCache.fill``: bytes and ids used of the arenas, wipes, pre-tokens that had to be merged, binary
#: logarithm of the entries in use, filled entries of the short table.
USED_BYTES, USED_IDS, WIPES, MISSES, BITS, FILLED = range(6)
#: Binary logarithm of the entries that an empty cache begins with.
FIRST_BITS = 13


class WordCache(NamedTuple):
    """Arrays of one cache (see the module's text); made by :func:`new_word_cache`."""

    entries: NDArray[np.uint64]  # [4 << bits]
    long_entries: NDArray[np.uint64]  # [8 << long_bits]
    arena_bytes: NDArray[np.uint8]  # [a]
    arena_ids: NDArray[np.int32]  # [b]
    fill: NDArray[np.int64]  # [6]


def new_word_cache(bits: int = 19, long_bits: int = 16, arena: int = 1 << 21) -> WordCache:
    """Make an empty cache.

    Parameters
    ----------
    bits : int
        Binary logarithm of the most entries of the short table, at least 2: a group has four.
    long_bits : int
        Binary logarithm of the sets of two entries of the long table.
    arena : int
        Bytes of the byte arena, and ids of the id arena; at least ``SHORT_LIMIT``, and ``LONG_LIMIT`` for every
        pre-token up to there to be kept.

    Raises
    ------
    ValueError
        A size below its least.

    Notes
    -----
    The arrays come from ``calloc``: memory that no entry has touched yet is not resident. With the defaults a cache
    can reach 16 + 4 + 2 + 8 = 30 MB.
    """
    if bits < 2 or long_bits < 0 or arena < SHORT_LIMIT:
        raise ValueError(
            f"a word cache has bits >= 2, long_bits >= 0, arena >= {SHORT_LIMIT}; got {bits}, {long_bits}, {arena}"
        )
    raw = np.zeros((4 << bits) + 16, np.uint64)
    first = (-raw.ctypes.data // 8) % 16
    fill = np.zeros(6, np.int64)
    fill[BITS] = min(FIRST_BITS, bits)
    return WordCache(
        raw[first : first + (4 << bits)],
        np.zeros(8 << long_bits, np.uint64),
        np.zeros(arena + 8, np.uint8),
        np.zeros(arena, np.int32),
        fill,
    )


@inlined
def home_of(low, high, shift):
    """Home entry of a short key.

    Parameters
    ----------
    low, high : uint64
        Key words.
    shift : int64
        64 less the binary logarithm of the number of entries.

    Returns
    -------
    int64
    """
    return np.int64(shift_right(multiply(low ^ high, MERGE_MULTIPLIER), shift))


@kernel
def _put(entries, home, low, high, first, second):
    """Enter at home; what is there moves to a free entry of the group, or takes the place of another one.

    Returns 1 when the group has an entry more than before, else 0.
    """
    at = 4 * home
    if entries[at + 1] != np.uint64(0):
        other = np.int64(0)
        for step in range(1, 4):
            other = 4 * (home ^ step)
            if entries[other + 1] == np.uint64(0):
                break
        added = np.int64(entries[other + 1] == np.uint64(0))
        for word in range(4):
            entries[other + word] = entries[at + word]
    else:
        added = np.int64(1)
    entries[at] = low
    entries[at + 1] = high
    entries[at + 2] = first
    entries[at + 3] = second
    return added


@kernel
def grow_if_full(cache):
    """Double the entries in use once a quarter of them is filled, as far as the array reaches.

    Parameters
    ----------
    cache : WordCache

    Returns
    -------
    int64
        0.

    Notes
    -----
    A home is the top bits of its key's hash, so the entries of group ``g`` go to groups ``2 g`` and ``2 g + 1``, and
    working from the last group down needs no second table.
    """
    bits = cache.fill[BITS]
    if 4 * cache.fill[FILLED] <= (1 << bits) or (8 << bits) > cache.entries.size:
        return 0
    entries = cache.entries
    shift = 64 - (bits + 1)
    for group in range((1 << (bits - 2)) - 1, -1, -1):
        at = 16 * group
        low0, high0, first0, second0 = entries[at], entries[at + 1], entries[at + 2], entries[at + 3]
        low1, high1, first1, second1 = entries[at + 4], entries[at + 5], entries[at + 6], entries[at + 7]
        low2, high2, first2, second2 = entries[at + 8], entries[at + 9], entries[at + 10], entries[at + 11]
        low3, high3, first3, second3 = entries[at + 12], entries[at + 13], entries[at + 14], entries[at + 15]
        for word in range(32):
            entries[32 * group + word] = np.uint64(0)
        if high0 != np.uint64(0):
            _put(entries, home_of(low0, high0, shift), low0, high0, first0, second0)
        if high1 != np.uint64(0):
            _put(entries, home_of(low1, high1, shift), low1, high1, first1, second1)
        if high2 != np.uint64(0):
            _put(entries, home_of(low2, high2, shift), low2, high2, first2, second2)
        if high3 != np.uint64(0):
            _put(entries, home_of(low3, high3, shift), low3, high3, first3, second3)
    cache.fill[BITS] = bits + 1
    return 0


@kernel
def bring_home(cache, low, high, home):
    """Look for a key in the other entries of its group and swap it with what is at home.

    Parameters
    ----------
    cache : WordCache
    low, high, home : uint64, uint64, int64
        Key and its home.

    Returns
    -------
    bool
        Whether the key is at home now.
    """
    entries = cache.entries
    at = 4 * home
    for step in range(4):
        other = 4 * (home ^ step)
        if entries[other] == low and entries[other + 1] == high:
            for word in range(4):
                kept = entries[at + word]
                entries[at + word] = entries[other + word]
                entries[other + word] = kept
            return True
    return False


@kernel
def copy_ids(cache, home, ids, out):
    """Write the ids of an entry of the short table.

    Parameters
    ----------
    cache : WordCache
    home : int64
        Number of the entry.
    ids : int32[k]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    int64
        Number of ids.
    """
    first = cache.entries[4 * home + 2]
    count = np.int64(shift_right(first, 60))
    first &= ID_BITS
    if count <= 4:
        second = cache.entries[4 * home + 3]
        for k in range(count):
            word = first if k < 2 else second
            ids[out + k] = np.int32(np.int64(shift_right(word, 32 * (k & 1)) & np.uint64(0xFFFFFFFF)))
    else:
        source = np.int64(first)
        for k in range(count):
            ids[out + k] = cache.arena_ids[source + k]
    return count


@kernel
def wipe(cache):
    """Empty both tables and the arenas.

    Parameters
    ----------
    cache : WordCache
    """
    cache.entries[:] = np.uint64(0)
    cache.long_entries[:] = np.uint64(0)
    cache.fill[USED_BYTES] = 0
    cache.fill[USED_IDS] = 0
    cache.fill[FILLED] = 0
    cache.fill[WIPES] += 1


@kernel
def keep_short(cache, low, high, home, ids, out, n):
    """Enter the ids of a short pre-token.

    Parameters
    ----------
    cache : WordCache
    low, high, home : uint64, uint64, int64
        Key and its home.
    ids : int32[m]
    out, n : int64
        ``ids[out:out + n]``, ``1 <= n <= 15``; ids are below ``2**28``.

    Returns
    -------
    int64
        0.
    """
    if n <= 4:
        a = np.int64(ids[out])
        b = np.int64(ids[out + 1]) if n > 1 else np.int64(0)
        c = np.int64(ids[out + 2]) if n > 2 else np.int64(0)
        d = np.int64(ids[out + 3]) if n > 3 else np.int64(0)
        first = np.uint64(a | (b << 32))
        second = np.uint64(c | (d << 32))
    else:
        if cache.fill[USED_IDS] + n > cache.arena_ids.size:
            wipe(cache)
        source = cache.fill[USED_IDS]
        for i in range(n):
            cache.arena_ids[source + i] = ids[out + i]
        cache.fill[USED_IDS] = source + n
        first = np.uint64(source)
        second = np.uint64(0)
    cache.fill[FILLED] += _put(cache.entries, home, low, high, first | shift_left(np.uint64(n), 60), second)
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
    """Enter the ids of a long pre-token, unless an empty arena could not hold it; the older entry of a full set leaves.

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
    if n + 8 > cache.arena_bytes.size or n_ids > cache.arena_ids.size:
        return 0
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
