"""Memory of SentencePiece BPE over rows of raw text: the tables of a vocabulary, and what one thread works with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment import sentencepiece_bpe_memory
from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import SPANS, new_spans
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import STRETCH
from numba_nlp.kernels.tables.word_cache import SPARE_IDS

__all__ = [
    "BRIDGED",
    "ID_GROWTH",
    "MODE",
    "SPACED",
    "WHOLE",
    "SentencePieceBpeRowScratch",
    "SentencePieceBpeRowTables",
    "new_row_scratch",
    "text_room",
]

#: Places in ``SentencePieceBpeRowTables.options``: how rows are cut; most ids of a byte of text.
MODE, ID_GROWTH = range(2)
#: Raw text is cut at unbridgeable pairs; before spaces, and each chunk is normalised; not at all.
BRIDGED, SPACED, WHOLE = range(3)


class SentencePieceBpeRowTables(NamedTuple):
    """The arrays that encoding rows reads.

    The first thirteen are those of :class:`numba_nlp.kernels.segment.sentencepiece_bpe_memory.SentencePieceBpeTables`,
    the next seven those of :class:`numba_nlp.kernels.segment.normalizer_tables.NormalizerTables`.
    """

    character_index: NDArray[np.uint16]  # [1 << 14]
    character_symbols: NDArray[np.int32]  # [blocks * 128]
    merge_table: NDArray[np.uint32]  # [2^k]
    merge_pairs: NDArray[np.uint64]  # [M]
    merge_symbols: NDArray[np.int32]  # [M]
    merge_ranks: NDArray[np.int32]  # [M] or [0]
    symbol_ids: NDArray[np.int32]  # [S]
    unused_offsets: NDArray[np.int32]  # [U + 1]
    unused_parts: NDArray[np.int32]  # [2 * P]
    byte_ids: NDArray[np.int32]  # [256]
    bridge: NDArray[np.uint64]  # [1024]
    user_units: NDArray[np.uint32]  # [n]
    flags: NDArray[np.int64]  # [N_FLAGS]
    rule_units: NDArray[np.uint32]  # [k]
    rule_strings: NDArray[np.uint8]  # [s]
    symbol_units: NDArray[np.uint32]  # [u]
    words: NDArray[np.uint32]  # [256]
    steps: NDArray[np.uint8]  # [512]
    after: NDArray[np.int64]  # [256]
    settings: NDArray[np.int64]  # [2]
    byte_traits: NDArray[np.uint8]  # [256]: as of fill_spaced
    white: NDArray[np.uint64]  # [2]: as of fill_bridged
    piece_lengths: NDArray[np.int32]  # [V]: bytes of normalised text
    options: NDArray[np.int64]  # [2]: MODE, ID_GROWTH


class SentencePieceBpeRowScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_row_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]: row to go on with, and where its ids start, when the capacity is too small
    firsts: NDArray[np.int64]  # [1 + BLOCK + SLACK]: chunks of the block that begin a row, their number first
    cut_starts: NDArray[np.int64]  # [BLOCK + WINDOW]; this and what follows as of SentencePieceBpeScratch
    cut_ends: NDArray[np.int64]  # [BLOCK + WINDOW]
    symbols: NDArray[np.int32]  # [768]
    keys: NDArray[np.uint32]  # [128]
    lane_starts: NDArray[np.int64]  # [MANY + 1]
    list_symbols: NDArray[np.int32]  # [lists]
    list_following: NDArray[np.int32]  # [lists]
    list_previous: NDArray[np.int32]  # [lists]
    list_merges: NDArray[np.int32]  # [lists]
    list_starts: NDArray[np.int64]  # [lists + 1]
    heap: NDArray[np.uint64]  # [3 * lists]
    text: NDArray[np.uint8]  # [text_room(capacity)]: normalised text
    found: NDArray[np.int32]  # [text_room(capacity) + SPARE_IDS]: ids that are found again for spans


def text_room(capacity: int) -> int:
    """Bytes of normalised text that scratch of a capacity holds; more only come of rare characters."""
    return 3 * capacity + 32


def new_row_scratch(capacity: int = STRETCH) -> SentencePieceBpeRowScratch:
    """Working memory for chunks of up to ``capacity`` bytes.

    Parameters
    ----------
    capacity : int
        Longest chunk, in bytes before normalisation, that fits; the kernels ask for more where a chunk becomes more
        than three times as long.
    """
    inner = sentencepiece_bpe_memory.new_scratch(max(capacity, STRETCH))
    return SentencePieceBpeRowScratch(
        **new_spans(),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
        firsts=np.zeros(1 + SPANS, np.int64),
        **inner._asdict(),
        text=np.zeros(text_room(capacity), np.uint8),
        found=np.zeros(text_room(capacity) + SPARE_IDS, np.int32),
    )
