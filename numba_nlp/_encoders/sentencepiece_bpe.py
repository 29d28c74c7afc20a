"""SentencePiece BPE: tables from a vocabulary, and spans."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.rows import frozen
from numba_nlp._encoders.sentencepiece_rows import SentencePieceRowEncoder
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall.families import sentencepiece_bpe
from numba_nlp.kernels.segment import normalizer_tables
from numba_nlp.kernels.segment.fill_bridged import white_masks
from numba_nlp.kernels.segment.renumber import name_unknown_bpe
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import SentencePieceBpeTables
from numba_nlp.kernels.segment.sentencepiece_bpe_rows import ENCODE_ROWS
from numba_nlp.kernels.segment.sentencepiece_bpe_rows_memory import (
    BRIDGED,
    SPACED,
    WHOLE,
    SentencePieceBpeRowScratch,
    SentencePieceBpeRowTables,
    new_row_scratch,
)
from numba_nlp.kernels.segment.sentencepiece_bpe_spans import fill_aligned_spans_bpe
from numba_nlp.kernels.segment.sentencepiece_numbers import number_words_sentencepiece_bpe
from numba_nlp.vocabulary import Vocabulary

__all__ = ["SentencePieceBpeEncoder"]

_MODES = {"bridged": BRIDGED, "spaced": SPACED, "whole": WHOLE}
_BYTE = 5


class SentencePieceBpeEncoder(SentencePieceRowEncoder):
    """Encodes with a vocabulary of algorithm ``sentencepiece_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    special_first : uint8[256]
    """

    #: Positions of normalised text have 32 bits.
    capacity_limit: ClassVar[int] = (1 << 31) // 4

    def __init__(self, vocabulary: Vocabulary, special_first: NDArray[np.uint8]) -> None:
        metadata = vocabulary.metadata
        pattern: str = metadata["pattern"]
        self.ids_per_byte = int(metadata["ids_per_byte"])
        normalizer = normalizer_tables.new_tables(
            vocabulary["charsmap_units"],
            vocabulary["charsmap_text"],
            vocabulary["symbol_units"],
            int(metadata["normalizer_flags"]),
            int(metadata["growth"]),
        )
        bpe = {name: vocabulary[name] for name in SentencePieceBpeTables._fields}
        bpe["character_index"] = for_any_bytes(bpe["character_index"])
        lengths = np.diff(vocabulary["piece_offsets"]).astype(np.int32)
        lengths[vocabulary["piece_kinds"] == _BYTE] = 1
        parts = (
            *bpe.values(),
            *normalizer,
            vocabulary["byte_traits"],
            white_masks(bpe["bridge"], bpe["flags"], metadata["cuts_before_spaces"]),
            lengths,
            np.array([_MODES[pattern], self.ids_per_byte], np.int64),
        )
        super().__init__(vocabulary, SentencePieceBpeRowTables(*map(frozen, parts)), special_first)

    def family(self) -> _fastcall.Family:
        return sentencepiece_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_ROWS[pattern]

    @property
    def fill_aligned_spans(self) -> Any:
        return fill_aligned_spans_bpe

    @property
    def number_words(self) -> Any:
        return number_words_sentencepiece_bpe

    @property
    def splits_words(self) -> bool:
        return False

    @property
    def name_unknown(self) -> Any:
        return name_unknown_bpe

    def new_scratch(self, capacity: int) -> SentencePieceBpeRowScratch:
        return new_row_scratch(capacity)
