"""Memory of WordPiece encoding: the tables of a vocabulary, and what one thread works with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import new_spans
from numba_nlp.kernels.segment.normalize_bert import normalized_room

__all__ = [
    "FURTHER",
    "FURTHER_BYTE",
    "MAX_CHARACTERS",
    "UNKNOWN",
    "WordPieceScratch",
    "WordPieceTables",
    "new_scratch",
]

#: Places in ``WordPieceTables.wordpiece``.
UNKNOWN, MAX_CHARACTERS, FURTHER = range(3)
#: Before pieces that go on within a word, in place of their prefix; no text has it.
FURTHER_BYTE = 0xFF


class WordPieceTables(NamedTuple):
    """The arrays of a compiled WordPiece vocabulary that encoding reads (docs/data_contracts.md)."""

    normal_index: NDArray[np.uint16]  # [0x110000 >> 7]
    normal_blocks: NDArray[np.uint32]  # [blocks * 128]
    normal_several: NDArray[np.uint32]  # [m]
    pair_kinds: NDArray[np.uint8]  # [4096], see vocab_tools.compiler.bert_characters
    trie_units: NDArray[np.uint32]  # [m], see kernels/tables/double_array.py
    wordpiece: NDArray[np.int64]  # [3]: id of unknown words, most characters of a word, node of pieces that go on


class WordPieceScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]: row to go on with, and where its ids start, when the capacity is too small
    text: NDArray[np.uint8]  # [normalized_room(capacity) + 4]: one normalised word
    from_starts: NDArray[np.int32]  # [normalized_room(capacity) + 4]
    from_ends: NDArray[np.int32]  # [normalized_room(capacity) + 4]
    token_ends: NDArray[np.int32]  # [normalized_room(capacity) + 4]


def new_scratch(capacity: int = 1 << 12) -> WordPieceScratch:
    """Working memory for words of up to ``capacity`` bytes.

    Parameters
    ----------
    capacity : int
        Longest word, in bytes before normalisation, that fits; of longer words those with more characters than the
        vocabulary's ``max_input_chars_per_word`` fit all the same when that many do.
    """
    # a character may be written before its place is known to be the last one
    room = normalized_room(capacity) + 4
    return WordPieceScratch(
        **new_spans(),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
        text=np.zeros(room, np.uint8),
        from_starts=np.zeros(room, np.int32),
        from_ends=np.zeros(room, np.int32),
        token_ends=np.zeros(room, np.int32),
    )
