"""How often each pair of neighbouring symbols occurs: an open-addressing table that is never shrunk.

A slot is two numbers, ``[key, count]``; the key of a pair is ``left << 32 | right``, -1 marks an empty slot.

Twin: ``numba_nlp.reference.training.pair_table``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, table_bits
from numba_nlp.kernels.words import multiply, shift_right

__all__ = ["NO_PAIR", "add_to_pair", "find_pair", "move_pairs", "new_pair_slots", "pair_count", "pair_key"]

#: Key of an empty slot.
NO_PAIR = np.int64(-1)


def new_pair_slots(bits: int):
    """An empty table of ``2**bits`` slots."""
    slots = np.zeros(2 << bits, np.int64)
    slots[::2] = NO_PAIR
    return slots


@inlined
def pair_key(left, right):
    """Key of a pair.

    Parameters
    ----------
    left, right : int64
        Symbols, below 2^31.

    Returns
    -------
    int64
    """
    return (np.int64(left) << 32) | np.int64(right)


@inlined
def find_pair(slots, key):
    """Slot of a pair, or the empty slot where it belongs.

    Parameters
    ----------
    slots : int64[2 << bits]
        With at least one empty slot.
    key : int64

    Returns
    -------
    int64
        Number of the slot.
    """
    n_slots = slots.size >> 1
    slot = np.int64(shift_right(multiply(np.uint64(key), MERGE_MULTIPLIER), 64 - table_bits(n_slots)))
    while slots[2 * slot] != key and slots[2 * slot] != NO_PAIR:
        slot = (slot + 1) & (n_slots - 1)
    return slot


@inlined
def pair_count(slots, key):
    """Count of a pair, 0 for one that is not in the table.

    Parameters
    ----------
    slots, key : int64[2 << bits], int64

    Returns
    -------
    int64
    """
    slot = find_pair(slots, key)
    if slots[2 * slot] == NO_PAIR:
        return np.int64(0)
    return slots[2 * slot + 1]


@inlined
def add_to_pair(slots, key, count):
    """Add to the count of a pair, which is entered when it is new.

    Parameters
    ----------
    slots, key : int64[2 << bits], int64
    count : int64

    Returns
    -------
    int64
        1 when the pair is new, else 0.
    """
    slot = find_pair(slots, key)
    is_new = np.int64(slots[2 * slot] == NO_PAIR)
    slots[2 * slot] = key
    slots[2 * slot + 1] += count
    return is_new


@kernel
def move_pairs(source, entries, target, target_entries):
    """Copy a table into a larger, empty one.

    Parameters
    ----------
    source, entries : int64[2 << bits], int32[1 << bits] or int32[0]
        The table, and a number that belongs to each slot.
    target, target_entries : int64[2 << more bits], int32[1 << more bits] or int32[0]
        Written.

    Returns
    -------
    int64
        Number of pairs.
    """
    n = np.int64(0)
    for at in range(0, source.size, 2):
        if source[at] != NO_PAIR:
            n += add_to_pair(target, source[at], source[at + 1])
            if entries.size > 0:
                target_entries[find_pair(target, source[at])] = entries[at >> 1]
    return n
