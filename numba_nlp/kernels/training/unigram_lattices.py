"""The lattices of all words of a corpus, kept through the training of a Unigram model.

Pieces are only ever taken away, so the lattices are built once, from the nodes of the suffix tree, and shrink with the
pieces. At each place stand the pieces of two and more characters that begin there, the longest first; the piece of
the one character is ``character_pieces`` of its number.

Twin: ``numba_nlp.reference.training.unigram_lattices``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["count_entries", "fill_entries", "keep_entries"]


@kernel
def count_entries(node_at, codes, parents, node_pieces, offsets):
    """Number of pieces at each place, summed up.

    Parameters
    ----------
    node_at, codes : int32[n], int32[n]
        Node with the longest string at a place; nothing begins where ``codes`` is 0.
    parents, node_pieces : int32[nodes], int32[nodes]
        Parent of each node, and its piece or -1.
    offsets : int64[n + 1]
        Written.

    Returns
    -------
    int64
        Number of all.
    """
    n = np.int64(0)
    offsets[0] = 0
    for place in range(codes.size):
        node = np.int64(node_at[place]) if codes[place] != 0 else np.int64(-1)
        while node > 0:
            n += node_pieces[node] >= 0
            node = np.int64(parents[node])
        offsets[place + 1] = n
    return n


@kernel
def fill_entries(node_at, codes, parents, node_pieces, node_lengths, pieces, lengths):
    """Write the pieces at each place.

    Parameters
    ----------
    node_at, codes, parents, node_pieces : int32[n], int32[n], int32[nodes], int32[nodes]
        See :func:`count_entries`.
    node_lengths : int32[nodes]
    pieces, lengths : int32[entries], uint16[entries]
        Written.
    """
    n = np.int64(0)
    for place in range(codes.size):
        node = np.int64(node_at[place]) if codes[place] != 0 else np.int64(-1)
        while node > 0:
            if node_pieces[node] >= 0:
                pieces[n] = node_pieces[node]
                lengths[n] = np.uint16(node_lengths[node])
                n += 1
            node = np.int64(parents[node])


@kernel
def keep_entries(numbers, offsets, pieces, lengths):
    """Take pieces away and number the others anew, in place.

    Parameters
    ----------
    numbers : int32[pieces]
        New number of each piece, -1 for those that go.
    offsets : int64[n + 1]
        Changed.
    pieces, lengths : int32[entries], uint16[entries]
        Changed; what is kept stands at the beginning.

    Returns
    -------
    int64
        Number of entries that are kept.
    """
    n = np.int64(0)
    start = offsets[0]
    for place in range(offsets.size - 1):
        stop = offsets[place + 1]
        for entry in range(start, stop):
            number = numbers[pieces[entry]]
            if number >= 0:
                pieces[n] = number
                lengths[n] = lengths[entry]
                n += 1
        start = stop
        offsets[place + 1] = n
    return n
