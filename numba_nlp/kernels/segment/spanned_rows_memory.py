"""Memory of :mod:`numba_nlp.kernels.segment.spanned_rows`, and how its entries are laid out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.cached_loops import BLOCK, SLACK

__all__ = ["END_SHIFT", "MARK", "MOST_IDS", "PLACE_BITS", "START_SHIFT", "SpanMemory", "new_span_memory"]

#: Vocabularies with at most so many ids can be kept.
MOST_IDS = 1 << 23
START_SHIFT, END_SHIFT, PLACE_BITS = 23, 27, 15
#: From here on the first of the ids of a chunk is a mark.
MARK = 1 << 30


class SpanMemory(NamedTuple):
    """What one thread needs besides the scratch of its family; made by :func:`new_span_memory`."""

    bases: NDArray[np.int64]  # [BLOCK + SLACK]: place of each chunk of the block in its row
    gaps: NDArray[np.int64]  # [BLOCK + SLACK]: bytes between a chunk and the one before in its row
    unknown: NDArray[np.int64]  # [1 + BLOCK + SLACK]: chunks of the block whose spans are not known, their number first
    starts: NDArray[np.int64]  # [room]: of the tokens of one chunk
    ends: NDArray[np.int64]  # [room]
    packed: NDArray[np.int32]  # [2 * room]
    from_starts: NDArray[np.int32]  # [room]: alignment of one chunk
    from_ends: NDArray[np.int32]  # [room]
    token_ends: NDArray[np.int64]  # [room]


def new_span_memory(room: int) -> SpanMemory:
    """Memory for chunks of which no more than ``room`` tokens, or bytes of normalised text, come."""
    block = BLOCK + SLACK
    return SpanMemory(
        bases=np.zeros(block, np.int64),
        gaps=np.zeros(block, np.int64),
        unknown=np.zeros(1 + block, np.int64),
        starts=np.zeros(room, np.int64),
        ends=np.zeros(room, np.int64),
        packed=np.zeros(2 * room, np.int32),
        from_starts=np.zeros(room, np.int32),
        from_ends=np.zeros(room, np.int32),
        token_ends=np.zeros(room, np.int64),
    )
