"""Character BPE: words of text, normalised where the family does so, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder
from numba_nlp._encoders.dropout import drop_until_done
from numba_nlp._encoders.normalized import NormalizedText, normalize_segments, second_search
from numba_nlp._encoders.rows import NO_IDS, Encoded, Segments, frozen, refuse_alignment, whole_segments
from numba_nlp._encoders.single import SingleStages
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import character_bpe
from numba_nlp._stages.normalizer import Normalizer
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.character_bpe import ENCODE_ROWS
from numba_nlp.kernels.segment.character_bpe_memory import (
    END_SYMBOL,
    UNKNOWN_ID,
    CharacterBpeScratch,
    CharacterBpeTables,
    new_scratch,
)
from numba_nlp.kernels.segment.character_numbers import number_words_character
from numba_nlp.kernels.segment.character_spans import fill_character_spans
from numba_nlp.kernels.segment.dropout_rows import drop_characters
from numba_nlp.kernels.segment.spanned_families import SPANNED_CHARACTERS
from numba_nlp.kernels.segment.spanned_rows_memory import MOST_IDS
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR, ascii_end
from numba_nlp.vocabulary import Vocabulary

__all__ = ["CharacterBpeEncoder"]

#: Which of the kernels cuts text, by the rule of words.
_PATTERNS = {"bert": "bert", "white": "white", "clip": "white", "spaces": "spaces", "whole": "whole"}
#: BERT's words have any number of characters here.
_ANY_NUMBER = (0, (1 << 31) - 1, 0)
_NO_RANGES = frozen(np.zeros(0, np.int32))


class CharacterBpeEncoder(CachedEncoder):
    """Encodes with a vocabulary of algorithm ``character_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "character BPE"
    drops = True
    #: The heap of a word holds three keys for each of its bytes, which number their places in 31 bits.
    capacity_limit: ClassVar[int] = (1 << 31) // 3 - 4
    knows_words = True

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        arrays = {name: vocabulary[name] for name in CharacterBpeTables._fields if name in vocabulary}
        for name in ("character_index", "class_index", "normal_index"):
            if arrays[name].size:
                arrays[name] = for_any_bytes(arrays[name])
        arrays["wordpiece"] = frozen(np.array(_ANY_NUMBER, np.int64))
        tables = CharacterBpeTables(**arrays)
        self._vocabulary = vocabulary
        # parts without characters are tokens besides those of the bytes
        self.ids_per_byte = 2 if tables.part_ids.size or tables.flags[END_SYMBOL] >= 0 else 1
        self.normalizer: Normalizer | None = None
        if "normalizer_program" in vocabulary:
            self.normalizer = Normalizer(vocabulary.arrays, vocabulary.metadata["normalizer_regexes"])
        super().__init__(tables, _PATTERNS[vocabulary.metadata["words"]], watched)

    def family(self) -> _fastcall.Family:
        return character_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_ROWS[pattern]

    def spanned_kernel(self) -> Any | None:
        return SPANNED_CHARACTERS[self._pattern] if self._vocabulary.size <= MOST_IDS else None

    def new_scratch(self, capacity: int) -> CharacterBpeScratch:
        return new_scratch(capacity)

    def takes_strings(self) -> bool:
        return self.normalizer is None

    def single_stages(self, forms: Mapping[bytes, int]) -> SingleStages | None:
        # ASCII is in every normal form, and the kernels look at letters of ASCII in lower case themselves; the search
        # for added tokens in normalized text does not
        return None if self.normalizer is None else SingleStages(forms, self.normalizer, leaves_ascii=not forms)

    def describe(self) -> dict[str, Any]:
        metadata = self._vocabulary.metadata
        return {
            "words": metadata["words"],
            "lowercase": metadata["lowercase"],
            "suffix": metadata["suffix"],
            "separator": metadata["separator"],
            "merges": int(self.tables.merge_symbols.size),
            "merging": "pass by pass" if metadata["in_passes"] else "place by place",
            "unknown_id": int(self.tables.flags[UNKNOWN_ID]),
            **super().describe(),
        }

    def normalized(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        aligned: bool,
        num_threads: int,
    ) -> NormalizedText | None:
        """The text of rows after the normaliser; None where it stays as it is, as far as the kernels care.

        ASCII is in every normal form, and the kernels look at letters of ASCII in lower case themselves; where added
        tokens are looked for in the normalized text, it is always made.
        """
        filled = starts < ends
        if self.normalizer is None or not filled.any():
            return None
        first, last = int(starts[filled].min()), int(ends[filled].max())
        searched = segments is not None and segments.second is not None
        if not searched and int(ascii_end(data, first, last)) == last:
            return None
        return normalize_segments(self.normalizer, data, starts, ends, segments, aligned, num_threads)

    def prepared(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        aligned: bool,
        num_threads: int,
    ) -> tuple[Segments | None, NormalizedText | None]:
        """Segments, cut once more at what their normalised text holds, and that text as of :meth:`normalized`."""
        text = self.normalized(data, starts, ends, segments, aligned, num_threads)
        if text is not None and segments is not None and segments.second is not None:
            return second_search(segments.second, segments, text)
        return segments, text

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        unit: str | None,
        num_threads: int,
    ) -> Encoded:
        longest = int((ends - starts).max(initial=0))
        if unit is not None and longest >= 1 << 31:
            row = int(np.argmax(ends - starts))
            raise ValueError(
                f"row {row} has {longest} bytes, but spans are given for texts of less than 2147483648; split the text "
                "into shorter rows"
            )
        segments, text = self.prepared(data, starts, ends, segments, unit is not None, num_threads)
        source, source_starts, source_ends = data, starts, ends
        if segments is not None:
            source_starts, source_ends = segments.starts, segments.ends
        if text is not None:
            source, source_starts, source_ends = text.data, text.starts, text.ends

        def spans_of_rows(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            self._fill_spans(data, starts, ends, segments, text, first, last, ids, offsets, unit, *spans)

        if unit is not None and text is None and self.spanned is not None:
            parts = whole_segments(starts, ends, segments)
            return self.spanned.encode(data, starts, ends, parts, unit, num_threads, spans_of_rows, None)
        return self.encode_segments(
            source,
            source_starts,
            source_ends,
            NO_IDS if segments is None else segments.fixed,
            None if segments is None else segments.first_of_row,
            ends - starts,
            num_threads,
            None if unit is None else spans_of_rows,
        )

    def drop_rows(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        probability: float,
        state: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        segments, text = self.prepared(data, starts, ends, segments, False, 1)
        parts = whole_segments(starts, ends, segments)
        source, source_starts, source_ends = data, parts.starts, parts.ends
        if text is not None:
            source, source_starts, source_ends = text.data, text.starts, text.ends
        n_rows = parts.first_of_row.size - 1
        sizes = np.where(parts.fixed >= 0, 0, source_ends - source_starts)
        ids = np.empty(2 * int(sizes.sum()) + sizes.size, np.int32)
        offsets = np.zeros(n_rows + 1, np.int64)

        def drop(first: int, capacity: int) -> int:
            return int(
                drop_characters(
                    self.tables, source, source_starts, source_ends, parts.fixed, parts.first_of_row, first,
                    probability, state, new_scratch(capacity), ids, offsets,
                )
            )  # fmt: skip

        drop_until_done(drop, n_rows, self.kept_capacity, self.capacity_limit)
        return ids[: offsets[-1]].copy(), offsets

    def word_numbers(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        segments, text = self.prepared(data, starts, ends, segments, False, 1)
        parts = whole_segments(starts, ends, segments)
        source, source_starts, source_ends = data, parts.starts, parts.ends
        if text is not None:
            source, source_starts, source_ends = text.data, text.starts, text.ends
        longest = int((source_ends - source_starts).max(initial=0))
        found = np.empty(2 * longest + 8, np.int32)
        words = np.empty(ids.size, np.int32)
        where = np.zeros(2, np.int64)
        capacity = self.kept_capacity
        while True:
            status = number_words_character(
                self.tables, source, source_starts, source_ends, parts.fixed, parts.first_of_row, ids, offsets,
                (new_scratch(capacity), found), words, where,
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
        text: NormalizedText | None,
        first_row: int,
        last_row: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        unit: str | None,
        span_starts: NDArray[np.int64],
        span_ends: NDArray[np.int64],
    ) -> None:
        rows = slice(first_row, last_row)
        if segments is None:
            parts = Segments(
                starts, ends, frozen(np.full(starts.size, -1, np.int32)), frozen(np.arange(starts.size + 1))
            )
        else:
            parts = segments
        first_of_row = parts.first_of_row[first_row : last_row + 1]
        if text is None:
            source, from_starts, from_ends = data, _NO_RANGES, _NO_RANGES
            text_starts, text_ends = parts.starts, parts.ends
        else:
            source, from_starts, from_ends = text.data, text.source.starts, text.source.ends
            text_starts, text_ends = text.starts, text.ends
        own = slice(int(first_of_row[0]), int(first_of_row[-1]))
        longest = int((text_ends[own] - text_starts[own]).max(initial=0))
        room = 2 * longest + 8
        found = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
        where = np.zeros(2, np.int64)
        capacity = self.kept_capacity
        while True:
            scratch = new_scratch(capacity)
            status = fill_character_spans(
                self.tables, data, starts[rows], ends[rows], parts.starts, parts.ends, parts.fixed, first_of_row,
                source, from_starts, from_ends, text_starts, text_ends, ids, offsets,
                UNIT_BYTE if unit == "byte" else UNIT_CHAR, scratch, *found, span_starts, span_ends, where,
            )  # fmt: skip
            if status != STATUS_OUTPUT_FULL:
                break
            capacity = max(int(where[1]), 2 * capacity)
        if status < 0:
            refuse_alignment(f"spans of row {first_row + where[0]}")
