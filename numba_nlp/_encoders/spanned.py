"""Ids and spans at once, by a word cache that holds both (:mod:`numba_nlp.kernels.segment.spanned_rows`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.chunks import Worker, encode_in_chunks
from numba_nlp._encoders.rows import Encoded, Segments
from numba_nlp._encoders.sources import ArraySource
from numba_nlp.kernels.segment.spanned_rows import place_segments
from numba_nlp.kernels.segment.spanned_rows_memory import new_span_memory
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, new_word_cache

__all__ = ["FillSpans", "SpanContext", "SpannedRows"]

#: Most bytes of text in a chunk, if its rows are not longer. With spans an id takes five times the memory.
SPANNED_BYTES = 1 << 18
#: ``(first row, last row, ids, offsets, starts, ends)`` writes the spans of some rows, which need not be all.
FillSpans = Callable[..., None]


class SpanContext:
    """What one thread works with; belongs to one call at a time, and to one unit of spans.

    Parameters
    ----------
    scratch : tuple of arrays
    capacity : int
        What it was made for.
    kept : object
        What addresses in the scratch belong to.
    """

    __slots__ = ("_ends", "_kept", "_starts", "buffer_", "cache", "memory", "scratch")

    def __init__(self, scratch: Any, capacity: int, kept: Any = None) -> None:
        self._kept = kept
        self.buffer_ = np.empty(SPANNED_BYTES + SPARE_IDS, np.int32)
        self._starts = np.empty(SPANNED_BYTES + SPARE_IDS, np.int64)
        self._ends = np.empty(SPANNED_BYTES + SPARE_IDS, np.int64)
        self.cache = new_word_cache()
        self.use_scratch(scratch, capacity)

    def buffer(self, n: int) -> NDArray[np.int32]:
        """Room for ``n`` ids; kept unless it is for a chunk of unusual size."""
        return self.buffer_ if n <= self.buffer_.size else np.empty(n, np.int32)

    def span_buffers(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same for spans."""
        if n <= self._starts.size:
            return self._starts, self._ends
        return np.empty(n, np.int64), np.empty(n, np.int64)

    def use_scratch(self, scratch: Any, capacity: int) -> None:
        self.scratch = scratch
        self.memory = new_span_memory(max(scratch.text.size, 2 * capacity + 64))


class SpannedRows:
    """Encodes segments of rows with spans; safe to use from several threads.

    Parameters
    ----------
    kernel : callable
        Made by :func:`numba_nlp.kernels.segment.spanned_rows.spanned_function`.
    tables : tuple of arrays
    new_scratch : callable
        ``capacity -> scratch`` of the family.
    kept_capacity, capacity_limit, ids_per_byte : int
        As of :class:`numba_nlp._encoders.cached.CachedEncoder`.
    """

    def __init__(
        self,
        kernel: Any,
        tables: Any,
        new_scratch: Callable[[int], Any],
        *,
        kept_capacity: int,
        capacity_limit: int,
        ids_per_byte: int,
    ) -> None:
        self._kernel = kernel
        self._tables = tables
        self._new_scratch = new_scratch
        self._kept_capacity = kept_capacity
        self._capacity_limit = capacity_limit
        self._ids_per_byte = ids_per_byte
        self._contexts: tuple[list[SpanContext], list[SpanContext]] = ([], [])
        self._ids_of_a_byte = 0.0

    def encode(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        segments: Segments,
        unit: str,
        num_threads: int,
        fill_spans: FillSpans,
        finish: Callable[..., Any] | None,
    ) -> Encoded:
        """Encode rows with spans.

        Parameters
        ----------
        data : uint8[n]
            Valid UTF-8.
        starts, ends : int64[rows]
        segments : Segments
            Of the rows.
        unit : {"char", "byte"}
        num_threads : int
        fill_spans : callable
            Writes spans of rows where they are not found here.
        finish : callable or None
            ``(first row, last row, ids, offsets)`` changes ids of rows that have their spans.
        """
        kind = UNIT_CHAR if unit == "char" else UNIT_BYTE
        first_of_row, fixed = segments.first_of_row, segments.fixed
        places = np.empty(segments.starts.size, np.int64)
        place_segments(data, starts, segments.starts, first_of_row, kind, places)
        lengths = np.where(fixed >= 0, 0, segments.ends - segments.starts) if fixed.size else ends - starts
        done = np.concatenate(([0], np.cumsum(lengths)))

        def most_ids(first: int, last: int) -> int:
            start, stop = int(first_of_row[first]), int(first_of_row[last])
            return int(done[stop] - done[start]) * self._ids_per_byte + stop - start

        def encode(
            first: int,
            last: int,
            context: SpanContext,
            ids: NDArray[np.int32],
            offsets: NDArray[np.int64],
            span_starts: NDArray[np.int64],
            span_ends: NDArray[np.int64],
        ) -> int:
            part = slice(int(first_of_row[first]), int(first_of_row[last]))
            of_segments = np.zeros(part.stop - part.start + 1, np.int64)
            left = np.zeros(part.stop - part.start, np.uint8)
            arrays = segments.starts[part], segments.ends[part], fixed[part], places[part]
            n = self._encode_part(context, data, arrays, kind, ids, of_segments, span_starts, span_ends, left)
            of_rows = first_of_row[first : last + 1] - part.start
            own = of_segments[of_rows]
            offsets[1:] = own[1:]
            if left.any():
                noted = np.concatenate(([0], np.cumsum(left)))[of_rows]
                for begin, stop in _runs(np.diff(noted) > 0):
                    there = slice(int(own[begin]), int(own[stop]))
                    fill_spans(
                        first + begin, first + stop, ids[there], own[begin : stop + 1] - own[begin],
                        span_starts[there], span_ends[there],
                    )  # fmt: skip
            if finish is not None:
                finish(first, last, ids[:n], own)
            return n

        source = ArraySource(ends - starts, num_threads, most_ids, encode, SPANNED_BYTES)
        expected = int(self._ids_of_a_byte * source.n_bytes * 33 / 32)
        kept = self._contexts[kind]

        def new_worker() -> Worker:
            try:
                context = kept.pop()  # atomic, and so is append
            except IndexError:
                context = self._new_context()
            return Worker(context, context.buffer, lambda: kept.append(context), context.span_buffers)

        encoded = encode_in_chunks(source, num_threads, new_worker, None, expected, True, SPANNED_BYTES)
        if source.n_bytes:
            self._ids_of_a_byte = encoded.values.size / source.n_bytes
        return encoded

    def _new_context(self) -> SpanContext:
        return SpanContext(self._new_scratch(self._kept_capacity), self._kept_capacity)

    def _refuse(self, n: int) -> NoReturn:
        """Say that a chunk, which would need a capacity of ``n``, cannot be solved."""
        raise ValueError(
            f"a pre-token of {n} bytes is longer than the {self._capacity_limit} bytes that can be solved; split the "
            "text into shorter rows"
        )

    def _encode_part(
        self,
        context: SpanContext,
        data: NDArray[np.uint8],
        segments: tuple[NDArray[Any], ...],
        unit: int,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        span_starts: NDArray[np.int64],
        span_ends: NDArray[np.int64],
        left: NDArray[np.uint8],
    ) -> int:
        """Write ids, offsets and spans of segments; gives the number of ids."""
        row, out, capacity = 0, 0, self._kept_capacity
        while True:
            end = int(
                self._kernel(
                    self._tables, context.cache, data, *segments, row, left.size, unit, context.scratch,
                    context.memory, ids, offsets, span_starts, span_ends, left, out,
                )
            )  # fmt: skip
            if end >= 0:
                break
            if -end > self._capacity_limit:
                self._refuse(-end)
            row, out = int(context.scratch.progress[0]), int(context.scratch.progress[1])
            capacity = min(max(-end, 2 * capacity), self._capacity_limit)
            context.use_scratch(self._new_scratch(capacity), capacity)
        if capacity > self._kept_capacity:
            context.use_scratch(self._new_scratch(self._kept_capacity), self._kept_capacity)
        return end


def _runs(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Begin and end of each run of rows that are marked."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marks, [False])).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
