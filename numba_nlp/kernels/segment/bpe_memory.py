"""Memory of byte-level BPE encoding: the tables of a vocabulary, and what one thread works with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.cached_loops import new_spans
from numba_nlp.kernels.segment.merge import new_lanes
from numba_nlp.kernels.segment.merge_long import pending_words
from numba_nlp.kernels.tables.word_cache import SHORT_LIMIT
from numba_nlp.kernels.words import ALL_ONES


class ByteBpeTables(NamedTuple):
    """The arrays of a compiled byte-level BPE vocabulary that encoding reads (docs/data_contracts.md)."""

    class_index: NDArray[np.uint16]  # [0x110000 >> 7]
    class_blocks: NDArray[np.uint8]  # [blocks * 128]
    pair_merges: NDArray[np.int32]  # [65536]
    merge_table: NDArray[np.uint32]  # [2^k]
    merge_pairs: NDArray[np.uint64]  # [M]
    merge_symbols: NDArray[np.int32]  # [M]
    symbol_ids: NDArray[np.int32]  # [S]
    piece_lookup: NDArray[np.int32]  # [2^k]
    piece_bytes: NDArray[np.uint8]  # [n]
    piece_offsets: NDArray[np.int64]  # [V + 1]
    flags: NDArray[np.int64]  # [3]: whole_pieces, ordered, unique_products


class Scratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[
        np.int64
    ]  # [3]: row to go on with, and where its ids start, when the capacity is too small; for callers
    symbols: NDArray[np.int32]  # [384], see new_lanes
    keys: NDArray[np.uint32]  # [64]
    list_symbols: NDArray[np.int32]  # [capacity]
    list_following: NDArray[np.int32]  # [capacity]
    list_previous: NDArray[np.int32]  # [capacity]
    list_merges: NDArray[np.int32]  # [capacity]
    queue_positions: NDArray[np.int32]  # [3 * capacity]
    queue_next: NDArray[np.int32]  # [3 * capacity]
    queue_heads: NDArray[np.int32]  # [M]
    queue_pending: NDArray[np.uint64]  # [pending_words(M)]
    heap: NDArray[np.uint64]  # [3 * capacity] when the merges are not ordered, else uint64[1]


def key_masks() -> NDArray[np.uint64]:
    """For each length 0 to 16: and-mask and or-mask of the low word, and-mask and or-mask of the high word."""
    masks = np.zeros((SHORT_LIMIT + 2, 4), np.uint64)
    for length in range(1, SHORT_LIMIT + 1):
        masks[length, 0] = (1 << 8 * min(length, 8)) - 1
        masks[length, 2] = (1 << 8 * max(length - 8, 0)) - 1
        masks[length, 3] = length << 56
    # longer pre-tokens: bytes that no UTF-8 text holds, equal to no key
    masks[SHORT_LIMIT + 1, 1] = ALL_ONES
    masks[SHORT_LIMIT + 1, 3] = ALL_ONES
    return masks.reshape(-1)


def new_scratch(n_merges: int, ordered: bool, capacity: int = 1 << 12) -> Scratch:
    """Working memory for pre-tokens of up to ``capacity`` bytes.

    Parameters
    ----------
    n_merges : int
        Number of merges of the vocabulary.
    ordered : bool
        Whether every merge comes after those that make its parts.
    capacity : int
        Longest pre-token, in bytes, that fits.
    """
    queue = 3 * capacity if ordered else 1
    symbols, keys = new_lanes()
    return Scratch(
        **new_spans(),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
        symbols=symbols,
        keys=keys,
        list_symbols=np.zeros(capacity, np.int32),
        list_following=np.zeros(capacity, np.int32),
        list_previous=np.zeros(capacity, np.int32),
        list_merges=np.zeros(capacity, np.int32),
        queue_positions=np.zeros(queue, np.int32),
        queue_next=np.zeros(queue, np.int32),
        queue_heads=np.zeros(n_merges if ordered else 1, np.int32),
        queue_pending=np.zeros(pending_words(n_merges), np.uint64),
        heap=np.zeros(1 if ordered else 3 * capacity, np.uint64),
    )
