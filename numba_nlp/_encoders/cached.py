"""Encoding through the word cache: what all families of tokenizers share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.chunks import CHUNK_BYTES, Worker, encode_in_chunks
from numba_nlp._encoders.encoder import Encoder
from numba_nlp._encoders.rows import NO_IDS, Encoded
from numba_nlp._encoders.sources import ArraySource, LeaveToGeneralWayError, StringSource
from numba_nlp._encoders.spanned import SpannedRows
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, WordCache, new_word_cache

if TYPE_CHECKING:
    from numba_nlp._encoders.single import SingleStages

__all__ = ["CachedEncoder", "Context", "SingleTexts"]


class SingleTexts(NamedTuple):
    """What encodes single texts.

    Attributes
    ----------
    context : Context
    stages : SingleStages or None
        To be told of what the plain way gave where compiled functions gave None.
    """

    context: Context
    stages: SingleStages | None


class Context(_fastcall.Holder):
    """What one thread works with; belongs to one call at a time."""

    __slots__ = ("_buffer", "cache", "control", "scratch")

    def __init__(self, cache: WordCache, scratch: Any, control: _fastcall.ControlBlock | None) -> None:
        self._buffer = np.empty(CHUNK_BYTES + SPARE_IDS, np.int32)
        self.cache = cache
        self.scratch = scratch
        self.control = control
        self.block = None if control is None else control.block

    def buffer(self, n: int) -> NDArray[np.int32]:
        """Room for ``n`` ids; kept unless it is for a chunk of unusual size."""
        return self._buffer if n <= self._buffer.size else np.empty(n, np.int32)

    def use_scratch(self, scratch: Any) -> None:
        self.scratch = scratch
        if self.control is not None:
            self.control.set_scratch(scratch)


class CachedEncoder(Encoder):
    """Encodes segments with one vocabulary through the word cache.

    A family says how chunks of text are cut and solved (:mod:`numba_nlp.kernels.segment.cached_rows`): by its
    :attr:`family` in compiled calls by address, by :attr:`encode_rows` through Numba's dispatcher.

    Parameters
    ----------
    tables : tuple of arrays
        Read-only.
    pattern : str
        Which of the family's row encoders.
    watched : Watched
        Tokens that leave a single text to the plain way (:mod:`numba_nlp._fastcall.single`).
    """

    #: Longest chunk, in bytes, that a thread keeps memory for between calls.
    kept_capacity: ClassVar[int] = 1 << 12
    #: Longest chunk, in bytes, that can be solved.
    capacity_limit: ClassVar[int]
    #: Most ids that a byte of text can make.
    ids_per_byte: int = 1
    #: Table that makes ids of what the kernels give, and what of it leaves a single text to the plain way (or -1).
    id_table: NDArray[np.int32] | None = None
    left_alone: int = -1

    def __init__(self, tables: Any, pattern: str, watched: _fastcall.Watched) -> None:
        self.tables = tables
        self.uses_fast_calls = _fastcall.AVAILABLE
        self._pattern = pattern
        self._watched = watched
        self._contexts: list[Context] = []
        # of the last batch: how much memory to make for the next one
        self._ids_of_a_byte = 0.0
        self._ids_per_row = 0.0
        self._rows_of_last = 0

    # --- what a family brings ------------------------------------------------------------------------------------

    @abstractmethod
    def family(self) -> _fastcall.Family:
        """The compiled functions of the family."""

    @abstractmethod
    def encode_rows(self, pattern: str) -> Any:
        """The row encoder of a pattern, called through Numba's dispatcher."""

    @abstractmethod
    def new_scratch(self, capacity: int) -> Any:
        """Working memory of one thread for chunks of up to ``capacity`` bytes."""

    def spanned_kernel(self) -> Any | None:
        """What encodes with spans at once (:mod:`numba_nlp.kernels.segment.spanned_families`), if there is such."""
        return None

    @cached_property
    def spanned(self) -> SpannedRows | None:
        """What encodes with spans at once, or None; made when spans are first asked for."""
        made = self.spanned_kernel()
        if made is None:
            return None
        return SpannedRows(
            made,
            self.tables,
            self.new_scratch,
            kept_capacity=self.kept_capacity,
            capacity_limit=self.capacity_limit,
            ids_per_byte=self.ids_per_byte,
        )

    def finish_chunk(
        self,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        ids: NDArray[np.int32],
        places: NDArray[np.int64],
    ) -> int:
        """Change the ids of a chunk of segments, where what the kernels give is not what texts are given.

        Parameters
        ----------
        data, starts, ends, fixed
            As of :meth:`encode_segments`.
        ids : int32[n]
            All ids of the chunk; changed.
        places : int64[segments + 1]
            Where the ids of each segment end, from the second entry on.

        Returns
        -------
        int
            Number of ids.
        """
        return ids.size

    def takes_strings(self) -> bool:
        """Whether a row that is one ``str`` is encoded from its own bytes alone."""
        return True

    def describe(self) -> dict[str, Any]:
        """What runs, as far as the family decides it."""
        return {"calls": "by address" if self.uses_fast_calls else "through Numba's dispatcher"}

    # --- single texts --------------------------------------------------------------------------------------------

    def single_stages(self, forms: Mapping[bytes, int]) -> SingleStages | None:
        """What a single text passes through before the row encoder; None for nothing.

        Parameters
        ----------
        forms : Mapping of bytes to int
            Added tokens that are looked for in normalized text, as they are there, and their ids.
        """
        return None

    def single_texts(self, forms: Mapping[bytes, int]) -> SingleTexts | None:
        """What encodes single texts, or None where only the plain way is right; ``forms`` as above."""
        if not self.uses_fast_calls:
            return None
        context = self._new_context()
        assert context.control is not None
        stages = self.single_stages(forms)
        if stages is not None:
            stages.put_before(context.control, self.ids_per_byte)
        elif not self.takes_strings():
            return None
        return SingleTexts(context, stages)

    # --- memory --------------------------------------------------------------------------------------------------

    def kernel_memory(self, capacity: int) -> tuple[Any, WordCache, Any]:
        """The tables, and a new cache and scratch (:meth:`numba_nlp.tokenizer.Tokenizer.kernel_memory`)."""
        return self.tables, new_word_cache(), self.new_scratch(capacity)

    def _new_context(self) -> Context:
        cache = new_word_cache()
        scratch = self.new_scratch(self.kept_capacity)
        control = None
        if self.uses_fast_calls:
            control = _fastcall.ControlBlock(
                self.family(), self._pattern, self.tables, cache, scratch, self._watched, self.ids_per_byte,
                self.id_table, self.left_alone,
            )  # fmt: skip
        return Context(cache, scratch, control)

    # --- batches -------------------------------------------------------------------------------------------------

    def encode_strings(self, items: tuple[Any, ...], watched: _fastcall.Watched, num_threads: int) -> Encoded | None:
        """Encode ``str`` objects where they lie, each as one text, or return None for the general way to decide.

        Parameters
        ----------
        items : tuple
        watched : Watched
            Tokens that leave a text to the general way.
        num_threads : int
        """
        if not self.uses_fast_calls or not self.takes_strings() or watched.first_bytes.size > 4:
            return None

        def encode(
            starts: NDArray[np.int64],
            ends: NDArray[np.int64],
            context: Context,
            ids: NDArray[np.int32],
            offsets: NDArray[np.int64],
        ) -> int:
            n = self._encode_chunk(context, None, starts, ends, NO_IDS, ids, offsets)
            return self.finish_chunk(None, starts, ends, NO_IDS, ids[:n], offsets)

        source = StringSource(items, watched, num_threads, self.ids_per_byte, encode)
        # rows of unknown size: no more than the last batch had, as its rows may have been much longer
        expected = int(self._ids_per_row * min(source.n_rows, self._rows_of_last) * 33 / 32)
        try:
            encoded = encode_in_chunks(source, num_threads, self._new_worker, None, expected)
        except LeaveToGeneralWayError:
            return None
        self._remember(encoded, source.n_bytes)
        return encoded

    def encode_segments(
        self,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        first_of_row: NDArray[np.int64] | None,
        sizes: NDArray[np.int64],
        num_threads: int,
        fill_spans: Callable[..., None] | None,
    ) -> Encoded:
        """Encode segments of rows on threads.

        Parameters
        ----------
        data : uint8[n] or None
            None: positions are addresses.
        starts, ends, fixed : int64[segments], int64[segments], int32[segments] or int32[0]
            Texts and given ids.
        first_of_row : int64[rows + 1] or None
            The segments of each row; None: one each.
        sizes : int64[rows]
            Bytes of each row, by which work is shared out.
        num_threads : int
        fill_spans : callable or None
            As of :func:`numba_nlp._encoders.chunks.encode_in_chunks`. With it :meth:`finish_chunk` is not called.
        """
        lengths = ends - starts
        if fixed.size:
            lengths = np.where(fixed >= 0, 0, lengths)
        done = np.concatenate(([0], np.cumsum(lengths)))

        def part_of(first: int, last: int) -> tuple[int, int]:
            return (first, last) if first_of_row is None else (int(first_of_row[first]), int(first_of_row[last]))

        def most_ids(first: int, last: int) -> int:
            start, stop = part_of(first, last)
            return int(done[stop] - done[start]) * self.ids_per_byte + (stop - start if fixed.size else 0)

        def encode(first: int, last: int, context: Context, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> int:
            start, stop = part_of(first, last)
            part = slice(start, stop)
            places = offsets if first_of_row is None else np.zeros(stop - start + 1, np.int64)
            given = fixed[part] if fixed.size else fixed
            n = self._encode_chunk(context, data, starts[part], ends[part], given, ids, places)
            if fill_spans is None:
                self.finish_chunk(data, starts[part], ends[part], given, ids[:n], places)
            if first_of_row is not None:
                offsets[1:] = places[first_of_row[first + 1 : last + 1] - start]
            return n

        source = ArraySource(sizes, num_threads, most_ids, encode)
        expected = int(self._ids_of_a_byte * source.n_bytes * 33 / 32)
        encoded = encode_in_chunks(source, num_threads, self._new_worker, fill_spans, expected)
        self._remember(encoded, source.n_bytes)
        return encoded

    def _remember(self, encoded: Encoded, n_bytes: int) -> None:
        """Note how many ids the batch had, for the memory of the next one."""
        if n_bytes:
            self._ids_of_a_byte = encoded.values.size / n_bytes
            self._rows_of_last = encoded.offsets.size - 1
            self._ids_per_row = encoded.values.size / self._rows_of_last

    def _new_worker(self) -> Worker:
        context = self._take_context()
        return Worker(context, context.buffer, lambda: self._contexts.append(context))

    def _take_context(self) -> Context:
        # list.pop and append are atomic, so two threads never share a context
        try:
            return self._contexts.pop()
        except IndexError:
            return self._new_context()

    def _encode_chunk(
        self,
        context: Context,
        data: NDArray[np.uint8] | None,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        fixed: NDArray[np.int32],
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
    ) -> int:
        """Write ids and offsets of segments; gives the number of ids."""
        row, out, capacity = 0, 0, self.kept_capacity
        while True:
            end = self._call(context, data, starts, ends, fixed, row, ids, offsets, out)
            if end >= 0:
                break
            if -end > self.capacity_limit:
                raise ValueError(
                    f"a pre-token of {-end} bytes is longer than the {self.capacity_limit} bytes that can be solved; "
                    "split the text into shorter rows"
                )
            row, out = int(context.scratch.progress[0]), int(context.scratch.progress[1])
            capacity = min(max(-end, 2 * capacity), self.capacity_limit)
            context.use_scratch(self.new_scratch(capacity))
        if capacity > self.kept_capacity:
            context.use_scratch(self.new_scratch(self.kept_capacity))
        return end

    def _call(
        self,
        context: Context,
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
                self.encode_rows(self._pattern)(
                    self.tables, context.cache, data, starts, ends, fixed, first, starts.size, context.scratch, ids,
                    offsets, out,
                )
            )  # fmt: skip
        # an empty array at address 0 makes positions addresses
        data_address, data_size = (0, 0) if data is None else (data.ctypes.data, data.size)
        return context.control.call_rows(
            context.control.address, data_address, data_size, starts.ctypes.data, ends.ctypes.data,
            fixed.ctypes.data, fixed.size, first, starts.size, ids.ctypes.data, ids.size, offsets.ctypes.data, out,
        )  # fmt: skip
