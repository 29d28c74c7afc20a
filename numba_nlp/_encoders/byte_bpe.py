"""Byte-level BPE: tables, prefix space, pre-tokens by a regular expression, spans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder
from numba_nlp._encoders.dropout import drop_until_done, every_split
from numba_nlp._encoders.normalized import NormalizedText, normalize_segments, second_search
from numba_nlp._encoders.regex_cut import cut_segments
from numba_nlp._encoders.rows import NO_IDS, NO_PLACES, Encoded, Segments, frozen, refuse_alignment, whole_segments
from numba_nlp._encoders.single import SingleStages
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import byte_bpe
from numba_nlp._stages.normalizer import Normalizer
from numba_nlp.kernels.segment.bpe import ENCODE_ROWS
from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables, Scratch, new_scratch
from numba_nlp.kernels.segment.dropout_rows import DROP_BYTES
from numba_nlp.kernels.segment.normalized_spans import fill_normalized_spans
from numba_nlp.kernels.segment.prefix import prefix_spaces
from numba_nlp.kernels.segment.spans import (
    TRIM_ALL,
    TRIM_KEEP_FIRST,
    TRIM_NONE,
    UNIT_BYTE,
    UNIT_CHAR,
    fill_spans,
    piece_shapes,
)
from numba_nlp.kernels.segment.word_numbers import NUMBER_WORDS
from numba_nlp.vocabulary import Vocabulary

__all__ = ["ByteBpeEncoder"]


class _Source(NamedTuple):
    """Stretches of text, and given ids, as the row encoder takes them."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fixed: NDArray[np.int32]
    first_of_row: NDArray[np.int64] | None
    segments: Segments | None  # in the original text, cut at what the normalized text held
    normalized: NormalizedText | None

    def parts(self) -> Segments:
        """What rows are made of; one text each where they are not cut."""
        cut = None if self.first_of_row is None else Segments(self.starts, self.ends, self.fixed, self.first_of_row)
        return whole_segments(self.starts, self.ends, cut)


class ByteBpeEncoder(CachedEncoder):
    """Encodes with a vocabulary of algorithm ``byte_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "byte-level BPE"
    drops = True
    #: The lists of the merge kernels hold three 32-bit entries a byte.
    capacity_limit: ClassVar[int] = (1 << 31) // 3 - 1
    knows_words = True

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        metadata = vocabulary.metadata
        self.ordered = _merges_are_ordered(vocabulary)
        self._n_merges = int(vocabulary["merge_symbols"].size)
        self._piece_offsets = vocabulary["piece_offsets"]
        self._has_list = metadata["source_format"] != "tiktoken"
        self._model_ids = vocabulary["piece_lookup"][vocabulary["piece_lookup"] >= 0]
        self._add_prefix_space = bool(metadata["add_prefix_space"])
        self._trim = TRIM_NONE
        if metadata["trim_offsets"]:
            self._trim = TRIM_KEEP_FIRST if metadata.get("trim_keeps_prefix_space", False) else TRIM_ALL
        flags = np.array([metadata["whole_pieces"], self.ordered, metadata["unique_products"]], np.int64)
        arrays = {name: vocabulary[name] for name in ByteBpeTables._fields[:-1]}
        arrays["class_index"] = for_any_bytes(arrays["class_index"])
        tables = ByteBpeTables(**arrays, flags=frozen(flags))
        pattern: str = metadata["pattern"]
        self._pattern_name, self._pattern_regex = pattern, metadata["pattern_regex"]
        self._splitter: Callable[[str], NDArray[np.int64]] | None = None
        if pattern == "regex":
            from numba_nlp.regex_split import RegexSplitter

            self._splitter = RegexSplitter(
                metadata["pattern_regex"],
                vocabulary["class_index"],
                vocabulary["class_blocks"],
                metadata["reference"],
            ).piece_ends
        self._normalizer: Normalizer | None = None
        if "normalizer_program" in vocabulary.arrays:
            self._normalizer = Normalizer(vocabulary.arrays, metadata["normalizer_regexes"])
        super().__init__(tables, "whole" if pattern == "regex" else pattern, watched)

    def family(self) -> _fastcall.Family:
        return byte_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_ROWS[pattern]

    def new_scratch(self, capacity: int) -> Scratch:
        return new_scratch(self._n_merges, self.ordered, capacity)

    @cached_property
    def _shapes(self) -> NDArray[np.uint16]:
        """Made when spans are first asked for."""
        return piece_shapes(self.tables.piece_bytes, self._piece_offsets)

    def takes_strings(self) -> bool:
        return self._normalizer is None and self._splitter is None and not self._add_prefix_space

    def single_stages(self, forms: Mapping[bytes, int]) -> SingleStages | None:
        if self.takes_strings():
            return None
        return SingleStages(
            forms,
            self._normalizer,
            prefix_space=self._add_prefix_space,
            leaves_ascii=self._normalizer is None or self._normalizer.ascii_stays,
            runs=self._splitter is None,
        )

    def describe(self) -> dict[str, Any]:
        return {
            "pattern": self._pattern_name,
            "pattern_regex": self._pattern_regex,
            "scanner": "hand-written kernel" if self._splitter is None else "regex library (exact, slower)",
            "merging": "linear-time lists" if self.ordered else "heap (the merge list is not ordered)",
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
        source = self._source(data, starts, ends, segments, unit is not None, num_threads)

        def spans_of_rows(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            if source.normalized is not None:
                self._fill_normalized_spans(
                    data, starts, ends, source.segments, source.normalized, first, last, ids, offsets, unit, *spans
                )
                return
            self._fill_spans(
                data, starts[first:last], ends[first:last], segments, first, last, ids, offsets, unit, *spans
            )

        return self.encode_segments(
            source.data,
            source.starts,
            source.ends,
            source.fixed,
            source.first_of_row,
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
        source = self._source(data, starts, ends, segments, False, 1)
        classes = self.tables.class_index, self.tables.class_blocks
        words, where = np.empty(ids.size, np.int32), np.zeros(2, np.int64)
        status = NUMBER_WORDS[self._pattern](
            classes, source.data, *source.parts()[:4], ids, offsets, self._piece_offsets, words, where
        )
        if status < 0:
            refuse_alignment(f"word ids of row {where[0]}")
        return words

    def drop_rows(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        probability: float,
        state: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        source = self._source(data, starts, ends, segments, False, 1)
        parts = source.parts()
        tables, ranks = self._with_every_merge
        n_rows = parts.first_of_row.size - 1
        sizes = np.where(parts.fixed >= 0, 0, parts.ends - parts.starts)
        ids = np.empty(int(sizes.sum()) + sizes.size, np.int32)
        offsets = np.zeros(n_rows + 1, np.int64)

        def drop(first: int, capacity: int) -> int:
            heap, dropped = np.empty(3 * capacity, np.uint64), np.empty(3 * capacity, np.uint64)
            return int(
                DROP_BYTES[self._pattern](
                    tables, source.data, *parts[:4], first, probability, state,
                    (ranks, new_scratch(0, False, capacity), heap, dropped), ids, offsets,
                )
            )  # fmt: skip

        drop_until_done(drop, n_rows, self.kept_capacity, self.capacity_limit)
        return ids[: offsets[-1]].copy(), offsets

    @cached_property
    def _with_every_merge(self) -> tuple[ByteBpeTables, NDArray[np.int32]]:
        """Tables for dropout, and ranks of their merges: a list as it is, of a rank file all that its rule merges."""
        if self._has_list:
            return self.tables, NO_IDS
        content, bounds = self.tables.piece_bytes.tobytes(), self._piece_offsets.tolist()
        texts = {number: content[bounds[number] : bounds[number + 1]] for number in self._model_ids.tolist()}
        symbols = {texts[number]: symbol for symbol, number in enumerate(self.tables.symbol_ids.tolist())}
        made = every_split(symbols, self.tables.symbol_ids, ((text, number, number) for number, text in texts.items()))
        tables = self.tables._replace(
            merge_table=made.merge_table, merge_pairs=made.merge_pairs, merge_symbols=made.merge_symbols,
            symbol_ids=made.symbol_ids,
        )  # fmt: skip
        return tables, made.merge_ranks

    def _source(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        aligned: bool,
        num_threads: int,
    ) -> _Source:
        """The text as the row encoder takes it: normalized, with prefix spaces, cut by a regular expression."""
        normalized: NormalizedText | None = None
        second = None if segments is None else segments.second
        if self._normalizer is not None and (second or not self._normalizer.stays(data, starts, ends)):
            normalized = normalize_segments(self._normalizer, data, starts, ends, segments, aligned, num_threads)
            if second is not None:
                assert segments is not None
                segments, normalized = second_search(second, segments, normalized)
            data, starts, ends = normalized.data, normalized.starts, normalized.ends
        elif segments is not None:
            starts, ends = segments.starts, segments.ends
        first_of_row = None if segments is None else segments.first_of_row
        fixed = NO_IDS if segments is None else segments.fixed
        if self._add_prefix_space:
            data, starts, ends = _with_prefix_spaces(data, starts, ends, fixed)
        if self._splitter is not None:
            starts, ends, fixed, first_piece = cut_segments(self._splitter, data, starts, ends, fixed, first_of_row)
            first_of_row = first_piece if first_of_row is None else first_piece[first_of_row]
        return _Source(data, starts, ends, fixed, first_of_row, segments, normalized)

    def _fill_spans(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        first_row: int,
        last_row: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        unit: str | None,
        span_starts: NDArray[np.int64],
        span_ends: NDArray[np.int64],
    ) -> None:
        if segments is None:
            seg_starts, seg_ends, seg_fixed, first_of_row = NO_PLACES, NO_PLACES, NO_IDS, NO_PLACES
        else:
            seg_starts, seg_ends, seg_fixed = segments.starts, segments.ends, segments.fixed
            first_of_row = segments.first_of_row[first_row : last_row + 1]
        where = np.zeros(2, np.int64)
        status = fill_spans(
            self._shapes, self._piece_offsets, data, starts, ends, seg_starts, seg_ends, seg_fixed,
            first_of_row, ids, offsets,
            UNIT_BYTE if unit == "byte" else UNIT_CHAR, int(self._add_prefix_space), self._trim, span_starts,
            span_ends, where,
        )  # fmt: skip
        _check_spans(int(status), first_row + int(where[0]))

    def _fill_normalized_spans(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        normalized: NormalizedText,
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
            seg_starts, seg_ends = starts, ends
            seg_fixed = frozen(np.full(starts.size, -1, np.int32))
            first_of_row = frozen(np.arange(first_row, last_row + 1))
        else:
            seg_starts, seg_ends, seg_fixed = segments.starts, segments.ends, segments.fixed
            first_of_row = segments.first_of_row[first_row : last_row + 1]
        where = np.zeros(2, np.int64)
        status = fill_normalized_spans(
            self._piece_offsets, data, starts[rows], ends[rows], seg_starts, seg_ends, seg_fixed, first_of_row,
            normalized.source, normalized.starts, normalized.ends, ids, offsets,
            UNIT_BYTE if unit == "byte" else UNIT_CHAR, int(self._add_prefix_space), self._trim, span_starts,
            span_ends, where,
        )  # fmt: skip
        _check_spans(int(status), first_row + int(where[0]))


def _check_spans(status: int, row: int) -> None:
    if status < 0:
        refuse_alignment(f"spans of row {row}")


def _merges_are_ordered(vocabulary: Vocabulary) -> bool:
    """Whether every merge comes after the merges that make its parts (then long pre-tokens merge in linear time)."""
    pairs, products = vocabulary["merge_pairs"], vocabulary["merge_symbols"]
    made_by = np.full(vocabulary["symbol_ids"].size, -1, np.int64)
    made_by[products] = np.arange(products.size)
    left = made_by[(pairs >> np.uint64(20)).astype(np.int64)]
    right = made_by[(pairs & np.uint64(0xFFFFF)).astype(np.int64)]
    return bool((np.maximum(left, right) < np.arange(pairs.size)).all())


def _with_prefix_spaces(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], fixed: NDArray[np.int32]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The same segments with the space that ``add_prefix_space`` puts before each text."""
    room = int(np.maximum(ends - starts, 0).sum()) + starts.size
    out = np.empty(room, np.uint8)
    out_starts, out_ends = np.empty_like(starts), np.empty_like(ends)
    prefix_spaces(data, starts, ends, fixed, out, out_starts, out_ends)
    return frozen(out), frozen(out_starts), frozen(out_ends)
