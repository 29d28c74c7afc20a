"""Memory of character BPE: the tables of a vocabulary, and what one thread works with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.lanes import MANY
from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.segment.cached_loops import new_spans
from numba_nlp.kernels.segment.merge import new_lanes
from numba_nlp.kernels.segment.normalize_bert import normalized_room
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import FIRST_TIED, UNIQUE_PRODUCTS

__all__ = [
    "BYTE_CHARACTERS",
    "END_SYMBOL",
    "FIRST_TIED",
    "FORMS",
    "IN_PASSES",
    "NEWLINE_ENDS_WORD",
    "N_FLAGS",
    "PARTS",
    "PASSES_ALWAYS",
    "PASSES_NEVER",
    "PASSES_WITH_DROPOUT",
    "UNIQUE_PRODUCTS",
    "UNKNOWN",
    "UNKNOWN_FUSED",
    "UNKNOWN_ID",
    "WORDS",
    "WORDS_BERT",
    "WORDS_CLIP",
    "WORDS_SPACES",
    "WORDS_WHITE",
    "WORDS_WHOLE",
    "CharacterBpeScratch",
    "CharacterBpeTables",
    "new_scratch",
]

#: Elements of ``CharacterBpeTables.flags``; 2 and 3 are those of ``merge_lanes`` (``FIRST_TIED``, ``UNIQUE_PRODUCTS``).
UNKNOWN_ID, UNKNOWN_FUSED = 0, 1
WORDS, NEWLINE_ENDS_WORD, BYTE_CHARACTERS, END_SYMBOL, IN_PASSES = range(4, 9)
N_FLAGS = 9
#: ``flags[IN_PASSES]``: all places of the best pair merge at once never; with dropout; or always.
PASSES_NEVER, PASSES_WITH_DROPOUT, PASSES_ALWAYS = range(3)
#: What a word is: BERT's words after BERT's normaliser; what white space parts; what spaces part; the whole text;
#: CLIP's words.
WORDS_BERT, WORDS_WHITE, WORDS_SPACES, WORDS_WHOLE, WORDS_CLIP = range(5)
#: Symbols of a character: first of several, inner, only one, last of several.
FORMS = 4
#: ``symbol_ids`` of what has no id; of the first symbol that falls into parts, from which the others count down.
UNKNOWN, PARTS = -1, -2


class CharacterBpeTables(NamedTuple):
    """The arrays that encoding reads; ``docs/data_contracts.md`` explains them."""

    character_index: NDArray[np.uint16]  # [1 << 14]: code point >> 7 (or byte >> 7) -> block
    character_numbers: NDArray[np.int32]  # [blocks * 128]: number of the character; 0: known in no form
    character_forms: NDArray[np.int32]  # [FORMS * K]: its symbols
    merge_table: NDArray[np.uint32]  # [2^k]
    merge_pairs: NDArray[np.uint64]  # [M]
    merge_symbols: NDArray[np.int32]  # [M]
    merge_ranks: NDArray[np.int32]  # [M], or [0] when every merge number is its rank
    symbol_ids: NDArray[np.int32]  # [S]: of a symbol that others follow in its word
    final_ids: NDArray[np.int32]  # [S]: of the last symbol of a word
    part_offsets: NDArray[np.int32]  # [U + 1]
    part_ids: NDArray[np.int32]  # [2 * P]: id or UNKNOWN, number of characters
    class_index: NDArray[np.uint16]  # [1 << 14]: character classes, for WORDS_CLIP
    class_blocks: NDArray[np.uint8]  # [blocks * 128]
    normal_index: NDArray[np.uint16]  # [1 << 14]: BERT's normaliser, for WORDS_BERT
    normal_blocks: NDArray[np.uint32]  # [blocks * 128]
    normal_several: NDArray[np.uint32]  # [m]
    pair_kinds: NDArray[np.uint8]  # [4096]
    wordpiece: NDArray[np.int64]  # [3]: constants of BERT's words; of these only the most characters of one counts
    flags: NDArray[np.int64]  # [N_FLAGS]


class CharacterBpeScratch(NamedTuple):
    """Working memory of one thread; made by :func:`new_scratch`."""

    starts: NDArray[np.int64]  # [BLOCK + SLACK]
    ends: NDArray[np.int64]  # [BLOCK + SLACK]
    low: NDArray[np.uint64]  # [BLOCK + SLACK]
    high: NDArray[np.uint64]  # [BLOCK + SLACK]
    homes: NDArray[np.int64]  # [BLOCK + SLACK]
    emitted: NDArray[np.int64]  # [BLOCK + SLACK]
    masks: NDArray[np.uint64]  # [4 * 17], see key_masks
    progress: NDArray[np.int64]  # [3]: row to go on with, and where its ids start, when the capacity is too small
    symbols: NDArray[np.int32]  # [768], see new_lanes
    keys: NDArray[np.uint32]  # [128]
    lane_starts: NDArray[np.int64]  # [MANY + 2]
    list_symbols: NDArray[np.int32]  # [capacity + 1]
    list_following: NDArray[np.int32]  # [capacity + 1]
    list_previous: NDArray[np.int32]  # [capacity + 1]
    list_merges: NDArray[np.int32]  # [capacity + 1]
    list_starts: NDArray[np.int64]  # [capacity + 2]
    heap: NDArray[np.uint64]  # [3 * capacity + 3]
    waiting: NDArray[np.uint64]  # [3 * capacity + 3]
    token_ends: NDArray[np.int64]  # [normalized_room(capacity) + 4]: of one word
    text: NDArray[np.uint8]  # [normalized_room(capacity) + 4]: one normalised word
    from_starts: NDArray[np.int32]  # [normalized_room(capacity) + 4]
    from_ends: NDArray[np.int32]  # [normalized_room(capacity) + 4]


def new_scratch(capacity: int = 1 << 12) -> CharacterBpeScratch:
    """Working memory for words of up to ``capacity`` bytes after normalisation.

    Parameters
    ----------
    capacity : int
    """
    room = normalized_room(capacity) + 4
    symbols, keys = new_lanes()
    return CharacterBpeScratch(
        **new_spans(),
        masks=key_masks(),
        progress=np.zeros(3, np.int64),
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
        token_ends=np.zeros(room, np.int64),
        text=np.zeros(room, np.uint8),
        from_starts=np.zeros(room, np.int32),
        from_ends=np.zeros(room, np.int32),
    )
