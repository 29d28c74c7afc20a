"""What encoders of SentencePiece models share: rows in segments, and spans through the normaliser's alignment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.cached import CachedEncoder
from numba_nlp._encoders.renumbering import Renumbering
from numba_nlp._encoders.rows import NO_IDS, Encoded, Segments, frozen, refuse_alignment, whole_segments
from numba_nlp._fastcall import Watched
from numba_nlp.errors import STATUS_OUTPUT_FULL, UnsupportedFeatureError
from numba_nlp.vocabulary import Vocabulary

__all__ = ["SentencePieceRowEncoder"]


class SentencePieceRowEncoder(CachedEncoder):
    """Encodes with a vocabulary that was made of a SentencePiece model.

    Parameters
    ----------
    vocabulary : Vocabulary
    tables : tuple of arrays
        Read-only, with ``settings`` of the normaliser among them.
    watched : Watched
    """

    #: What the pattern of the vocabulary means, for :meth:`describe`.
    cuts: ClassVar[Mapping[str, str]] = {
        "bridged": "where no merge crosses",
        "spaced": "before spaces",
        "whole": "not at all: each text is one chunk",
    }

    def __init__(self, vocabulary: Vocabulary, tables: Any, watched: Watched) -> None:
        self._vocabulary = vocabulary
        self._renumbering = Renumbering(vocabulary) if "piece_ids" in vocabulary else None
        # the classes whose ids another file gives (Marian, M2M100) have no word ids in transformers either
        self.knows_words = self._renumbering is None
        if self._renumbering is not None:
            self.id_table, self.left_alone = self._renumbering.table, self._renumbering.left_alone
        super().__init__(tables, vocabulary.metadata["pattern"], watched)

    @property
    @abstractmethod
    def fill_aligned_spans(self) -> Any:
        """The kernel that writes spans (:func:`numba_nlp.kernels.segment.aligned_spans.fill_aligned_spans`)."""

    @property
    @abstractmethod
    def name_unknown(self) -> Any:
        """The kernel that looks unknown text up (:func:`numba_nlp.kernels.segment.renumber.name_unknown`)."""

    @property
    @abstractmethod
    def number_words(self) -> Any:
        """The kernel that numbers words (:mod:`numba_nlp.kernels.segment.sentencepiece_numbers`)."""

    @property
    @abstractmethod
    def splits_words(self) -> bool:
        """Whether words end at spaces; else each text is one word."""

    def finish_chunk(
        self,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        ids: NDArray[np.int32],
        places: NDArray[np.int64],
    ) -> int:
        if self._renumbering is not None:
            parts = starts, ends, fixed, None
            self._renumbering.finish(self.name_unknown, self.new_scratch, self.tables, data, parts, ids, places)
        return ids.size

    def describe(self) -> dict[str, Any]:
        metadata = self._vocabulary.metadata
        shown = {name: metadata[name] for name in ("pattern", "normalizer", "byte_fallback") if name in metadata}
        return {**shown, "cut into chunks": self.cuts[self._pattern], **super().describe()}

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
            if self._renumbering is not None:
                segments = segments._replace(fixed=self._renumbering.shifted(segments.fixed))
            source_starts, source_ends, fixed = segments.starts, segments.ends, segments.fixed
            first_of_row = segments.first_of_row

        def fill(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            parts = parts_of_rows(first, last)
            self._fill_spans(data, starts[first:last], ends[first:last], parts, first, ids, offsets, unit, spans)

        def parts_of_rows(first: int, last: int) -> Segments:
            if segments is None:
                return Segments(starts[first:last], ends[first:last], NO_IDS, frozen(np.arange(last - first + 1)))
            return segments._replace(first_of_row=segments.first_of_row[first : last + 1])

        def finish(first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
            assert self._renumbering is not None
            parts = parts_of_rows(first, last)
            four = parts.starts, parts.ends, parts.fixed, parts.first_of_row
            self._renumbering.finish(self.name_unknown, self.new_scratch, self.tables, data, four, ids, offsets)

        def fill_and_finish(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            fill(first, last, ids, offsets, *spans)
            if self._renumbering is not None:
                finish(first, last, ids, offsets)

        if unit is not None and self.spanned is not None:
            whole = whole_segments(starts, ends, segments)
            after = None if self._renumbering is None else finish
            return self.spanned.encode(data, starts, ends, whole, unit, num_threads, fill, after)
        return self.encode_segments(
            data,
            source_starts,
            source_ends,
            fixed,
            first_of_row,
            ends - starts,
            num_threads,
            None if unit is None else fill_and_finish,
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
        if self._renumbering is not None:
            raise UnsupportedFeatureError(
                "word ids are not known where another file gives the ids of a SentencePiece model's pieces (Marian, "
                "M2M100: transformers has none there); leave return_word_ids out"
            )
        parts = whole_segments(starts, ends, segments)
        longest = int((parts.ends - parts.starts).max(initial=0))
        words = np.empty(ids.size, np.int32)
        where = np.zeros(2, np.int64)
        # mostly text grows little; the second size is enough for any
        for capacity in (longest, longest * (int(self.tables.settings[1]) + 3) // 3 + 16):
            scratch = self.new_scratch(capacity)
            room = scratch.text.size
            alignment = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
            status = self.number_words(
                self.tables, data, *parts[:4], ids, offsets,
                (self._vocabulary["piece_kinds"], int(self.splits_words), scratch, alignment), words, where,
            )  # fmt: skip
            if status != STATUS_OUTPUT_FULL:
                break
        if status < 0:
            refuse_alignment(f"word ids of row {where[0]}")
        return words

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
        where = np.zeros(2, np.int64)
        # mostly text grows little; the second size is enough for any
        for capacity in (longest, longest * (int(self.tables.settings[1]) + 3) // 3 + 16):
            scratch = self.new_scratch(capacity)
            room = scratch.text.size
            alignment = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
            status = self.fill_aligned_spans(
                self.tables, data, starts, parts.starts, parts.ends, parts.fixed, parts.first_of_row, ids, offsets,
                int(unit == "char"), scratch, alignment, spans[0], spans[1], where,
            )  # fmt: skip
            if status != STATUS_OUTPUT_FULL:
                break
        if status < 0:
            refuse_alignment(f"spans of row {first_row + where[0]}")
