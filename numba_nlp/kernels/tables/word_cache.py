"""The word cache: results of earlier chunks of text in flat arrays, exact by full comparison.

An entry is four words, ``[low, high, third, fourth]``. The hash of a key names an entry, its *home*; the four entries
``home ^ 0..3`` are a group, and a key may lie anywhere in its group. The hot path looks at the home only; the slow path
looks at the other three and brings what it finds back home, so what is used often is found at once.

Short chunks, of 1 to 15 bytes
    ``low`` holds bytes 0-7, ``high`` bytes 8-14 and the length in bits 56-59. In the entry, not in the key, bits 60-63
    of ``high`` hold the number of ids, 0 to 15. Up to four ids of 32 bits lie in ``third`` and ``fourth``, of more
    ``third`` is the place in the id arena.
Long chunks, up to ``LONG_LIMIT`` bytes
    ``low`` is a hash of the bytes, ``high`` is ``LONG_FLAG | length``; ``third`` holds the place of the bytes in the
    byte arena in its upper half and the place of the ids in its lower half, ``fourth`` the number of ids. Whoever finds
    such an entry compares the bytes.

A full arena wipes everything: the memory of a cache is bounded, and one cache belongs to one thread at a time.

Twin: ``numba_nlp.reference.tables.word_cache``.

What was measured on the way: docs/decisions/0002-encoding-hot-path.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, equal_bytes
from numba_nlp.kernels.tables.pages import new_pages
from numba_nlp.kernels.words import VECTOR, multiply, peek, raw_store64, shift_left, shift_right, unlikely

if VECTOR:
    from numba_nlp.kernels.words import address_of, load_at, load_word, store_at

#: Longest chunk, in bytes, whose key is the chunk itself.
SHORT_LIMIT = 15
#: Most ids of a short chunk that are kept: their number has four bits.
SHORT_IDS = 15
#: Longest chunk, in bytes, that is kept at all.
LONG_LIMIT = 512
#: In ``high`` of the key of a long chunk; its bits 56-59, the length of a short one, are zero.
LONG_FLAG = np.uint64(1 << 55)
#: The bits of ``high`` that are the key.
KEY_BITS = np.uint64(0x0FFFFFFFFFFFFFFF)
#: Keys of long chunks are below, those of short ones are not.
FIRST_SHORT = np.uint64(1 << 56)
#: Ids that :func:`copy_ids` may write behind the last one.
SPARE_IDS = 8


#: Places in ``WordCache.fill``: bytes and ids used of the arenas, wipes, chunks that had to be solved, binary logarithm
#: of the entries in use, filled entries.
USED_BYTES, USED_IDS, WIPES, MISSES, BITS, FILLED = range(6)
#: Binary logarithm of the entries that an empty cache begins with.
FIRST_BITS = 15


class WordCache(NamedTuple):
    """Arrays of one cache (see the module's text); made by :func:`new_word_cache`."""

    entries: NDArray[np.uint64]  # [4 << bits]
    arena_bytes: NDArray[np.uint8]  # [a]
    arena_ids: NDArray[np.int32]  # [b]
    fill: NDArray[np.int64]  # [6]


def new_word_cache(bits: int = 19, arena: int = 1 << 21) -> WordCache:
    """Make an empty cache.

    Parameters
    ----------
    bits : int
        Binary logarithm of the most entries, at least 2: a group has four.
    arena : int
        Bytes of the byte arena, and ids of the id arena; at least ``SHORT_LIMIT``, and ``LONG_LIMIT`` for every chunk
        up to there to be kept.

    Raises
    ------
    ValueError
        A size below its least.

    Notes
    -----
    Memory that no entry has touched yet is not resident. With the defaults a cache can reach 16 + 2 + 8 = 26 MB.
    """
    if bits < 2 or arena < SHORT_LIMIT:
        raise ValueError(f"a word cache has bits >= 2 and arena >= {SHORT_LIMIT}; got {bits}, {arena}")
    # copy_ids may read two words behind the last entry, and 15 ids behind the last one
    n_entries, n_ids = (4 << bits) + 16, arena + 16
    n_ids += n_ids % 2
    memory = new_pages(8 * n_entries + 4 * n_ids + arena + 8)
    words, ids = memory[: 8 * n_entries].view(np.uint64), memory[8 * n_entries :][: 4 * n_ids].view(np.int32)
    fill = np.zeros(6, np.int64)
    fill[BITS] = min(FIRST_BITS, bits)
    return WordCache(words[: 4 << bits], memory[8 * n_entries + 4 * n_ids :], ids[:arena], fill)


@inlined
def home_of(low, high, shift):
    """Home entry of a key.

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
def _put(entries, home, low, high, third, fourth):
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
    entries[at + 2] = third
    entries[at + 3] = fourth
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
        low0, high0, third0, fourth0 = entries[at], entries[at + 1], entries[at + 2], entries[at + 3]
        low1, high1, third1, fourth1 = entries[at + 4], entries[at + 5], entries[at + 6], entries[at + 7]
        low2, high2, third2, fourth2 = entries[at + 8], entries[at + 9], entries[at + 10], entries[at + 11]
        low3, high3, third3, fourth3 = entries[at + 12], entries[at + 13], entries[at + 14], entries[at + 15]
        for word in range(32):
            entries[32 * group + word] = np.uint64(0)
        if high0 != np.uint64(0):
            _put(entries, home_of(low0, high0 & KEY_BITS, shift), low0, high0, third0, fourth0)
        if high1 != np.uint64(0):
            _put(entries, home_of(low1, high1 & KEY_BITS, shift), low1, high1, third1, fourth1)
        if high2 != np.uint64(0):
            _put(entries, home_of(low2, high2 & KEY_BITS, shift), low2, high2, third2, fourth2)
        if high3 != np.uint64(0):
            _put(entries, home_of(low3, high3 & KEY_BITS, shift), low3, high3, third3, fourth3)
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
    # A key that is entered goes home, and what it finds there moves away; so nothing that has this home is in the
    # cache when it is empty. This saves the group's other cache line in nine of ten misses.
    if entries[at + 1] == np.uint64(0):
        return False
    for step in range(4):
        other = 4 * (home ^ step)
        if entries[other] == low and (entries[other + 1] & KEY_BITS) == high:
            for word in range(4):
                kept = entries[at + word]
                entries[at + word] = entries[other + word]
                entries[other + word] = kept
            return True
    return False


if VECTOR:

    @inlined
    def copy_ids(cache, home, ids, out):
        """Write the ids of an entry of a short chunk.

        Parameters
        ----------
        cache : WordCache
        home : int64
            Number of the entry.
        ids : int32[k]
            Written from ``out`` on; ``SPARE_IDS`` elements behind the last id may be overwritten.
        out : int64

        Returns
        -------
        int64
            Number of ids.

        Notes
        -----
        Whether the ids lie in the entry or in the arena is a coin that no processor foresees, so both places are
        computed and one is chosen without a branch; eight ids are copied whatever their number is.
        """
        at = 4 * home
        count = np.int64(shift_right(peek(cache.entries, at + 1), 60))
        third = peek(cache.entries, at + 2)
        if count <= 4:
            raw_store64(ids, out, third)
            raw_store64(ids, out + 2, peek(cache.entries, at + 3))
        else:
            place = address_of(cache.arena_ids, np.int64(third))
            for word in range(4):
                raw_store64(ids, out + 2 * word, load_at(place + 8 * word))
            if unlikely(count > 8):
                for word in range(4, 8):
                    raw_store64(ids, out + 2 * word, load_at(place + 8 * word))
        return count

else:

    @kernel
    def copy_ids(cache, home, ids, out):
        """Write the ids of an entry of a short chunk: the plain form of ``cache, home, ids, out``."""
        at = 4 * home
        count = np.int64(shift_right(cache.entries[at + 1], 60))
        if count > 4:
            source = np.int64(cache.entries[at + 2])
            for k in range(count):
                ids[out + k] = cache.arena_ids[source + k]
        else:
            for k in range(count):
                word = cache.entries[at + 2 + (k >> 1)]
                ids[out + k] = np.int32(np.int64(shift_right(word, 32 * (k & 1)) & np.uint64(0xFFFFFFFF)))
        return count


@kernel
def copy_long(cache, home, data, start, n, ids, out):
    """Write the ids of an entry of a long chunk, if it is that of some bytes.

    Parameters
    ----------
    cache : WordCache
    home : int64
        Number of an entry with the key of the chunk.
    data : uint8[m]
    start, n : int64
        The chunk.
    ids : int32[k]
        Written from ``out`` on.
    out : int64

    Returns
    -------
    int64
        Number of ids; -1 when the entry is that of another chunk.
    """
    third = cache.entries[4 * home + 2]
    if not equal_bytes(cache.arena_bytes, np.int64(shift_right(third, 32)), data, start, n):
        return np.int64(-1)
    source = np.int64(third & np.uint64(0xFFFFFFFF))
    count = np.int64(cache.entries[4 * home + 3])
    for k in range(count):
        ids[out + k] = cache.arena_ids[source + k]
    return count


@kernel
def wipe(cache):
    """Empty the table and the arenas.

    Parameters
    ----------
    cache : WordCache
    """
    cache.entries[:] = np.uint64(0)
    cache.fill[USED_BYTES] = 0
    cache.fill[USED_IDS] = 0
    cache.fill[FILLED] = 0
    cache.fill[WIPES] += 1


if VECTOR:

    @inlined
    def _keep_bytes(cache, at, data, start, n):
        """Copy bytes to the arena, which has room for eight more."""
        place = address_of(cache.arena_bytes, at)
        for done in range(0, n, 8):
            store_at(place + done, load_word(data, start + done, min(n - done, 8)))

else:

    @kernel
    def _keep_bytes(cache, at, data, start, n):
        """Copy bytes to the arena."""
        for i in range(n):
            cache.arena_bytes[at + i] = data[start + i]


@kernel
def _keep_ids(cache, ids, first, n):
    """Append ids to the arena, which has room for them; returns their place."""
    place = cache.fill[USED_IDS]
    for i in range(n):
        cache.arena_ids[place + i] = ids[first + i]
    cache.fill[USED_IDS] = place + n
    return place


@kernel
def keep_short(cache, low, high, home, ids, first, n):
    """Enter the ids of a short chunk.

    Parameters
    ----------
    cache : WordCache
    low, high, home : uint64, uint64, int64
        Key and its home.
    ids : int32[m]
    first, n : int64
        ``ids[first:first + n]``, ``0 <= n <= SHORT_IDS``.

    Returns
    -------
    int64
        0.
    """
    third, fourth = np.uint64(0), np.uint64(0)
    if n > 4:
        if cache.fill[USED_IDS] + n > cache.arena_ids.size:
            wipe(cache)
        third = np.uint64(_keep_ids(cache, ids, first, n))
    else:
        for k in range(n):
            word = shift_left(np.uint64(np.uint32(ids[first + k])), 32 * (k & 1))
            if k < 2:
                third |= word
            else:
                fourth |= word
    cache.fill[FILLED] += _put(cache.entries, home, low, high | shift_left(np.uint64(n), 60), third, fourth)
    return 0


@kernel
def keep_long(cache, low, high, home, data, start, n, ids, first, n_ids):
    """Enter the ids of a long chunk, unless an empty arena could not hold it.

    Parameters
    ----------
    cache : WordCache
    low, high, home : uint64, uint64, int64
        Key and its home.
    data : uint8[m]
    start, n : int64
        The chunk, ``n <= LONG_LIMIT``.
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
    at_bytes = cache.fill[USED_BYTES]
    _keep_bytes(cache, at_bytes, data, start, n)
    cache.fill[USED_BYTES] = at_bytes + n
    at_ids = _keep_ids(cache, ids, first, n_ids)
    third = np.uint64((at_bytes << 32) | at_ids)
    cache.fill[FILLED] += _put(cache.entries, home, low, high, third, np.uint64(n_ids))
    return 0
