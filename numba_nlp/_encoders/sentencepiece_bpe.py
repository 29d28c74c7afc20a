"""SentencePiece BPE: tables from a vocabulary, and spans."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder
from numba_nlp._encoders.rows import NO_IDS, Encoded, Segments, frozen
from numba_nlp._fastcall.families import sentencepiece_bpe
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import normalizer_tables
from numba_nlp.kernels.segment.fill_bridged import white_masks
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
from numba_nlp.vocabulary import Vocabulary

__all__ = ["SentencePieceBpeEncoder"]

_MODES = {"bridged": BRIDGED, "spaced": SPACED, "whole": WHOLE}
_CUTS = {
    "bridged": "where no merge crosses",
    "spaced": "before spaces",
    "whole": "not at all: each text is one chunk",
}
_BYTE = 5


class SentencePieceBpeEncoder(CachedEncoder):
    """Encodes with a vocabulary of algorithm ``sentencepiece_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    special_first : uint8[256]
    """

    #: Positions of normalised text have 32 bits.
    capacity_limit: ClassVar[int] = (1 << 31) // 4

    def __init__(self, vocabulary: Vocabulary, special_first: NDArray[np.uint8]) -> None:
        metadata = self._metadata = vocabulary.metadata
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
        bpe["character_index"] = _for_any_bytes(bpe["character_index"])
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
        super().__init__(SentencePieceBpeRowTables(*map(frozen, parts)), pattern, special_first)

    def family(self) -> _fastcall.Family:
        return sentencepiece_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_ROWS[pattern]

    def new_scratch(self, capacity: int) -> SentencePieceBpeRowScratch:
        return new_row_scratch(capacity)

    def describe(self) -> dict[str, Any]:
        names = ("pattern", "normalizer", "byte_fallback")
        shown = {name: self._metadata[name] for name in names if name in self._metadata}
        return {**shown, "cut into chunks": _CUTS[self._pattern], **super().describe()}

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        unit: str | None,
        num_threads: int,
    ) -> Encoded:
        source_starts, source_ends, fixed, first_of_row = starts, ends, NO_IDS, None
        if segments is not None:
            source_starts, source_ends, fixed, first_of_row = segments[:4]

        def spans_of_rows(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            parts = Segments(starts[first:last], ends[first:last], NO_IDS, frozen(np.arange(last - first + 1)))
            if segments is not None:
                parts = segments._replace(first_of_row=segments.first_of_row[first : last + 1])
            self._fill_spans(data, starts[first:last], ends[first:last], parts, first, ids, offsets, unit, spans)

        return self.encode_segments(
            data,
            source_starts,
            source_ends,
            fixed,
            first_of_row,
            ends - starts,
            num_threads,
            None if unit is None else spans_of_rows,
        )

    def _fill_spans(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        parts: Segments,
        first_row: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        unit: str | None,
        spans: tuple[NDArray[np.int64], ...],
    ) -> None:
        longest = int((ends - starts).max(initial=0))
        where = np.zeros(1, np.int64)
        for capacity in (longest, longest * (int(self.tables.settings[1]) + 3) // 3 + 16):
            scratch = new_row_scratch(capacity)
            room = scratch.text.size
            alignment = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
            status = fill_aligned_spans_bpe(
                self.tables,
                data,
                starts,
                *parts[:4],
                ids,
                offsets,
                int(unit == "char"),
                scratch,
                alignment,
                *spans,
                where,
            )
            if status != STATUS_OUTPUT_FULL:
                break
        if status < 0:
            raise RuntimeError(
                f"spans of row {first_row + where[0]}: the text does not give these ids; was it changed meanwhile? "
                "Else please report this with the text"
            )


def _for_any_bytes(index: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """The index of characters with an entry for whatever four bytes can be taken for a character.

    Text is checked once; if somebody writes other bytes into its buffer afterwards, the ids are wrong, but no kernel
    looks outside a table.
    """
    return np.concatenate((index, np.repeat(index[-1:], (1 << 14) - index.size)))
