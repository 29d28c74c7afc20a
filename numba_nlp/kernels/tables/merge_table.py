"""The merge table: which two neighbouring symbols merge, and how early.

Every merge lies in one of two slots that the hash of its pair names (cuckoo hashing: Pagh and Rodler, "Cuckoo hashing",
J. Algorithms 51, 2004). A look-up therefore reads two independent words and needs no branch, whether it finds something
or not. Of ten look-ups while merging about seven fail, in no order that a processor could foresee.

A slot has 32 bits, ``check << number_bits | merge number``, half of what the whole pair would take, so that the table
of a large vocabulary stays in the second-level cache. The check cannot tell all pairs apart: :func:`guess_merge` may
give the number of another pair (about once in 10,000 look-ups), but never a number above the right one. Who uses a
guess compares ``merge_pairs`` first; :func:`find_merge_pair` does both.

Twin: ``numba_nlp.reference.tables.hashing``, a dictionary.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.hashing import MERGE_MULTIPLIER, table_bits
from numba_nlp.kernels.words import leading_zeros, multiply, peek, shift_right

#: A symbol that no merge has: what stands beside the first and after the last symbol of a pre-token.
NO_SYMBOL = (1 << 20) - 1
#: Content of an empty slot; the check of a merge is odd, hence never zero.
EMPTY_SLOT = np.uint32(0)
#: Moves of one insertion after which a table counts as too small.
MAX_MOVES = 500
#: Doublings of a table before a list of merges is given up.
MAX_DOUBLINGS = 8


def new_merge_table(lefts: NDArray[np.int32], rights: NDArray[np.int32]) -> tuple[NDArray, NDArray]:
    """Table of merges that are numbered by their position.

    Parameters
    ----------
    lefts, rights : int32[M]
        Symbols of each pair, below ``2**20 - 1``; ``M < 2**24``; pairs are distinct.

    Returns
    -------
    merge_table : uint32[2^k]
        Less than half full.
    merge_pairs : uint64[M]
        ``left << 20 | right`` of each merge.

    Raises
    ------
    ValueError
        No table of reasonable size can be built, which takes a list made for it.
    """
    pairs = lefts.astype(np.uint64) << np.uint64(20) | rights.astype(np.uint64)
    size = 1 << max(1, (2 * pairs.size).bit_length())
    for doubling in range(MAX_DOUBLINGS):
        table = np.full(size << doubling, EMPTY_SLOT, np.uint32)
        if fill_merge_table(pairs, table) == pairs.size:
            return table, pairs
    raise ValueError(f"no merge table of up to {table.size} slots can hold these {pairs.size} merges")


@inlined
def number_bits(n_merges):
    """Bits of a slot that hold the merge number.

    Parameters
    ----------
    n_merges : int64

    Returns
    -------
    int64
        At least 1; every merge number is below ``1 << number_bits(n_merges)``.
    """
    return 64 - leading_zeros(np.uint64(max(n_merges - 1, 1)))


@inlined
def _places(pair, size_bits, bits):
    """The two slots of a pair, and its check in place."""
    code = multiply(pair, MERGE_MULTIPLIER)
    first = np.int64(shift_right(code, 64 - size_bits))
    second = np.int64(shift_right(code, 32)) & ((1 << size_bits) - 1)
    # the check lies above the merge number; its lowest bit is set, so that no merge looks like an empty slot
    check = (np.int64(code & np.uint64(0xFFFFFFFF)) & (-1 << bits)) | (1 << bits)
    return first, second, check


@kernel
def fill_merge_table(pairs, table):
    """Enter merges into an empty table.

    Parameters
    ----------
    pairs : uint64[M]
        ``left << 20 | right`` of each merge, all distinct.
    table : uint32[2^k]
        Written; all ``EMPTY_SLOT`` before.

    Returns
    -------
    int64
        Number of entered merges: ``M``, or less when the table is too small.
    """
    size_bits = table_bits(table.size)
    bits = number_bits(pairs.size)
    for merge in range(pairs.size):
        number = np.int64(merge)
        slot, _, check = _places(pairs[number], size_bits, bits)
        moves = 0
        while True:
            other = np.int64(table[slot])
            table[slot] = np.uint32(check | number)
            if other == 0:
                break
            moves += 1
            if moves > MAX_MOVES:
                return merge
            # what lay here moves to its other slot
            number = other & ((1 << bits) - 1)
            first, second, check = _places(pairs[number], size_bits, bits)
            slot = second if slot == first else first
    return pairs.size


@inlined
def guess_merge(table, size_bits, bits, left, right):
    """Merge number of a symbol pair, or more rarely of another pair, or a number too large.

    Parameters
    ----------
    table : uint32[2^k]
    size_bits, bits : int64
        ``table_bits(table.size)`` and ``number_bits(M)``.
    left, right : int64
        Symbols, up to ``NO_SYMBOL``.

    Returns
    -------
    int64
        At least ``1 << bits``: the pair does not merge. Else a merge number, not above the pair's own; the pair merges
        only if ``merge_pairs`` of that number is the pair, or if :func:`find_merge_pair` says so.
    """
    first, second, check = _places(np.uint64((left << 20) | right), size_bits, bits)
    return min(np.int64(peek(table, first)) ^ check, np.int64(peek(table, second)) ^ check)


@inlined
def find_merge_pair(table, pairs, left, right):
    """Merge number of a symbol pair, or -1.

    Parameters
    ----------
    table, pairs : uint32[2^k], uint64[M]
        Made by :func:`new_merge_table`.
    left, right : int64
        Symbols, up to ``NO_SYMBOL``.

    Returns
    -------
    int64
    """
    pair = np.uint64((np.int64(left) << 20) | np.int64(right))
    bits = number_bits(pairs.size)
    first, second, check = _places(pair, table_bits(table.size), bits)
    one, two = np.int64(peek(table, first)) ^ check, np.int64(peek(table, second)) ^ check
    if min(one, two) >= 1 << bits:
        return np.int64(-1)
    if one < pairs.size and peek(pairs, one) == pair:
        return one
    if two < pairs.size and peek(pairs, two) == pair:
        return two
    return np.int64(-1)
