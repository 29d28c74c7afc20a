"""Memory of BPE over characters: the tables of a vocabulary, and what one thread works with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from numba_nlp.kernels.lanes import MANY
from numba_nlp.kernels.segment.merge import new_lanes

#: Chunks that are cut before the first of them is merged; bytes that are looked at together while cutting.
BLOCK, WINDOW = 128, 64
#: Symbols that are merged at once of a longer chunk; those at the end that are merged again with what follows.
STRETCH, OVERLAP = 4096, 512

#: Elements of ``SentencePieceBpeTables.flags``.
UNKNOWN_ID, UNKNOWN_POLICY, FIRST_TIED, UNIQUE_PRODUCTS, PREFIX_SYMBOL = range(5)
N_FLAGS = 5
#: What a character that is no piece becomes: an unknown id; one for a run of them; an id for each of its bytes.
UNKNOWN_EACH, UNKNOWN_FUSED, UNKNOWN_BYTES = range(3)
#: ``symbol_ids`` of a character that is no piece; of the first unused piece, from which the others count down.
UNKNOWN, UNUSED = -1, -2


class SentencePieceBpeTables(NamedTuple):
    """The arrays that encoding reads; ``docs/data_contracts.md`` explains them."""

    character_index: Any  # uint16[0x110000 >> 7]
    character_symbols: Any  # int32[blocks * 128]; block 0 is ASCII
    merge_table: Any  # uint32[2^k]
    merge_pairs: Any  # uint64[M]
    merge_symbols: Any  # int32[M]
    merge_ranks: Any  # int32[M], or int32[0] when every merge number is its rank
    symbol_ids: Any  # int32[S]
    unused_offsets: Any  # int32[U + 1]
    unused_parts: Any  # int32[2 * P]: symbol, number of characters
    byte_ids: Any  # int32[256]
    bridge: Any  # uint64[1024]
    user_units: Any  # uint32[n]: double array of user-defined symbols; empty when there are none
    flags: Any  # int64[N_FLAGS]


class SentencePieceBpeScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`."""

    cut_starts: Any  # int64[BLOCK + WINDOW]
    cut_ends: Any  # int64[BLOCK + WINDOW]
    symbols: Any  # int32[768], see new_lanes
    keys: Any  # uint32[128]
    lane_starts: Any  # int64[MANY + 1]
    list_symbols: Any  # int32[capacity]
    list_following: Any  # int32[capacity]
    list_previous: Any  # int32[capacity]
    list_merges: Any  # int32[capacity]
    list_starts: Any  # int64[capacity + 1]
    heap: Any  # uint64[3 * capacity]


def new_scratch(capacity: int = STRETCH) -> SentencePieceBpeScratch:
    """Working memory; chunks of any length, unless a piece is longer than ``OVERLAP`` characters.

    Parameters
    ----------
    capacity : int
        Longest chunk, in characters, that can be merged all at once.

    Returns
    -------
    SentencePieceBpeScratch
    """
    symbols, keys = new_lanes()
    return SentencePieceBpeScratch(
        cut_starts=np.zeros(BLOCK + WINDOW, np.int64),
        cut_ends=np.zeros(BLOCK + WINDOW, np.int64),
        symbols=symbols,
        keys=keys,
        lane_starts=np.zeros(MANY + 1, np.int64),
        list_symbols=np.zeros(capacity, np.int32),
        list_following=np.zeros(capacity, np.int32),
        list_previous=np.zeros(capacity, np.int32),
        list_merges=np.zeros(capacity, np.int32),
        list_starts=np.zeros(capacity + 1, np.int64),
        heap=np.zeros(3 * capacity, np.uint64),
    )
