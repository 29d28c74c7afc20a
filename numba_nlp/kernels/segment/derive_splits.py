"""How the pieces of a SentencePiece-like vocabulary come about when any two neighbours merge whose text is a piece.

Serves the compiling of vocabularies, not the encoding of text.

*A piece is made in one way only.* Let two neighbours ``l r`` of some text merge into the piece ``p``. Nothing crossed
the ends of ``lr`` before, so the merges inside were those of the text of ``p`` merged alone, in the same order: at
each moment the lowest, leftmost candidate of the whole, if it lies inside, is the lowest, leftmost inside. That row of
steps passes through one state with two symbols. So of all the ways to cut ``p`` in two, one needs to be in the merge
table, or none when merging the text of ``p`` alone does not give ``p``.

Twin: ``numba_nlp.reference.segment.derive_splits``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.derive import enter_merge
from numba_nlp.kernels.tables.hashing import find_merge


@kernel
def merge_alone_ranked(slots, products, ranks, n, symbols, numbers):
    """Merge a row of symbols until nothing merges, or until two are left.

    The lowest rank goes first, the leftmost pair among equals.

    Parameters
    ----------
    slots : uint64[2^k]
        Merge table, see :mod:`numba_nlp.kernels.tables.hashing`.
    products, ranks : int32[M] each
        Product and rank of each merge.
    n : int64
        Number of symbols.
    symbols : int32[>= n]
        The symbols; overwritten by what is left.
    numbers : int32[>= n]
        Scratch.

    Returns
    -------
    int64
        Number of symbols left.

    Notes
    -----
    O(n^2).
    """
    for i in range(n - 1):
        numbers[i] = find_merge(slots, symbols[i], symbols[i + 1])
    while n > 2:
        best = -1
        for i in range(n - 1):
            if numbers[i] >= 0 and (best < 0 or ranks[numbers[i]] < ranks[numbers[best]]):
                best = i
        if best < 0:
            break
        symbols[best] = products[numbers[best]]
        n -= 1
        for i in range(best + 1, n):
            symbols[i] = symbols[i + 1]
            numbers[i] = numbers[i + 1]
        if best > 0:
            numbers[best - 1] = find_merge(slots, symbols[best - 1], symbols[best])
        if best < n - 1:
            numbers[best] = find_merge(slots, symbols[best], symbols[best + 1])
    return n


@kernel
def derive_splits(characters, character_offsets, products, ranks, by_length, slots, symbols, numbers, lefts, rights):
    """Find the one pair of symbols by which each piece is made.

    Parameters
    ----------
    characters, character_offsets : int32[n], int64[m + 1]
        Symbols of the characters of each piece of two characters and more.
    products, ranks : int32[m] each
        Symbol of each piece, below ``2**20 - 1``, and its rank.
    by_length : int32[m]
        The pieces, those of fewer characters first.
    slots : uint64[2^k]
        Scratch, filled with ``EMPTY`` by the caller, ``2^k >= 2 * m``.
    symbols, numbers : int32[longest piece] each
        Scratch.
    lefts, rights : int32[m] each
        Written: the pair, or -1 for a piece that merging does not make.

    Returns
    -------
    int64
        Number of pieces that merging makes.
    """
    found = 0
    for k in range(by_length.size):
        piece = by_length[k]
        first = character_offsets[piece]
        n = character_offsets[piece + 1] - first
        for i in range(n):
            symbols[i] = characters[first + i]
        lefts[piece] = -1
        rights[piece] = -1
        # all that can happen before the last merge makes shorter pieces, whose merges are known
        if merge_alone_ranked(slots, products, ranks, n, symbols, numbers) == 2:
            lefts[piece] = symbols[0]
            rights[piece] = symbols[1]
            enter_merge(slots, np.int64(symbols[0]), np.int64(symbols[1]), np.int64(piece))
            found += 1
    return found
