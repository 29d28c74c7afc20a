"""General stages before a model: normalize, look for added tokens, cut, segment; a block of rows at a time.

Blocks are prepared by the thread that encodes them, while their text is in the processor's cache. The pieces of a block
go through the word cache (:mod:`numba_nlp.kernels.segment.staged_models`) under their normalized bytes. Where raw text
may be cut into words, its words go through a cache before all that, with spans as well
(:mod:`numba_nlp._encoders.staged_words`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.cached import CachedEncoder, Context, SingleTexts
from numba_nlp._encoders.chunks import Chunk, encode_in_chunks
from numba_nlp._encoders.dropout import drop_until_done
from numba_nlp._encoders.rows import NO_IDS, Encoded, Segments, frozen, refuse_alignment
from numba_nlp._encoders.segmentations import Pieces, join
from numba_nlp._encoders.single import SingleStages
from numba_nlp._encoders.sources import ArraySource, LeaveToGeneralWayError
from numba_nlp._encoders.staged_words import StagedWordEncoder
from numba_nlp._encoders.tables import for_any_bytes
from numba_nlp._fastcall import Watched
from numba_nlp._fastcall.families import staged_bpe, staged_unigram
from numba_nlp._stages.cutter import Cutter
from numba_nlp._stages.normalizer import Normalizer, checked_sizes, read_only
from numba_nlp.errors import STATUS_NOT_TILING, UnsupportedFeatureError
from numba_nlp.kernels.segment.dropout_rows import drop_pieces
from numba_nlp.kernels.segment.normalize_text import Aligned
from numba_nlp.kernels.segment.sentencepiece_bpe import SHORT
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR
from numba_nlp.kernels.segment.staged_memory import (
    StagedBpeTables,
    StagedUnigramTables,
    new_bpe_scratch,
    new_unigram_scratch,
)
from numba_nlp.kernels.segment.staged_models import ENCODE_BPE_ROWS, ENCODE_UNIGRAM_ROWS
from numba_nlp.kernels.segment.staged_spans import fill_staged_bpe_spans, fill_staged_unigram_spans
from numba_nlp.kernels.segment.unigram_memory import BYTE_FALLBACK, UNKNOWN_ID, UnigramTables, new_tables
from numba_nlp.kernels.tables.word_cache import SPARE_IDS
from numba_nlp.vocabulary import Vocabulary

__all__ = ["StagedBpeEncoder", "StagedUnigramEncoder"]


class _Block(NamedTuple):
    """Rows ready for the model: pieces of text, and ids that are given, in order.

    Attributes
    ----------
    source : Aligned
        Text of the pieces; with ranges that count from ``bases`` when they are asked for.
    starts, ends : int64[p], int64[p]
        The pieces in ``source``.
    fixed : int32[p]
        A given id, or -1.
    first_of_row : int64[rows + 1]
    bases, fixed_starts, fixed_ends : int64[p], int64[p], int64[p]
        In the original text: where ranges count from, and where given ids stand.
    """

    source: Aligned
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fixed: NDArray[np.int32]
    first_of_row: NDArray[np.int64]
    bases: NDArray[np.int64]
    fixed_starts: NDArray[np.int64]
    fixed_ends: NDArray[np.int64]


class _BlockSource(ArraySource):
    """Chunks of rows that are prepared when a thread takes them.

    Parameters
    ----------
    sizes : int64[rows]
    num_threads : int
    prepare : callable
        ``(first row, last row) -> most ids, encode``.
    """

    def __init__(self, sizes: NDArray[np.int64], num_threads: int, prepare: Callable[..., Any]) -> None:
        self._prepare = prepare
        super().__init__(sizes, num_threads, lambda first, last: 0, lambda *_: 0)

    def next_chunk(self) -> Chunk | None:
        chunk = super().next_chunk()
        if chunk is None:
            return None
        most_ids, encode = self._prepare(chunk.first, chunk.last)
        return chunk._replace(most_ids=most_ids, encode=encode)


#: Bytes of text in a block of rows whose words are counted.
_WORD_BLOCK = 1 << 19


#: A bridge that holds any two characters.
_ALL_PAIRS = frozen(np.full(1024, ~np.uint64(0)))


class StagedEncoder(CachedEncoder):
    """Encodes with a vocabulary of algorithm ``staged_unigram`` or ``staged_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    tables : tuple of arrays
    pattern : str
        How the family cuts pieces further.
    """

    knows_words = True
    #: Pieces of up to so many bytes are solved at once where raw text is cut into words.
    short_pieces: int = 1 << 30

    def __init__(self, vocabulary: Vocabulary, watched: Watched, tables: Any, pattern: str) -> None:
        metadata = vocabulary.metadata
        self._cutter = Cutter(vocabulary.arrays, metadata["cut_regexes"])
        self._normalizer = Normalizer(
            vocabulary.arrays, metadata["normalizer_regexes"], notes_first=self._cutter.needs_alignment
        )
        self._metadata = metadata
        super().__init__(tables, pattern, watched)
        self._words: StagedWordEncoder | None = None
        if _fastcall.AVAILABLE and "solid_pages" in vocabulary.arrays:
            self._words = StagedWordEncoder(vocabulary, watched, self)
        self._widths = self._piece_widths(vocabulary)

    @abstractmethod
    def _piece_widths(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        """Bytes of text that each id stands for; 0 where that is not known."""

    @abstractmethod
    def _span_kernel(self) -> Any:
        """What fills the spans."""

    def takes_strings(self) -> bool:
        return self._words is not None

    def encode_strings(self, items: tuple[Any, ...], watched: _fastcall.Watched, num_threads: int) -> Encoded | None:
        return None if self._words is None else self._words.encode_strings(items, watched, num_threads)

    def single_texts(self, forms: Mapping[bytes, int]) -> SingleTexts | None:
        return super().single_texts(forms) if self._words is None else self._words.single_texts(forms)

    def single_stages(self, forms: Mapping[bytes, int]) -> SingleStages:
        return SingleStages(forms, self._normalizer, self._cutter)

    def describe(self) -> dict[str, Any]:
        return {
            "normalizers": list(self._metadata["normalizers"]),
            "pre_tokenizers": list(self._metadata["pre_tokenizers"]),
            "decoders": list(self._metadata["decoders"]),
            "cut into words": "not before the stages" if self._words is None else "of raw text, before spaces",
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
        if self._words is not None:
            with suppress(LeaveToGeneralWayError):
                return self._words.encode(data, starts, ends, segments, unit, num_threads)
        sizes = ends - starts
        if unit is not None or self._cutter.needs_alignment:
            checked_sizes(starts, ends)
        blocks: dict[int, _Block] = {}

        def prepare(first: int, last: int) -> tuple[int, Any]:
            block = self._block(data, starts, ends, segments, first, last, unit is not None)
            given = block.fixed if (block.fixed >= 0).any() else NO_IDS
            if unit is not None:
                blocks[first] = block

            def encode(context: Context, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> int:
                places = np.zeros(block.starts.size + 1, np.int64)
                n = self._encode_chunk(context, block.source.text, block.starts, block.ends, given, ids, places)
                offsets[1:] = places[block.first_of_row[1:]]
                return n

            return int((block.ends - block.starts).sum()) + block.starts.size, encode

        def fill_spans(first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: Any) -> None:
            self._fill_spans(data, starts[first:last], blocks.pop(first), first, ids, offsets, unit, *spans)

        source = _BlockSource(sizes, num_threads, prepare)
        expected = int(self._ids_of_a_byte * source.n_bytes * 33 / 32)
        encoded = encode_in_chunks(
            source, num_threads, self._new_worker, None if unit is None else fill_spans, expected
        )
        self._remember(encoded, source.n_bytes)
        return encoded

    def drop_rows(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        probability: float,
        state: NDArray[np.uint64],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        if self._cutter.needs_alignment:
            checked_sizes(starts, ends)
        kernel, tables = self._dropping()
        block = self._block(data, starts, ends, segments, 0, starts.size, False)
        ids = np.empty(int((block.ends - block.starts).sum()) + block.starts.size, np.int32)
        offsets = np.zeros(starts.size + 1, np.int64)

        def drop(first: int, capacity: int) -> int:
            return int(
                kernel(
                    tables, block.source.text, block.starts, block.ends, block.fixed, block.first_of_row, first,
                    probability, state, self._drop_memory(capacity), ids, offsets,
                )
            )  # fmt: skip

        drop_until_done(drop, starts.size, self.kept_capacity, self.capacity_limit)
        return ids[: offsets[-1]].copy(), offsets

    def _dropping(self) -> tuple[Any, Any]:
        """Kernel and tables of :mod:`numba_nlp.kernels.segment.dropout_rows`, of a model that merges."""
        raise AssertionError("encode_with_dropout refuses first")

    def _drop_memory(self, capacity: int) -> Any:
        """Working memory of that kernel."""
        return self.new_scratch(capacity)

    def word_numbers(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        if self._cutter.needs_alignment:
            checked_sizes(starts, ends)
        done = np.cumsum(ends - starts)
        words = np.empty(ids.size, np.int32)
        first = 0
        while first < starts.size:
            before = int(done[first - 1]) if first else 0
            last = max(int(np.searchsorted(done, before + _WORD_BLOCK, side="right")), first + 1)
            block = self._block(data, starts, ends, segments, first, last, False)
            most = int((block.ends - block.starts).sum()) + block.starts.size
            found = np.empty(most + SPARE_IDS, np.int32)
            places = np.zeros(block.starts.size + 1, np.int64)
            worker = self._new_worker()
            given = block.fixed if (block.fixed >= 0).any() else NO_IDS
            n = self._encode_chunk(worker.context, block.source.text, block.starts, block.ends, given, found, places)
            worker.close()
            own = slice(int(offsets[first]), int(offsets[last]))
            if not np.array_equal(found[:n], ids[own]):
                refuse_alignment(f"word ids of rows {first} to {last - 1}")
            in_row = np.arange(block.starts.size) - np.repeat(block.first_of_row[:-1], np.diff(block.first_of_row))
            words[own] = np.repeat(in_row, np.diff(places))
            first = last
        return words

    def _block(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        first_row: int,
        last_row: int,
        with_spans: bool,
    ) -> _Block:
        """Normalize and cut some rows."""
        row_starts = starts[first_row:last_row]
        if segments is None:
            of_row = np.arange(last_row - first_row + 1)
            no_ids = np.full(row_starts.size, -1, np.int32)
            segments = Segments(row_starts, ends[first_row:last_row], no_ids, of_row)
        else:
            segments = segments.of_rows(first_row, last_row)
        is_text = segments.fixed < 0
        text_starts = read_only(np.where(is_text, segments.starts, 0))
        text_ends = read_only(np.where(is_text, segments.ends, 0))
        aligned = with_spans or self._cutter.needs_alignment
        try:
            rows = self._normalizer.normalize(data, text_starts, text_ends, aligned)
            if segments.second is not None:
                segments, rows = segments.second.cut(segments, rows)
            # where segments begin in their rows: only one at the start is the first
            of_segment = np.repeat(row_starts, np.diff(segments.first_of_row))
            bases = segments.starts - of_segment
            if rows.first_places is not None:
                # counted from there, the character that is taken for the first one begins at 0, and none where none is
                bases = np.where(bases == 0, -rows.first_places, bases)
            pieces = self._cutter.cut(rows, read_only(bases))
        except UnsupportedFeatureError as error:
            reason = error if error.__cause__ is None else error.__cause__
            raise UnsupportedFeatureError(f"in a row from {first_row} to {last_row - 1}: {reason}") from error
        source = Aligned(*(read_only(array) for array in pieces.source))
        is_fixed = segments.fixed >= 0
        if not is_fixed.any():
            none = np.full(pieces.starts.size, -1, np.int32)
            bases = np.repeat(segments.starts, np.diff(pieces.first_of_row)) if with_spans else pieces.starts
            return _Block(
                source, frozen(pieces.starts), frozen(pieces.ends), frozen(none),
                frozen(pieces.first_of_row[segments.first_of_row]), frozen(bases), bases, bases,
            )  # fmt: skip
        counts = np.where(is_fixed, 1, np.diff(pieces.first_of_row))
        first = np.concatenate(([0], np.cumsum(counts)))
        fixed = np.repeat(segments.fixed, counts)
        piece_starts, piece_ends = np.zeros(fixed.size, np.int64), np.zeros(fixed.size, np.int64)
        piece_starts[fixed < 0], piece_ends[fixed < 0] = pieces.starts, pieces.ends
        bases, fixed_ends = np.repeat(segments.starts, counts), np.repeat(segments.ends, counts)
        return _Block(
            source, frozen(piece_starts), frozen(piece_ends), frozen(fixed), frozen(first[segments.first_of_row]),
            frozen(bases), bases, frozen(fixed_ends),
        )  # fmt: skip

    def _fill_spans(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        block: _Block,
        first_row: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        unit: str | None,
        span_starts: NDArray[np.int64],
        span_ends: NDArray[np.int64],
    ) -> None:
        longest = int((block.ends - block.starts).max(initial=0))
        solved = np.empty(longest + 1, np.int32), np.empty(longest + 1, np.int64)
        where = np.zeros(1, np.int64)
        capacity = self.kept_capacity
        while True:
            status = int(
                self._span_kernel()(
                    self.tables, self.new_scratch(capacity), self._widths, data, starts, block.source, block.bases,
                    block.starts, block.ends, block.fixed, block.fixed_starts, block.fixed_ends, block.first_of_row,
                    ids, offsets, UNIT_BYTE if unit == "byte" else UNIT_CHAR, *solved, span_starts, span_ends, where,
                )
            )  # fmt: skip
            if status >= STATUS_NOT_TILING:
                break
            capacity = max(-status, 2 * capacity)
        if status < 0:
            refuse_alignment(f"spans of row {first_row + int(where[0])}")


class StagedUnigramEncoder(StagedEncoder):
    """Encodes with a vocabulary of algorithm ``staged_unigram``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "a Unigram model"
    #: Places are 32-bit.
    capacity_limit: ClassVar[int] = (1 << 31) - 2

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        scores = vocabulary["piece_scores64"]
        made = new_tables(
            vocabulary["trie_units"],
            np.diff(vocabulary["piece_offsets"])[: scores.size],
            scores,
            None,
            unknown_id=vocabulary.metadata["unknown_id"],
            byte_ids=vocabulary["byte_ids"] if vocabulary.metadata["byte_fallback"] else None,
            dtype=np.float64,
        )
        tables = StagedUnigramTables(*(read_only(array) for array in made))
        super().__init__(vocabulary, watched, tables, "whole")

    @cached_property
    def _lattice(self) -> UnigramTables:
        """The tables in single precision, as sentencepiece has its n-best lists."""
        tables = self.tables
        has_bytes = bool(tables.numbers[BYTE_FALLBACK])
        made = new_tables(
            tables.units, tables.piece_lengths, tables.piece_scores, None, unknown_id=int(tables.numbers[UNKNOWN_ID]),
            byte_ids=tables.byte_ids if has_bytes else None,
        )  # fmt: skip
        return UnigramTables(*(read_only(array) for array in made))

    def lattice_tables(self) -> UnigramTables:
        return self._lattice

    def pieces_of(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
    ) -> Pieces:
        block = self._block(data, starts, ends, segments, 0, 1, False)
        return join(
            (block.source.text[start:end], given)
            for start, end, given in zip(block.starts.tolist(), block.ends.tolist(), block.fixed.tolist(), strict=True)
        )

    def family(self) -> _fastcall.Family:
        return staged_unigram()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_UNIGRAM_ROWS[pattern]

    def new_scratch(self, capacity: int) -> Any:
        return new_unigram_scratch(capacity)

    def _span_kernel(self) -> Any:
        return fill_staged_unigram_spans

    def _piece_widths(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        widths = self.tables.piece_lengths.copy()
        widths[vocabulary.metadata["unknown_id"]] = 0
        widths[self.tables.byte_ids[self.tables.byte_ids >= 0]] = 0
        return frozen(widths)


class StagedBpeEncoder(StagedEncoder):
    """Encodes with a vocabulary of algorithm ``staged_bpe``.

    Parameters
    ----------
    vocabulary : Vocabulary
    watched : Watched
    """

    kind = "BPE over characters"
    drops = True
    #: Longer ones mostly have parts that were met in other words.
    short_pieces = SHORT
    #: The heap of a chunk holds three entries a character.
    capacity_limit: ClassVar[int] = (1 << 31) // 3 - 1

    def __init__(self, vocabulary: Vocabulary, watched: Watched) -> None:
        takes_whole = vocabulary.metadata["ignore_merges"]
        arrays = {name: vocabulary[name] for name in StagedBpeTables._fields if name in vocabulary.arrays}
        arrays["character_index"] = for_any_bytes(arrays["character_index"])
        tables = StagedBpeTables(
            **arrays,
            unused_offsets=frozen(np.zeros(1, np.int32)),
            unused_parts=frozen(np.zeros(0, np.int32)),
            user_units=frozen(np.zeros(0, np.uint32)),
            flags=vocabulary["bpe_flags"],
            whole_lookup=vocabulary["piece_lookup"] if takes_whole else NO_IDS,
        )
        super().__init__(vocabulary, watched, tables, "whole" if takes_whole else "bridge")

    def family(self) -> _fastcall.Family:
        return staged_bpe()

    def encode_rows(self, pattern: str) -> Any:
        return ENCODE_BPE_ROWS[pattern]

    def new_scratch(self, capacity: int) -> Any:
        return new_bpe_scratch(capacity)

    def _span_kernel(self) -> Any:
        return fill_staged_bpe_spans

    def _dropping(self) -> tuple[Any, Any]:
        # a merge anywhere in a piece gives all of its dropped pairs another chance, so pieces are not cut further
        return drop_pieces, self.tables._replace(bridge=_ALL_PAIRS)

    def _drop_memory(self, capacity: int) -> Any:
        scratch = self.new_scratch(capacity)
        return scratch, np.empty_like(scratch.heap)

    def _piece_widths(self, vocabulary: Vocabulary) -> NDArray[np.int32]:
        widths = np.diff(vocabulary["piece_offsets"]).astype(np.int32)
        if vocabulary.metadata["unknown_id"] >= 0:
            widths[vocabulary.metadata["unknown_id"]] = 0
        byte_ids = vocabulary["byte_ids"]
        widths[byte_ids[byte_ids >= 0]] = 0
        return frozen(widths)
