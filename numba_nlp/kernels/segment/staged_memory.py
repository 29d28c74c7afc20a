"""Memory of the models behind general stages: the tables of a vocabulary, and what one thread works with.

The fields are those that the segmenters read (:mod:`numba_nlp.kernels.segment.unigram_tokenizers`,
:mod:`numba_nlp.kernels.segment.sentencepiece_bpe`), with what the word cache needs around them
(:mod:`numba_nlp.kernels.segment.cached_rows`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.lanes import MANY
from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import new_spans
from numba_nlp.kernels.segment.merge import new_lanes
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import BLOCK as CUTS
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import WINDOW

__all__ = [
    "StagedBpeScratch",
    "StagedBpeTables",
    "StagedUnigramScratch",
    "StagedUnigramTables",
    "new_bpe_scratch",
    "new_unigram_scratch",
    "span_arrays",
]


class StagedUnigramTables(NamedTuple):
    """``UnigramTables`` in double precision (:func:`numba_nlp.kernels.segment.unigram_memory.new_tables`)."""

    units: NDArray[np.uint32]
    node_scores: NDArray[np.float64]
    piece_scores: NDArray[np.float64]
    piece_lengths: NDArray[np.int32]
    byte_ids: NDArray[np.int32]
    numbers: NDArray[np.int64]
    scores: NDArray[np.float64]


class StagedUnigramScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_unigram_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]: row to go on with, and where its ids start, when the capacity is too small
    no_ends: NDArray[np.int64]  # [0]: where token ends would go
    best: NDArray[np.float64]  # [capacity + 1]
    second: NDArray[np.float64]  # [0]: only for lists of several segmentations
    nodes: NDArray[np.int32]  # [capacity + 1]
    path: NDArray[np.int32]  # [capacity + 1]
    origins: NDArray[np.int32]  # [capacity + 1]
    since: NDArray[np.int32]  # [0]: as of ``second``


class StagedBpeTables(NamedTuple):
    """``SentencePieceBpeTables``, and the pieces by content for ``ignore_merges``."""

    character_index: NDArray[np.uint16]
    character_symbols: NDArray[np.int32]
    merge_table: NDArray[np.uint32]
    merge_pairs: NDArray[np.uint64]
    merge_symbols: NDArray[np.int32]
    merge_ranks: NDArray[np.int32]
    symbol_ids: NDArray[np.int32]
    unused_offsets: NDArray[np.int32]
    unused_parts: NDArray[np.int32]
    byte_ids: NDArray[np.int32]
    bridge: NDArray[np.uint64]
    user_units: NDArray[np.uint32]
    flags: NDArray[np.int64]
    whole_lookup: NDArray[np.int32]  # [2^k]: the pieces that are taken whole, by their bytes; [0] when none is
    piece_bytes: NDArray[np.uint8]
    piece_offsets: NDArray[np.int64]


class StagedBpeScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_bpe_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]
    no_ends: NDArray[np.int64]  # [0]
    cut_starts: NDArray[np.int64]  # [CUTS + WINDOW]: chunks of a piece that is segmented outside of the word cache
    cut_ends: NDArray[np.int64]  # [CUTS + WINDOW]
    symbols: NDArray[np.int32]  # see new_lanes
    keys: NDArray[np.uint32]
    lane_starts: NDArray[np.int64]  # [MANY + 1]
    list_symbols: NDArray[np.int32]  # [capacity]
    list_following: NDArray[np.int32]  # [capacity]
    list_previous: NDArray[np.int32]  # [capacity]
    list_merges: NDArray[np.int32]  # [capacity]
    list_starts: NDArray[np.int64]  # [capacity + 1]
    heap: NDArray[np.uint64]  # [3 * capacity]


def span_arrays() -> dict[str, NDArray[Any]]:
    """The fields that :mod:`numba_nlp.kernels.segment.cached_rows` works with."""
    return {
        **new_spans(),
        "masks": key_masks(),
        "progress": np.zeros(3, np.int64),
        "no_ends": np.zeros(0, np.int64),
    }


def new_unigram_scratch(capacity: int = 1 << 12) -> StagedUnigramScratch:
    """Working memory for pieces of text of up to ``capacity`` bytes.

    Parameters
    ----------
    capacity : int
    """
    return StagedUnigramScratch(
        **span_arrays(),
        best=np.zeros(capacity + 1, np.float64),
        second=np.zeros(0, np.float64),
        nodes=np.zeros(capacity + 1, np.int32),
        path=np.zeros(capacity + 1, np.int32),
        origins=np.zeros(capacity + 1, np.int32),
        since=np.zeros(0, np.int32),
    )


def new_bpe_scratch(capacity: int = 1 << 12) -> StagedBpeScratch:
    """Working memory as of :func:`numba_nlp.kernels.segment.sentencepiece_bpe_memory.new_scratch`.

    Parameters
    ----------
    capacity : int
        Longest chunk, in characters, that can be merged all at once.
    """
    symbols, keys = new_lanes()
    return StagedBpeScratch(
        **span_arrays(),
        cut_starts=np.zeros(CUTS + WINDOW, np.int64),
        cut_ends=np.zeros(CUTS + WINDOW, np.int64),
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
