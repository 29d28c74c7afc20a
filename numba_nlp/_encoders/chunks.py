"""Rows in chunks on threads: each chunk goes to its place in one result, in order, without a copy of the whole.

Where the ids of a chunk go is known once all chunks before it are done. A chunk that is the next to be placed when it
is begun is encoded right there; another one is encoded into the buffer of its thread, and copied while it is still in
the processor's cache. Threads take the chunks in order, so few of them ever wait to be placed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import Encoded
from numba_nlp.kernels.tables.word_cache import SPARE_IDS

__all__ = ["CHUNK_BYTES", "Chunk", "Source", "Worker", "encode_in_chunks"]

#: Most bytes of text in a chunk, if its rows are not longer.
CHUNK_BYTES = 1 << 19
#: Seconds between two looks whether others have written what they write, which takes them less than a millisecond.
_PAUSE = 1e-4


class Chunk(NamedTuple):
    """Some rows.

    Parameters
    ----------
    first, last : int
        The rows.
    most_ids : int
        No more than these can come of them.
    done : float
        Share of all work that is done with this chunk, between 0 and 1.
    encode : callable
        ``(context, ids, offsets) -> number of ids``: writes the ids of the rows into ``ids``, which has room for the
        worst case, and where each of them ends, counted from the first, into ``offsets[1:]``. When spans are encoded
        with the ids, ``(context, ids, offsets, starts, ends)``, with two more arrays as long as ``ids``.
    """

    first: int
    last: int
    most_ids: int
    done: float
    encode: Callable[..., int]


class Source(Protocol):
    """Where chunks come from."""

    n_rows: int

    def threads(self, num_threads: int) -> int:
        """How many of the threads are worth their while."""

    def next_chunk(self) -> Chunk | None:
        """The chunk behind the one before, or None when there are no more; called by all threads."""


class Worker(NamedTuple):
    """What one thread works with.

    Parameters
    ----------
    context : object
        Passed to ``Chunk.encode``.
    buffer : callable
        ``n -> int32[>= n]``: memory of the thread for the ids of one chunk.
    close : callable
        Gives the memory back.
    span_buffers : callable or None
        ``n -> (int64[>= n], int64[>= n])``: the same for spans, where they are encoded with the ids.
    """

    context: Any
    buffer: Callable[[int], NDArray[np.int32]]
    close: Callable[[], None]
    span_buffers: Callable[[int], tuple[NDArray[np.int64], NDArray[np.int64]]] | None = None


class _Encoded(NamedTuple):
    """A chunk that is encoded."""

    first: int
    last: int
    ids: NDArray[np.int32] | None  # None: they lie where they belong
    spans: tuple[NDArray[np.int64], ...]  # of the same ids, where they were encoded with them
    n_ids: int
    done: float


class _Result:
    """The arrays that all chunks go to."""

    def __init__(self, n_rows: int, with_spans: bool, expected: int, spare: int) -> None:
        self.offsets = np.zeros(n_rows + 1, np.int64)
        room = expected + spare if expected else 0
        self._spare = spare
        self._with_spans = with_spans
        self.arrays = self._new_arrays(room)
        self.filled = 0
        self._next_row = 0
        self._waiting: dict[int, _Encoded] = {}
        self._finishing = 0
        # no Condition: its methods are Python's, and an interrupt within one may leave the lock held
        self._lock = threading.Lock()

    def _new_arrays(self, size: int) -> list[NDArray[Any]]:
        """Memory for ids, and for starts and ends.

        In one piece: glibc gives memory of freed arrays back to the system once it is more than twice the largest
        freed piece, and new memory from the system costs as much as the spans themselves.
        """
        if not self._with_spans:
            return [np.empty(size, np.int32)]
        block = np.empty(5 * size, np.int32)
        return [
            block[4 * size :], block[: 2 * size].view(np.int64), block[2 * size : 4 * size].view(np.int64)
        ]  # fmt: skip

    def place_of(self, chunk: Chunk) -> int | None:
        """Where the ids of a chunk go, when that is known and there is room for the worst case."""
        with self._lock:
            known = chunk.first == self._next_row and self.filled + chunk.most_ids + SPARE_IDS <= self.arrays[0].size
            return self.filled if known else None

    def add(self, chunk: _Encoded) -> list[tuple[_Encoded, int]] | None:
        """Take a chunk; gives the chunks that can be finished now, each with its place.

        Whoever gets some calls :meth:`finished` when they are done. None: there is no room, and others still write into
        the arrays, so that they cannot be copied; nothing was taken. Nobody else gets chunks before this one is taken,
        so that those who write become fewer.
        """
        with self._lock:
            if chunk.first != self._next_row:
                kept = None if chunk.ids is None else chunk.ids.copy()
                spans = tuple(array.copy() for array in chunk.spans)
                self._waiting[chunk.first] = chunk._replace(ids=kept, spans=spans)
                return []
            placed = []
            filled, last = self.filled, chunk
            next_chunk: _Encoded | None = chunk
            while next_chunk is not None:
                last = next_chunk
                placed.append((last, filled))
                filled += last.n_ids
                next_chunk = self._waiting.get(last.last)
            if filled > self.arrays[0].size:
                if self._finishing:
                    return None
                self._grow(filled, last.done)
            for other, _ in placed[1:]:
                del self._waiting[other.first]
            self.filled, self._next_row = filled, last.last
            self._finishing += 1
            return placed

    def finished(self) -> None:
        with self._lock:
            self._finishing -= 1

    def _grow(self, filled: int, done: float) -> None:
        """Make room for what is expected where so many ids come from so much of the work.

        The worst case, an id a byte, would be new memory from the system in every call: a sixth of the time. What the
        first rows are like may mislead, so the arrays become at most eight times as long at once.
        """
        expected = int(filled * (1 + 1 / 32) / done) if done > 0 else filled
        size = max(min(expected, 8 * filled), filled) + (self._spare if done < 1 else 0) + SPARE_IDS
        arrays = self._new_arrays(size)
        for grown, array in zip(arrays, self.arrays, strict=True):
            grown[: array.size] = array
        self.arrays = arrays

    def trimmed(self) -> list[NDArray[Any]]:
        """The arrays, without what was not needed.

        Up to half of the memory may stay unused: giving back the end of an array makes the allocator ask the system
        for new memory again in the next call.
        """
        spare = self.arrays[0].size - self.filled
        views = [array[: self.filled] for array in self.arrays]
        return views if 2 * spare <= self.arrays[0].size else [view.copy() for view in views]


def encode_in_chunks(
    source: Source,
    num_threads: int,
    new_worker: Callable[[], Worker],
    fill_spans: Callable[..., None] | None,
    expected: int,
    spans_with_ids: bool = False,
    spare: int = CHUNK_BYTES,
) -> Encoded:
    """Encode rows on threads.

    Parameters
    ----------
    source : Source
    num_threads : int
    new_worker : callable
        Called once in each thread.
    fill_spans : callable or None
        ``(first row, last row, ids, offsets, starts, ends)`` writes the spans of the ids of some rows, with their
        offsets counted from the first of them; None: no spans.
    expected : int
        Ids to make memory for, 0 if unknown.
    spans_with_ids : bool
        Whether the chunks encode ids and spans at once; then there is no ``fill_spans``.
    spare : int
        Ids to make memory for beyond those expected: what most chunks may need at most.

    Returns
    -------
    Encoded
    """
    result = _Result(source.n_rows, spans_with_ids or fill_spans is not None, expected, spare)
    errors: list[BaseException] = []

    def work() -> None:
        worker = new_worker()
        try:
            while not errors:
                chunk = source.next_chunk()
                if chunk is None:
                    break
                _encode_chunk(result, worker, chunk, fill_spans, errors)
        finally:
            worker.close()

    def work_in_thread() -> None:
        try:
            work()
        except BaseException as error:  # raised again in the thread that called
            errors.append(error)

    helpers = [threading.Thread(target=work_in_thread) for _ in range(source.threads(num_threads) - 1)]
    for helper in helpers:
        helper.start()
    try:
        work()
    except BaseException as error:
        errors.append(error)
        raise
    finally:
        for helper in helpers:
            helper.join()
    if errors:
        raise errors[0]
    values, *spans = result.trimmed()
    starts, ends = spans or (None, None)
    return Encoded(values, result.offsets, starts, ends)


def _encode_chunk(
    result: _Result,
    worker: Worker,
    chunk: Chunk,
    fill_spans: Callable[..., None] | None,
    errors: list[BaseException],
) -> None:
    place = result.place_of(chunk)
    target = worker.buffer(chunk.most_ids + SPARE_IDS) if place is None else result.arrays[0][place:]
    # where the first row starts is the last end of the chunk before, which may be written at the same time
    spans: tuple[NDArray[np.int64], ...] = ()
    if worker.span_buffers is not None:
        if place is None:
            spans = worker.span_buffers(chunk.most_ids + SPARE_IDS)
        else:
            spans = tuple(array[place:] for array in result.arrays[1:])
    n = chunk.encode(worker.context, target, result.offsets[chunk.first : chunk.last + 1], *spans)
    ids = target[:n] if place is None else None
    spans = tuple(array[:n] for array in spans) if place is None else ()
    encoded_chunk = _Encoded(chunk.first, chunk.last, ids, spans, n, chunk.done)
    while (placed := result.add(encoded_chunk)) is None:
        if errors:  # whoever failed may never be done with what it writes
            return
        time.sleep(_PAUSE)
    if not placed:
        return
    try:
        for encoded, start in placed:
            there = result.arrays[0][start : start + encoded.n_ids]
            if encoded.ids is not None:
                there[:] = encoded.ids
                for array, span in zip(result.arrays[1:], encoded.spans, strict=False):
                    array[start : start + encoded.n_ids] = span
            rows = slice(encoded.first + 1, encoded.last + 1)
            if fill_spans is not None:
                ends_of_rows = np.concatenate(([0], result.offsets[rows]))
                views = (array[start : start + encoded.n_ids] for array in result.arrays[1:])
                fill_spans(encoded.first, encoded.last, there, ends_of_rows, *views)
            result.offsets[rows] += start
    finally:
        result.finished()
