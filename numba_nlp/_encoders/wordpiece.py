"""WordPiece: words of normalised text, and where they come from."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder
from numba_nlp._encoders.rows import NO_IDS, NO_PLACES, Encoded, Segments, refuse_alignment, whole_segments
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import wordpiece
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.spanned_families import encode_spanned_wordpiece
from numba_nlp.kernels.segment.spanned_rows_memory import MOST_IDS
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR
from numba_nlp.kernels.segment.word_spans import fill_word_spans
from numba_nlp.kernels.segment.wordpiece import encode_rows_wordpiece
from numba_nlp.kernels.segment.wordpiece_memory import (
    MAX_CHARACTERS,
    UNKNOWN,
    WordPieceScratch,
    WordPieceTables,
    new_scratch,
)
from numba_nlp.kernels.segment.wordpiece_numbers import number_words_wordpiece
from numba_nlp.vocabulary import Vocabulary

__all__ = ["WordPieceEncoder"]

#: Options of the normaliser that the metadata states.
_OPTIONS = ("lowercase", "strip_accents", "handle_chinese_chars", "clean_text")


class WordPieceEncoder(CachedEncoder):
    """Encodes with a vocabulary of algorithm ``wordpiece``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "WordPiece"
    #: A normalised word has three bytes a byte of the text, in arrays whose places are 32-bit.
    capacity_limit: ClassVar[int] = (1 << 31) // 3 - 2
    knows_words = True

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        arrays = {name: vocabulary[name] for name in WordPieceTables._fields}
        arrays["normal_index"] = for_any_bytes(arrays["normal_index"])
        self._vocabulary = vocabulary
        super().__init__(WordPieceTables(**arrays), "words", watched)

    def family(self) -> _fastcall.Family:
        return wordpiece()

    def encode_rows(self, pattern: str) -> Any:
        return encode_rows_wordpiece

    def spanned_kernel(self) -> Any | None:
        return encode_spanned_wordpiece if self._vocabulary.size <= MOST_IDS else None

    def new_scratch(self, capacity: int) -> WordPieceScratch:
        return new_scratch(capacity)

    def describe(self) -> dict[str, Any]:
        constants = self.tables.wordpiece
        metadata = self._vocabulary.metadata
        return {
            **{name: metadata[name] for name in _OPTIONS},
            "prefix": metadata["prefix"],
            "unknown_id": int(constants[UNKNOWN]),
            "max_input_chars_per_word": int(constants[MAX_CHARACTERS]),
            **super().describe(),
        }

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        unit: str | None,
        num_threads: int,
    ) -> Encoded:
        if unit is not None and starts.size and int((ends - starts).max()) >= 1 << 31:
            row = int(np.argmax(ends - starts))
            raise ValueError(
                f"row {row} has {int(ends[row] - starts[row])} bytes, but spans are given for texts of less than "
                "2147483648; split the text into shorter rows"
            )

        def spans_of_rows(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            part = None if segments is None else Segments(*segments[:3], segments.first_of_row[first : last + 1])
            self._fill_spans(data, starts[first:last], ends[first:last], part, first, ids, offsets, unit, *spans)

        if unit is not None and self.spanned is not None:
            parts = whole_segments(starts, ends, segments)
            return self.spanned.encode(data, starts, ends, parts, unit, num_threads, spans_of_rows, None)
        return self.encode_segments(
            data,
            starts if segments is None else segments.starts,
            ends if segments is None else segments.ends,
            NO_IDS if segments is None else segments.fixed,
            None if segments is None else segments.first_of_row,
            ends - starts,
            num_threads,
            None if unit is None else spans_of_rows,
        )

    def word_numbers(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        parts = whole_segments(starts, ends, segments)
        words = np.empty(ids.size, np.int32)
        where = np.zeros(2, np.int64)
        capacity = self.kept_capacity
        while True:
            scratch = new_scratch(capacity)
            status = number_words_wordpiece(
                self.tables, data, *parts[:4], ids, offsets, (scratch, np.empty(scratch.text.size, np.int32)), words,
                where,
            )  # fmt: skip
            if status != STATUS_OUTPUT_FULL:
                break
            capacity = max(int(where[1]), 2 * capacity)
        if status < 0:
            refuse_alignment(f"word ids of row {where[0]}")
        return words

    def _fill_spans(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        first_row: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        unit: str | None,
        span_starts: NDArray[np.int64],
        span_ends: NDArray[np.int64],
    ) -> None:
        where = np.zeros(2, np.int64)
        capacity = self.kept_capacity
        while True:
            scratch = new_scratch(capacity)
            status = fill_word_spans(
                self.tables, data, starts, ends, *(segments or _ONE_TEXT_A_ROW)[:4], ids, offsets,
                UNIT_BYTE if unit == "byte" else UNIT_CHAR, scratch, np.empty(scratch.text.size, np.int32),
                span_starts, span_ends, where,
            )  # fmt: skip
            if status != STATUS_OUTPUT_FULL:
                break
            capacity = max(int(where[1]), 2 * capacity)
        if status < 0:
            refuse_alignment(f"spans of row {first_row + where[0]}")


_ONE_TEXT_A_ROW = Segments(NO_PLACES, NO_PLACES, NO_IDS, NO_PLACES)
