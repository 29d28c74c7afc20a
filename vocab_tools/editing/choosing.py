"""Which pieces stay: by what a corpus uses, or by number."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from vocab_tools.editing.editable import Editable

__all__ = ["closure", "keep_size", "keep_used", "smallest_size"]


def closure(kept: NDArray[np.bool_], parts: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Add the pieces that those that stay are merged of, their parts, and so on.

    Parameters
    ----------
    kept : bool[V]
    parts : int32[V, 2]
        See :class:`~vocab_tools.editing.editable.Editable`.

    Returns
    -------
    bool[V]
    """
    kept = kept.copy()
    new: NDArray[np.integer] = np.flatnonzero(kept)
    while new.size:
        of_new = np.unique(parts[new])
        new = of_new[(of_new >= 0) & ~kept[of_new]]
        kept[new] = True
    return kept


def keep_used(vocabulary: Editable, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pieces that occur, those that may not go, and what they are merged of.

    Parameters
    ----------
    vocabulary : Editable
    counts : int64[V]
        How often each id occurs.

    Returns
    -------
    bool[V]
    """
    kept = vocabulary.present & (~vocabulary.droppable | (counts > 0))
    return closure(kept, vocabulary.parts)


def smallest_size(vocabulary: Editable) -> int:
    """Number of ids that a vocabulary cannot fall below."""
    return int(np.count_nonzero(closure(vocabulary.present & ~vocabulary.droppable, vocabulary.parts)))


def keep_size(vocabulary: Editable, size: int, counts: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """Drop one piece after the other until ``size`` are left.

    The one that occurs least goes first, among equals the one with the smallest ``order``, and never one of which a
    piece is merged that is still there. Text in which a merged piece occurred then has its two parts, so they take
    over its count.

    Parameters
    ----------
    vocabulary : Editable
    size : int
        At least :func:`smallest_size`.
    counts : int64[V], optional
        Default: none occurs.

    Returns
    -------
    bool[V]

    Notes
    -----
    O(V log V).
    """
    kept = vocabulary.present.copy()
    excess = int(np.count_nonzero(kept)) - size
    uses: list[int] = [0] * kept.size if counts is None else counts.tolist()
    parts, order = vocabulary.parts.tolist(), vocabulary.order.tolist()
    needed_by = np.bincount(vocabulary.parts[vocabulary.parts[:, 0] >= 0].ravel(), minlength=kept.size).tolist()
    droppable = vocabulary.droppable.tolist()
    queue = [(uses[i], order[i], -i) for i in np.flatnonzero(kept).tolist() if droppable[i] and not needed_by[i]]
    heapq.heapify(queue)
    while excess > 0:
        n_uses, _, negative = heapq.heappop(queue)
        dropped = -negative
        kept[dropped] = False
        excess -= 1
        for part in parts[dropped]:
            if part < 0:
                continue
            # only pieces that nothing needs any more are in the queue, so counts in it never change
            uses[part] += n_uses
            needed_by[part] -= 1
            if not needed_by[part] and droppable[part]:
                heapq.heappush(queue, (uses[part], order[part], -part))
    return kept
