"""Memory of the word models behind general stages: WordPiece, and BPE whose pieces are marked by their place in a word.

The fields are those that the segmenters read (:mod:`numba_nlp.kernels.segment.wordpiece`,
:mod:`numba_nlp.kernels.segment.character_bpe`), with what the word cache needs around them
(:mod:`numba_nlp.kernels.segment.cached_rows`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.lanes import MANY
from numba_nlp.kernels.segment.merge import new_lanes
from numba_nlp.kernels.segment.staged_memory import span_arrays

__all__ = [
    "StagedMarkedScratch",
    "StagedMarkedTables",
    "StagedWordPieceScratch",
    "StagedWordPieceTables",
    "new_marked_scratch",
    "new_wordpiece_scratch",
]


class StagedWordPieceTables(NamedTuple):
    """Those of ``WordPieceTables`` that a word is looked up in."""

    trie_units: NDArray[np.uint32]  # [m], see kernels/tables/double_array.py
    wordpiece: NDArray[np.int64]  # [3]: id of unknown words, most characters of a word, node of pieces that go on


class StagedWordPieceScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_wordpiece_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]
    no_ends: NDArray[np.int64]  # [0]: where token ends would go


class StagedMarkedTables(NamedTuple):
    """Those of ``CharacterBpeTables`` that a word is merged with, and the pieces by content for ``ignore_merges``."""

    character_index: NDArray[np.uint16]
    character_numbers: NDArray[np.int32]
    character_forms: NDArray[np.int32]
    merge_table: NDArray[np.uint32]
    merge_pairs: NDArray[np.uint64]
    merge_symbols: NDArray[np.int32]
    merge_ranks: NDArray[np.int32]
    symbol_ids: NDArray[np.int32]
    final_ids: NDArray[np.int32]
    part_offsets: NDArray[np.int32]
    part_ids: NDArray[np.int32]
    flags: NDArray[np.int64]
    whole_lookup: NDArray[np.int32]  # [2^k]: the pieces that are taken whole, by their bytes; [0] when none is
    piece_bytes: NDArray[np.uint8]
    piece_offsets: NDArray[np.int64]


class StagedMarkedScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_marked_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]
    no_ends: NDArray[np.int64]  # [0]: where token ends would go
    symbols: NDArray[np.int32]  # see new_lanes
    keys: NDArray[np.uint32]
    lane_starts: NDArray[np.int64]  # [MANY + 2]
    list_symbols: NDArray[np.int32]  # [capacity + 1]
    list_following: NDArray[np.int32]  # [capacity + 1]
    list_previous: NDArray[np.int32]  # [capacity + 1]
    list_merges: NDArray[np.int32]  # [capacity + 1]
    list_starts: NDArray[np.int64]  # [capacity + 2]
    heap: NDArray[np.uint64]  # [3 * capacity + 3]
    waiting: NDArray[np.uint64]  # [3 * capacity + 3]


def new_wordpiece_scratch() -> StagedWordPieceScratch:
    """Working memory for words of any length: they are looked up where they lie."""
    return StagedWordPieceScratch(**span_arrays())


def new_marked_scratch(capacity: int = 1 << 12) -> StagedMarkedScratch:
    """Working memory for words of up to ``capacity`` characters.

    Parameters
    ----------
    capacity : int
    """
    symbols, keys = new_lanes()
    return StagedMarkedScratch(
        **span_arrays(),
        symbols=symbols,
        keys=keys,
        lane_starts=np.zeros(MANY + 2, np.int64),
        list_symbols=np.zeros(capacity + 1, np.int32),
        list_following=np.zeros(capacity + 1, np.int32),
        list_previous=np.zeros(capacity + 1, np.int32),
        list_merges=np.zeros(capacity + 1, np.int32),
        list_starts=np.zeros(capacity + 2, np.int64),
        heap=np.zeros(3 * capacity + 3, np.uint64),
        waiting=np.zeros(3 * capacity + 3, np.uint64),
    )
