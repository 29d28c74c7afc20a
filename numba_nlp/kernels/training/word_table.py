"""How often each word occurs: an open-addressing table over bytes that one thread fills.

An entry is four words, ``[low, high, count, place]``. Of words of up to ``SHORT_LIMIT`` bytes ``low`` and ``high`` are
the bytes, with the length plus one in bits 56-63 of ``high``. Of longer words ``low`` is a hash, ``high`` is
``LONG_FLAG | length``, and their bytes lie in the arena from ``place`` on. An empty entry has ``high == 0``. Nothing is
ever taken out, so collisions walk to the next entry (Knuth, TAOCP 3, 6.4).

Twin: ``numba_nlp.reference.training.word_table``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, equal_bytes, hash_bytes, table_bits
from numba_nlp.kernels.words import load_word, multiply, shift_left, shift_right

__all__ = [
    "FILLED",
    "LONG_FLAG",
    "SHORT_LIMIT",
    "USED_BYTES",
    "WordTable",
    "add_table",
    "add_word",
    "has_room",
    "move_entries",
    "new_word_table",
    "word_sizes",
    "write_words",
]

#: Longest word, in bytes, whose key is the word itself.
SHORT_LIMIT = 15
#: In ``high`` of the key of a longer word; the length of a short one leaves this bit clear.
LONG_FLAG = np.uint64(1 << 63)
#: Places in ``WordTable.fill``: filled entries, used bytes of the arena.
FILLED, USED_BYTES = range(2)


class WordTable(NamedTuple):
    """Arrays of one table (see the module's text); made by :func:`new_word_table`."""

    entries: NDArray[np.uint64]  # [4 << bits]
    arena: NDArray[np.uint8]  # [a]
    fill: NDArray[np.int64]  # [2]


def new_word_table(bits: int, arena: int) -> WordTable:
    """Make an empty table of ``2**bits`` entries and ``arena`` bytes for long words."""
    return WordTable(np.zeros(4 << bits, np.uint64), np.zeros(arena, np.uint8), np.zeros(2, np.int64))


@inlined
def has_room(table, n_words, n_bytes):
    """Whether so many words can be added whatever they are: entries stay less than half full.

    Parameters
    ----------
    table : WordTable
    n_words, n_bytes : int64
        Words, and their bytes altogether.

    Returns
    -------
    bool
    """
    return (
        8 * (table.fill[FILLED] + n_words) <= table.entries.size
        and table.fill[USED_BYTES] + n_bytes <= table.arena.size
    )


@inlined
def add_word(table, data, start, n, count):
    """Add to the count of a word.

    Parameters
    ----------
    table : WordTable
        With room (:func:`has_room`).
    data : uint8[m]
    start, n : int64
        The word, ``data[start:start + n]``.
    count : int64

    Returns
    -------
    int64
        0.
    """
    if n <= SHORT_LIMIT:
        low = load_word(data, start, n if n < 8 else 8)
        high = shift_left(np.uint64(n + 1), 56)
        if n > 8:
            high |= load_word(data, start + 8, n - 8)
    else:
        low = hash_bytes(data, start, start + n)
        high = LONG_FLAG | np.uint64(n)
    entries = table.entries
    mask = (entries.size >> 2) - 1
    # the length is in the bits that multiplying moves least, so it is folded in from the other end
    slot = np.int64(
        shift_right(
            multiply(low ^ multiply(high, MERGE_MULTIPLIER), MERGE_MULTIPLIER), 64 - table_bits(entries.size >> 2)
        )
    )
    while True:
        at = 4 * slot
        found = entries[at + 1]
        if found == np.uint64(0):
            break
        if (
            found == high
            and entries[at] == low
            and (n <= SHORT_LIMIT or equal_bytes(table.arena, np.int64(entries[at + 3]), data, start, n))
        ):
            entries[at + 2] += np.uint64(count)
            return np.int64(0)
        slot = (slot + 1) & mask
    entries[at] = low
    entries[at + 1] = high
    entries[at + 2] = np.uint64(count)
    if n > SHORT_LIMIT:
        place = table.fill[USED_BYTES]
        entries[at + 3] = np.uint64(place)
        for i in range(n):
            table.arena[place + i] = data[start + i]
        table.fill[USED_BYTES] = place + n
    table.fill[FILLED] += 1
    return np.int64(0)


@kernel
def _put(target, low, high, count, place):
    """Enter a key that is not in the table yet."""
    entries = target.entries
    mask = (entries.size >> 2) - 1
    slot = np.int64(
        shift_right(
            multiply(low ^ multiply(high, MERGE_MULTIPLIER), MERGE_MULTIPLIER), 64 - table_bits(entries.size >> 2)
        )
    )
    while entries[4 * slot + 1] != np.uint64(0):
        slot = (slot + 1) & mask
    entries[4 * slot] = low
    entries[4 * slot + 1] = high
    entries[4 * slot + 2] = count
    entries[4 * slot + 3] = place
    target.fill[FILLED] += 1


@kernel
def move_entries(source, target):
    """Copy a table into a larger, empty one.

    Parameters
    ----------
    source, target : WordTable
        The arena of the second is no shorter.

    Returns
    -------
    int64
        Number of words.
    """
    for i in range(source.fill[USED_BYTES]):
        target.arena[i] = source.arena[i]
    target.fill[USED_BYTES] = source.fill[USED_BYTES]
    entries = source.entries
    for at in range(0, entries.size, 4):
        if entries[at + 1] != np.uint64(0):
            _put(target, entries[at], entries[at + 1], entries[at + 2], entries[at + 3])
    return target.fill[FILLED]


@inlined
def _length(high):
    """Bytes of the word with such a key."""
    if high >= LONG_FLAG:
        return np.int64(high ^ LONG_FLAG)
    return np.int64(shift_right(high, 56)) - 1


@kernel
def word_sizes(table, rows):
    """How many words of a table there are, and their bytes.

    Parameters
    ----------
    table : WordTable
    rows : int64[2]
        Written: words, bytes.

    Returns
    -------
    int64
        0.
    """
    rows[0] = 0
    rows[1] = 0
    for at in range(0, table.entries.size, 4):
        high = table.entries[at + 1]
        if high != np.uint64(0):
            rows[0] += 1
            rows[1] += _length(high)
    return np.int64(0)


@inlined
def _write_word(table, at, data, place):
    """Write the bytes of entry ``at``; returns their number."""
    high = table.entries[at + 1]
    n = _length(high)
    if high >= LONG_FLAG:
        source = np.int64(table.entries[at + 3])
        for i in range(n):
            data[place + i] = table.arena[source + i]
        return n
    word = table.entries[at]
    for i in range(n):
        if i == 8:
            word = high
        data[place + i] = np.uint8(word & np.uint64(0xFF))
        word = shift_right(word, 8)
    return n


@kernel
def write_words(table, data, offsets, counts):
    """Write the words of a table, in no order.

    Parameters
    ----------
    table : WordTable
    data, offsets, counts : uint8[bytes], int64[words + 1], int64[words]
        Written; sizes are those of :func:`word_sizes`.

    Returns
    -------
    int64
        Number of words.
    """
    row = np.int64(0)
    place = np.int64(0)
    offsets[0] = 0
    for at in range(0, table.entries.size, 4):
        if table.entries[at + 1] != np.uint64(0):
            place += _write_word(table, at, data, place)
            counts[row] = np.int64(table.entries[at + 2])
            row += 1
            offsets[row] = place
    return row


@kernel
def add_table(target, data, offsets, counts, first):
    """Add counted words to a table, as long as there is room.

    Parameters
    ----------
    target : WordTable
    data, offsets, counts : uint8[m], int64[words + 1], int64[words]
        As :func:`write_words` writes them.
    first : int64
        The first word to add.

    Returns
    -------
    int64
        The first word that was not added; ``words`` at the end.
    """
    for row in range(first, counts.size):
        n = offsets[row + 1] - offsets[row]
        if not has_room(target, 1, n):
            return np.int64(row)
        add_word(target, data, offsets[row], n, counts[row])
    return np.int64(counts.size)
