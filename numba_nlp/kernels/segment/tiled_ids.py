"""Whether given ids are those of a normalised text, and where their tokens end in it.

Twin: ``numba_nlp.reference.segment.tiled_ids``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["same_ids", "tile"]


@kernel
def tile(piece_lengths, unknown, n, ids, first, token_ends):
    """Ends of tokens whose pieces lie one behind the other in a text.

    Parameters
    ----------
    piece_lengths : int32[V]
        Bytes of each piece in normalised text.
    unknown : int64
        Id of text that no piece has, whose length says nothing; -1 when there is none.
    n : int64
        Bytes of the text.
    ids : int32[k]
        The ids of the text, from ``first`` on; others may follow.
    first : int64
    token_ends : int64[room]
        Written.

    Returns
    -------
    int64
        Number of tokens; -1 when the lengths do not say where they end.
    """
    place, count = np.int64(0), np.int64(0)
    while place < n and first + count < ids.size and count < token_ends.size:
        piece = np.int64(ids[first + count])
        if piece < 0 or piece >= piece_lengths.size or piece == unknown:
            return np.int64(-1)
        place += np.int64(piece_lengths[piece])
        token_ends[count] = place
        count += 1
    return count if place == n else np.int64(-1)


@kernel
def same_ids(found, count, ids, first):
    """Whether ids are among others from a place on.

    Parameters
    ----------
    found : int32[m]
        The ids, in its first ``count`` places.
    count : int64
    ids : int32[k]
    first : int64
        Where they have to stand in ``ids``.

    Returns
    -------
    bool
    """
    if first + count > ids.size:
        return False
    same = True
    for i in range(count):
        same &= found[i] == ids[first + i]
    return same
