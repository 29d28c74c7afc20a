"""Suffixes of many words in order, as far as pieces reach.

Words stand one behind the other as numbers of their characters, each followed by a 0. A suffix ends with its word, and
only its first characters matter: no piece is longer than some limit. So the order comes from few rounds of radix
sorting: the first round packs as many characters into 64 bits as fit, each further one doubles the width, by the ranks
that the round before gave to a suffix and to the suffix that many characters further on (Manber and Myers, "Suffix
arrays", SIAM J. Comput. 22, 1993). Suffixes that are equal up to the width keep the order of the text.

Twin: ``numba_nlp.reference.training.suffix_array``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["common_prefixes", "double_keys", "measure_suffixes", "number_ranks", "pack_keys", "sort_by_digit"]

#: Bits that one pass of :func:`sort_by_digit` looks at.
DIGIT_BITS = 11


@kernel
def measure_suffixes(codes, limit, lengths):
    """Characters of each suffix.

    Parameters
    ----------
    codes : int32[n]
        Numbers of characters from 1 on, a 0 behind each word.
    limit : int64
        Longer ones count as this long.
    lengths : int32[n]
        Written; 0 where a 0 stands.

    Returns
    -------
    int64
        Number of suffixes that are not empty.
    """
    n = np.int64(0)
    length = np.int64(0)
    for back in range(codes.size):
        place = codes.size - 1 - back
        if codes[place] == 0:
            length = np.int64(0)
        else:
            length = min(length + 1, limit)
            n += 1
        lengths[place] = np.int32(length)
    return n


@kernel
def pack_keys(codes, bits, width, keys, order):
    """Pack the first characters of each suffix into a number that sorts as they do; list the suffixes.

    Parameters
    ----------
    codes : int32[n]
        As for :func:`measure_suffixes`, each below ``1 << bits``.
    bits, width : int64
        Bits of a character, characters of a key; ``bits * width <= 63``.
    keys : int64[n]
        Written; what lies behind a suffix counts as 0.
    order : int32[m]
        Written: places of the suffixes that are not empty, as they come.

    Returns
    -------
    int64
        Their number.
    """
    n = np.int64(0)
    for place in range(codes.size):
        if codes[place] != 0:
            order[n] = np.int32(place)
            n += 1
    key = np.int64(0)
    for back in range(codes.size):
        place = codes.size - 1 - back
        code = np.int64(codes[place])
        key = np.int64(0) if code == 0 else (code << (bits * (width - 1))) | (key >> bits)
        keys[place] = key
    return n


@kernel
def sort_by_digit(keys, shift, order, sorted_order, counts):
    """One stable pass of a radix sort of places by some bits of their keys.

    Parameters
    ----------
    keys : int64[n]
        Not negative.
    shift : int64
        The lowest of the ``DIGIT_BITS`` bits.
    order : int32[m]
        Places.
    sorted_order : int32[m]
        Written, unless all have the same digit.
    counts : int64[2 ** DIGIT_BITS]
        Scratch.

    Returns
    -------
    bool
        Whether the pass was needed.
    """
    mask = np.int64((1 << DIGIT_BITS) - 1)
    counts[:] = 0
    for i in range(order.size):
        counts[(keys[order[i]] >> shift) & mask] += 1
    total = np.int64(0)
    for digit in range(counts.size):
        n = counts[digit]
        if n == order.size:
            return False
        counts[digit] = total
        total += n
    for i in range(order.size):
        digit = (keys[order[i]] >> shift) & mask
        sorted_order[counts[digit]] = order[i]
        counts[digit] += 1
    return True


@kernel
def number_ranks(keys, order, ranks):
    """Number sorted suffixes from 1 on, those with equal keys alike.

    Parameters
    ----------
    keys : int64[n]
    order : int32[m]
        Places, sorted by their keys.
    ranks : int32[n]
        Written; 0 where no suffix begins.

    Returns
    -------
    int64
        The largest number.
    """
    ranks[:] = 0
    rank = np.int64(0)
    for i in range(order.size):
        if i == 0 or keys[order[i]] != keys[order[i - 1]]:
            rank += 1
        ranks[order[i]] = np.int32(rank)
    return rank


@kernel
def double_keys(ranks, lengths, width, keys):
    """Keys of suffixes by twice as many characters.

    Parameters
    ----------
    ranks : int32[n]
        By the first ``width`` characters.
    lengths : int32[n]
        Of the suffixes; those of more than ``width`` must be seen as longer.
    width : int64
    keys : int64[n]
        Written.
    """
    for place in range(ranks.size):
        behind = np.int64(0)
        if lengths[place] > width:
            behind = np.int64(ranks[place + width])
        keys[place] = (np.int64(ranks[place]) << 32) | behind


@kernel
def common_prefixes(codes, lengths, order, common):
    """Characters that sorted suffixes share with the one before them.

    Parameters
    ----------
    codes : int32[n]
    lengths : int32[n]
        How many characters of each suffix count.
    order : int32[m]
        Places, sorted.
    common : int32[m + 1]
        Written; 0 for the first, and at the end.
    """
    common[0] = 0
    common[order.size] = 0
    for i in range(1, order.size):
        left, right = np.int64(order[i - 1]), np.int64(order[i])
        most = min(lengths[left], lengths[right])
        n = np.int32(0)
        while n < most and codes[left + n] == codes[right + n]:
            n += np.int32(1)
        common[i] = n
