"""Encoding of segments of text with one compiled vocabulary: memory of each thread, threads, spans.

A *segment* is a stretch of text that is encoded by itself, or one id that is given (a special token). Without special
tokens a row is one segment. Policies, input types and errors are the business of ``tokenizer.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp.errors import STATUS_UNKNOWN_ID, UnsupportedFeatureError
from numba_nlp.kernels.segment.bpe import ENCODE_ROWS
from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables, Scratch, new_scratch
from numba_nlp.kernels.segment.prefix import prefix_spaces
from numba_nlp.kernels.segment.spans import TRIM_ALL, TRIM_KEEP_FIRST, TRIM_NONE, UNIT_BYTE, UNIT_CHAR, fill_spans
from numba_nlp.kernels.tables.word_cache import WordCache, new_word_cache
from numba_nlp.vocabulary import Vocabulary

__all__ = ["Encoded", "Encoder", "Segments", "resolve_threads"]

#: Below this many bytes a thread costs more than it brings.
BYTES_PER_THREAD = 1 << 16
#: Blocks of rows per thread: a thread that is held up leaves its blocks to the others.
BLOCKS_PER_THREAD = 4
#: Bytes of text that are encoded in one kernel call, if rows are not longer.
CHUNK_BYTES = 1 << 19
#: Ids that kernels may write beyond the last one.
SPARE_IDS = 4
#: Longest pre-token, in bytes, that a thread keeps memory for between calls.
KEPT_CAPACITY = 1 << 12
#: Longest pre-token: the lists of the merge kernels hold three 32-bit entries a byte.
CAPACITY_LIMIT = (1 << 31) // 3 - 1


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The array, read-only: kernels are compiled for one kind of array."""
    array.flags.writeable = False
    return array


_NO_IDS = _frozen(np.zeros(0, np.int32))
_NO_PLACES = _frozen(np.zeros(0, np.int64))


class Segments(NamedTuple):
    """Rows cut into segments (:func:`numba_nlp.kernels.segment.special.split_rows`)."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fixed: NDArray[np.int32]
    first_of_row: NDArray[np.int64]

    def of_rows(self, first: int, last: int) -> Segments:
        """The segments of some of the rows."""
        start, stop = int(self.first_of_row[first]), int(self.first_of_row[last])
        part = slice(start, stop)
        first_of_row = _frozen(self.first_of_row[first : last + 1] - start)
        return Segments(self.starts[part], self.ends[part], self.fixed[part], first_of_row)


class Encoded(NamedTuple):
    """Ids of rows; spans when they were asked for."""

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64] | None
    ends: NDArray[np.int64] | None


class _Context:
    """What one thread works with; belongs to one call at a time."""

    __slots__ = ("_buffer", "cache", "control", "scratch")

    def __init__(self, cache: WordCache, scratch: Scratch, control: _fastcall.ControlBlock | None) -> None:
        self._buffer = np.empty(CHUNK_BYTES + SPARE_IDS, np.int32)
        self.cache = cache
        self.scratch = scratch
        self.control = control

    def buffer(self, n: int) -> NDArray[np.int32]:
        """Room for ``n`` ids; kept unless it is for a chunk of unusual size."""
        return self._buffer if n <= self._buffer.size else np.empty(n, np.int32)

    def use_scratch(self, scratch: Scratch) -> None:
        self.scratch = scratch
        if self.control is not None:
            self.control.set_scratch(scratch)


def resolve_threads(num_threads: int | None) -> int:
    """Number of threads that an argument means.

    Parameters
    ----------
    num_threads : int or None
        None takes ``NUMBA_NLP_NUM_THREADS``, else the processors that this process may run on.

    Raises
    ------
    ValueError
        Not a whole number of at least 1.
    """
    name: str = "num_threads"
    value: Any = num_threads
    if value is None:
        given = os.environ.get("NUMBA_NLP_NUM_THREADS")
        if given is None:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        name, value = "NUMBA_NLP_NUM_THREADS", int(given) if given.isdecimal() else given
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"`{name}` must be a whole number of at least 1, got {value!r}")
    return int(value)


class Encoder:
    """Encodes segments with one vocabulary; safe to use from several threads.

    Parameters
    ----------
    vocabulary : Vocabulary
        Of algorithm ``byte_bpe``.
    special_first : uint8[256]
        Bytes that leave a single text to the plain way (:func:`numba_nlp._fastcall.encode_one`).
    """

    def __init__(self, vocabulary: Vocabulary, special_first: NDArray[np.uint8]) -> None:
        metadata = vocabulary.metadata
        self.pattern: str = metadata["pattern"]
        self.ordered = _merges_are_ordered(vocabulary)
        self.uses_fast_calls = _fastcall.AVAILABLE
        self._n_merges = int(vocabulary["merge_symbols"].size)
        self._piece_offsets = vocabulary["piece_offsets"]
        self._add_prefix_space = bool(metadata["add_prefix_space"])
        self._trim = TRIM_NONE
        if metadata["trim_offsets"]:
            self._trim = TRIM_KEEP_FIRST if metadata.get("trim_keeps_prefix_space", False) else TRIM_ALL
        self._special_first = special_first
        flags = np.array([metadata["whole_pieces"], self.ordered, metadata["unique_products"]], np.int64)
        flags.flags.writeable = False
        arrays = {name: vocabulary[name] for name in ByteBpeTables._fields[:-1]}
        arrays["class_index"] = _for_any_bytes(arrays["class_index"])
        self._tables = ByteBpeTables(**arrays, flags=flags)
        self._splitter: Callable[[str], NDArray[np.int64]] | None = None
        self._rows_pattern = self.pattern
        if self.pattern == "regex":
            from numba_nlp.regex_split import RegexSplitter

            self._splitter = RegexSplitter(
                metadata["pattern_regex"],
                vocabulary["class_index"],
                vocabulary["class_blocks"],
                metadata["reference"],
            ).piece_ends
            self._rows_pattern = "whole"
        self._contexts: list[_Context] = []

    # --- single texts ------------------------------------------------------------------------------------------

    def single_call(self) -> tuple[Callable[[int, Any], NDArray[np.int32] | None], int, Any] | None:
        """Function, control-block address and owner for single texts, or None where only the plain way is right."""
        if not self.uses_fast_calls or self._splitter is not None or self._add_prefix_space:
            return None
        context = self._new_context()
        assert context.control is not None
        return _fastcall.encode_one.call, context.control.address, context

    # --- memory ------------------------------------------------------------------------------------------------

    def kernel_memory(self, capacity: int) -> tuple[ByteBpeTables, WordCache, Scratch]:
        """The tables, and a new cache and scratch (:meth:`numba_nlp.tokenizer.Tokenizer.kernel_memory`)."""
        return self._tables, new_word_cache(), new_scratch(self._n_merges, self.ordered, capacity)

    def _new_context(self) -> _Context:
        cache = new_word_cache()
        scratch = new_scratch(self._n_merges, self.ordered, KEPT_CAPACITY)
        control = None
        if self.uses_fast_calls:
            control = _fastcall.ControlBlock(self._rows_pattern, self._tables, cache, scratch, self._special_first)
        return _Context(cache, scratch, control)

    def _encode_block(
        self,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Ids and offsets of contiguous segments, with the memory of this thread."""
        # list.pop and append are atomic, so two threads never share a context
        try:
            context = self._contexts.pop()
        except IndexError:
            context = self._new_context()
        offsets = np.zeros(starts.size + 1, np.int64)
        values, filled = np.empty(0, np.int32), 0
        done = np.cumsum(ends - starts)
        total = int(done[-1]) if done.size else 0
        first = 0
        while first < starts.size:
            # The first chunk goes to a buffer and tells how many ids to expect; the others go where they stay. One
            # array for the worst case, an id a byte, would be new memory in every call: a sixth of the time.
            before = int(done[first - 1]) if first else 0
            last = max(int(np.searchsorted(done, before + CHUNK_BYTES, side="right")), first + 1)
            part = fixed[first:last] if fixed.size else fixed
            n_bytes = int(done[last - 1]) - before
            worst = n_bytes + part.size + SPARE_IDS
            fits = filled + worst <= values.size
            target = values[filled:] if fits else context.buffer(worst)
            n = self._encode_chunk(context, data, starts[first:last], ends[first:last], part, target, offsets[first:])
            if not fits:
                if filled + n > values.size:
                    ids_left = n * (total - before - n_bytes) // max(n_bytes, 1)
                    room = ids_left + ids_left // 32 + min(total - before - n_bytes, CHUNK_BYTES) + SPARE_IDS
                    values = _grown(values, filled, filled + n + room)
                values[filled : filled + n] = target[:n]
            offsets[first + 1 : last + 1] += filled
            filled += n
            first = last
        self._contexts.append(context)
        # A little too much memory stays: giving back the end of an array makes the allocator ask the system for new
        # memory again in the next call.
        return values[:filled] if values.size - filled <= values.size // 8 else values[:filled].copy(), offsets

    def _encode_chunk(
        self,
        context: _Context,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> int:
        """Write ids and offsets of segments; gives the number of ids."""
        row, out = 0, 0
        while True:
            end = self._call(context, data, starts, ends, fixed, row, ids, offsets, out)
            if end >= 0:
                break
            if -end > CAPACITY_LIMIT:
                raise ValueError(
                    f"a pre-token of {-end} bytes is longer than the {CAPACITY_LIMIT} bytes that can be merged; "
                    "split the text into shorter rows"
                )
            row, out = int(context.scratch.progress[0]), int(context.scratch.progress[1])
            capacity = max(-end, 2 * context.scratch.list_symbols.size)
            context.use_scratch(new_scratch(self._n_merges, self.ordered, min(capacity, CAPACITY_LIMIT)))
        if context.scratch.list_symbols.size > KEPT_CAPACITY:
            context.use_scratch(new_scratch(self._n_merges, self.ordered, KEPT_CAPACITY))
        return end

    def _call(
        self,
        context: _Context,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        first: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        out: int,
    ) -> int:
        if context.control is None:
            return int(
                ENCODE_ROWS[self._rows_pattern](
                    self._tables, context.cache, data, starts, ends, fixed, first, starts.size, context.scratch, ids,
                    offsets, out,
                )
            )  # fmt: skip
        # an empty array at address 0 makes positions addresses
        data_address, data_size = (0, 0) if data is None else (data.ctypes.data, data.size)
        return context.control.call_rows(  # type: ignore[no-any-return]
            context.control.address, data_address, data_size, starts.ctypes.data, ends.ctypes.data,
            fixed.ctypes.data, fixed.size, first, starts.size, ids.ctypes.data, offsets.ctypes.data, out,
        )  # fmt: skip

    # --- batches -----------------------------------------------------------------------------------------------

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments | None,
        unit: str | None,
        num_threads: int,
    ) -> Encoded:
        """Encode rows.

        Parameters
        ----------
        data : uint8[n]
            Valid UTF-8.
        starts, ends : int64[rows]
            Byte range of each row.
        segments : Segments or None
            The rows cut into segments; None: each row is one text.
        unit : {"char", "byte"} or None
            Unit of the spans; None for none.
        num_threads : int

        Returns
        -------
        Encoded
        """
        first_of_row = None if segments is None else segments.first_of_row
        source, source_starts, source_ends, fixed = data, starts, ends, _NO_IDS
        if segments is not None:
            source_starts, source_ends, fixed = segments.starts, segments.ends, segments.fixed
        if self._add_prefix_space:
            source, source_starts, source_ends = _with_prefix_spaces(source, source_starts, source_ends, fixed)
        if self._splitter is not None:
            source_starts, source_ends, fixed, first_piece = _cut(
                self._splitter, source, source_starts, source_ends, fixed, first_of_row
            )
            first_of_row = first_piece if first_of_row is None else first_piece[first_of_row]

        def encode_rows(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            if first_of_row is None:
                return self._encode_block(source, source_starts[first:last], source_ends[first:last], fixed)
            bounds = first_of_row[first : last + 1]
            part = slice(bounds[0], bounds[-1])
            part_fixed = fixed[part] if fixed.size else fixed
            ids, offsets = self._encode_block(source, source_starts[part], source_ends[part], part_fixed)
            return ids, offsets[bounds - bounds[0]]

        def spans_of_rows(
            first: int, last: int, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]
        ) -> None:
            self._fill_spans(
                data, starts[first:last], ends[first:last], segments, first, last, ids, offsets, unit, *spans
            )

        return _in_blocks(starts, ends, num_threads, encode_rows, None if unit is None else spans_of_rows)

    def encode_strings(self, items: tuple[Any, ...], watched: bytes, num_threads: int) -> Encoded | None:
        """Encode ``str`` objects where they lie, each as one text, or return None for the general way to decide.

        Parameters
        ----------
        items : tuple
        watched : bytes
            Bytes that a special token may start with; a text that holds one is left to the general way.
        num_threads : int
        """
        if not self.uses_fast_calls or self._splitter is not None or self._add_prefix_space or len(watched) > 4:
            return None
        places = _fastcall.locate_strings(items, watched)
        if places is None:
            return None
        starts, ends = places

        def encode_rows(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
            return self._encode_block(None, starts[first:last], ends[first:last], _NO_IDS)

        return _in_blocks(starts, ends, num_threads, encode_rows, None)

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
            seg_starts, seg_ends, seg_fixed, first_of_row = _NO_PLACES, _NO_PLACES, _NO_IDS, _NO_PLACES
        else:
            seg_starts, seg_ends, seg_fixed = segments.starts, segments.ends, segments.fixed
            first_of_row = segments.first_of_row[first_row : last_row + 1]
        where = np.zeros(2, np.int64)
        status = fill_spans(
            self._piece_offsets, data, starts, ends, seg_starts, seg_ends, seg_fixed, first_of_row, ids, offsets,
            UNIT_BYTE if unit == "byte" else UNIT_CHAR, int(self._add_prefix_space), self._trim, span_starts,
            span_ends, where,
        )  # fmt: skip
        if status < 0:
            problem = "an unknown id" if status == STATUS_UNKNOWN_ID else "ids that do not tile the text"
            raise RuntimeError(f"spans of row {first_row + where[0]}: {problem}; please report this with the text")


def _in_blocks(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    num_threads: int,
    encode_rows: Callable[[int, int], tuple[NDArray[np.int32], NDArray[np.int64]]],
    fill_spans_of: Callable[..., None] | None,
) -> Encoded:
    """Encode blocks of rows on threads and join what they give.

    Parameters
    ----------
    starts, ends : int64[rows]
        Byte range of each row.
    num_threads : int
    encode_rows : callable
        ``(first row, last row) -> ids, offsets`` of a block.
    fill_spans_of : callable or None
        ``(first row, last row, ids, offsets, starts, ends)`` writes the spans of a block; None: no spans.
    """
    n_rows = starts.size
    bounds = _row_blocks(starts, ends, num_threads)
    if len(bounds) == 2 and fill_spans_of is None:
        return Encoded(*encode_rows(0, n_rows), None, None)
    blocks = list(pairwise(bounds))
    executor = ThreadPoolExecutor(num_threads) if len(blocks) > 1 else None
    run: Callable[..., Any] = map if executor is None else executor.map
    try:
        parts = list(run(lambda block: encode_rows(*block), blocks))
        places = np.concatenate(([0], np.cumsum([part[0].size for part in parts])))
        total = int(places[-1])
        values = parts[0][0] if len(parts) == 1 else np.empty(total, np.int32)
        offsets = np.zeros(n_rows + 1, np.int64)
        span_starts = np.empty(total, np.int64) if fill_spans_of is not None else None
        span_ends = np.empty(total, np.int64) if fill_spans_of is not None else None

        def finish(number: int) -> None:
            (first, last), (ids, block_offsets), place = blocks[number], parts[number], places[number]
            if len(parts) > 1:
                values[place : place + ids.size] = ids
            offsets[first + 1 : last + 1] = block_offsets[1:] + place
            if fill_spans_of is not None and span_starts is not None and span_ends is not None:
                there = slice(place, place + ids.size)
                fill_spans_of(first, last, ids, block_offsets, span_starts[there], span_ends[there])

        list(run(finish, range(len(parts))))
    finally:
        if executor is not None:
            executor.shutdown()
    return Encoded(values, offsets, span_starts, span_ends)


def _grown(values: NDArray[np.int32], filled: int, size: int) -> NDArray[np.int32]:
    """An array of ``size`` ids that begins with the ``filled`` ones there are."""
    grown = np.empty(size, np.int32)
    grown[:filled] = values[:filled]
    return grown


def _for_any_bytes(class_index: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """The class index with an entry for whatever four bytes can be taken for a character.

    Text is checked once; if somebody writes other bytes into its buffer afterwards, the ids are wrong, but no kernel
    looks outside a table.
    """
    return _frozen(np.concatenate((class_index, np.repeat(class_index[-1:], (1 << 14) - class_index.size))))


def _merges_are_ordered(vocabulary: Vocabulary) -> bool:
    """Whether every merge comes after the merges that make its parts (then long pre-tokens merge in linear time)."""
    pairs, products = vocabulary["merge_pairs"], vocabulary["merge_symbols"]
    made_by = np.full(vocabulary["symbol_ids"].size, -1, np.int64)
    made_by[products] = np.arange(products.size)
    left = made_by[(pairs >> np.uint64(20)).astype(np.int64)]
    right = made_by[(pairs & np.uint64(0xFFFFF)).astype(np.int64)]
    return bool((np.maximum(left, right) < np.arange(pairs.size)).all())


def _row_blocks(starts: NDArray[np.int64], ends: NDArray[np.int64], num_threads: int) -> list[int]:
    """Bounds of contiguous blocks of rows of about equal bytes."""
    n_rows = starts.size
    if num_threads == 1 or n_rows < 2:
        return [0, n_rows]
    done = np.cumsum(ends - starts)
    total = int(done[-1])
    n_blocks = min(num_threads * BLOCKS_PER_THREAD, total // BYTES_PER_THREAD, n_rows)
    if n_blocks < 2:
        return [0, n_rows]
    inner = np.searchsorted(done, np.arange(1, n_blocks) * (total / n_blocks), side="left") + 1
    bounds: Sequence[int] = np.unique(np.concatenate(([0], np.minimum(inner, n_rows), [n_rows]))).tolist()
    return list(bounds)


def _with_prefix_spaces(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], fixed: NDArray[np.int32]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The same segments with the space that ``add_prefix_space`` puts before each text."""
    room = int(np.maximum(ends - starts, 0).sum()) + starts.size
    out = np.empty(room, np.uint8)
    out_starts, out_ends = np.empty_like(starts), np.empty_like(ends)
    prefix_spaces(data, starts, ends, fixed, out, out_starts, out_ends)
    return _frozen(out), _frozen(out_starts), _frozen(out_ends)


def _cut(
    piece_ends: Callable[[str], NDArray[np.int64]],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    fixed: NDArray[np.int32],
    first_of_row: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Cut the texts among segments into pre-tokens by a regular expression.

    Raises
    ------
    UnsupportedFeatureError
        Names the row whose text the expression cannot cut as the reference does.

    Returns
    -------
    starts, ends, fixed, first_piece : int64[m], int64[m], int32[m], int64[segments + 1]
        Pre-tokens and given ids, and where those of each segment begin.
    """
    all_starts: list[NDArray[np.int64]] = []
    all_ends: list[NDArray[np.int64]] = []
    all_fixed: list[NDArray[np.int32]] = []
    first_piece = np.zeros(starts.size + 1, np.int64)
    for segment in range(starts.size):
        start, end = int(starts[segment]), int(ends[segment])
        given = int(fixed[segment]) if fixed.size else -1
        if given >= 0:
            cuts = np.zeros(2, np.int64)
        else:
            try:
                cuts = np.concatenate(([0], piece_ends(data[start:end].tobytes().decode()))) + start
            except UnsupportedFeatureError as error:
                row = segment if first_of_row is None else int(np.searchsorted(first_of_row, segment, "right")) - 1
                raise UnsupportedFeatureError(f"row {row}: {error}") from error
        all_starts.append(cuts[:-1])
        all_ends.append(cuts[1:])
        all_fixed.append(np.full(cuts.size - 1, given, np.int32))
        first_piece[segment + 1] = first_piece[segment] + cuts.size - 1
    if not all_starts:
        return _NO_PLACES, _NO_PLACES, _NO_IDS, first_piece
    parts = np.concatenate(all_starts), np.concatenate(all_ends), np.concatenate(all_fixed)
    return _frozen(parts[0]), _frozen(parts[1]), _frozen(parts[2]), first_piece
