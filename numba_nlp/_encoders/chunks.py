"""Rows in chunks on threads: each chunk goes to its place in one result, in order, without a copy of the whole.

Where the ids of a chunk go is known once all chunks before it are done. A chunk that is the next to be placed when it
is begun is encoded right there; another one is encoded into the buffer of its thread, and copied while it is still in
the processor's cache. Threads take the chunks in order, so few of them ever wait to be placed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import Encoded

__all__ = ["SPARE_IDS", "Worker", "encode_in_chunks"]

#: Below this many bytes a thread costs more than it brings.
BYTES_PER_THREAD = 1 << 16
#: Chunks per thread of a short text: a thread that is held up leaves its chunks to the others.
CHUNKS_PER_THREAD = 4
#: Most bytes of text in a chunk, if its rows are not longer.
CHUNK_BYTES = 1 << 19
#: Ids that kernels may write beyond the last one.
SPARE_IDS = 4


class Worker(NamedTuple):
    """What one thread does.

    Parameters
    ----------
    buffer : callable
        ``n -> int32[>= n]``: memory of the thread for the ids of one chunk.
    encode : callable
        ``(first row, last row, ids, offsets) -> number of ids``: writes the ids of the rows into ``ids``, which has
        room for the worst case, and where each of them ends, counted from the first, into ``offsets[1:]``.
    close : callable
        Gives the memory back.
    """

    buffer: Callable[[int], NDArray[np.int32]]
    encode: Callable[[int, int, NDArray[np.int32], NDArray[np.int64]], int]
    close: Callable[[], None]


class _Chunk(NamedTuple):
    """A chunk that is encoded."""

    first: int
    last: int
    ids: NDArray[np.int32] | None  # None: they lie where they belong
    n_ids: int


class _Result:
    """The arrays that all chunks go to."""

    def __init__(self, sizes: NDArray[np.int64], with_spans: bool, ids_per_byte: float) -> None:
        self.done = np.cumsum(sizes)
        self.total = int(self.done[-1]) if sizes.size else 0
        self.offsets = np.zeros(sizes.size + 1, np.int64)
        room = self._room(self.total, ids_per_byte) if ids_per_byte else 0
        self.arrays: list[NDArray[Any]] = [np.empty(room, np.int32)]
        if with_spans:
            self.arrays += [np.empty(room, np.int64), np.empty(room, np.int64)]
        self.filled = 0
        self._next_row = 0
        self._waiting: dict[int, _Chunk] = {}
        self._finishing = 0
        self._changed = threading.Condition()

    def place_of(self, first: int, worst: int) -> int | None:
        """Where the ids of the chunk from this row on go, when that is known and there is room for ``worst``."""
        with self._changed:
            known = first == self._next_row and self.filled + worst <= self.arrays[0].size
            return self.filled if known else None

    def add(self, chunk: _Chunk) -> list[tuple[_Chunk, int]]:
        """Take a chunk; gives the chunks that can be finished now, each with its place.

        Whoever gets some calls :meth:`finished` when they are done.
        """
        with self._changed:
            if chunk.first != self._next_row:
                kept = None if chunk.ids is None else chunk.ids.copy()
                self._waiting[chunk.first] = chunk._replace(ids=kept)
                return []
            placed = []
            next_chunk: _Chunk | None = chunk
            while next_chunk is not None:
                placed.append((next_chunk, self.filled))
                self.filled += next_chunk.n_ids
                self._next_row = next_chunk.last
                next_chunk = self._waiting.pop(self._next_row, None)
            if self.filled > self.arrays[0].size:
                # nobody may write into the old arrays meanwhile
                self._changed.wait_for(lambda: self._finishing == 0)
                self._grow(placed[0][1])
            self._finishing += 1
            return placed

    def finished(self) -> None:
        with self._changed:
            self._finishing -= 1
            self._changed.notify_all()

    @staticmethod
    def _room(left: int, ids_per_byte: float) -> int:
        """Ids to make room for when ``left`` bytes are to be encoded.

        The worst case, an id a byte, would be new memory from the system in every call: a sixth of the time.
        """
        expected = int(left * ids_per_byte)
        return expected + expected // 32 + min(left, CHUNK_BYTES) + SPARE_IDS

    def _grow(self, kept: int) -> None:
        """Make room for what is expected from what there is."""
        encoded = int(self.done[self._next_row - 1])
        size = self.filled + self._room(self.total - encoded, self.filled / max(encoded, 1))
        for number, array in enumerate(self.arrays):
            grown = np.empty(size, array.dtype)
            grown[:kept] = array[:kept]
            self.arrays[number] = grown

    def trimmed(self) -> list[NDArray[Any]]:
        """The arrays, without what was not needed.

        Up to half of the memory may stay unused: giving back the end of an array makes the allocator ask the system
        for new memory again in the next call.
        """
        spare = self.arrays[0].size - self.filled
        views = [array[: self.filled] for array in self.arrays]
        return views if 2 * spare <= self.arrays[0].size else [view.copy() for view in views]


def encode_in_chunks(
    sizes: NDArray[np.int64],
    most_ids: Callable[[int, int], int],
    num_threads: int,
    new_worker: Callable[[], Worker],
    fill_spans: Callable[..., None] | None,
    ids_per_byte: float,
) -> Encoded:
    """Encode rows on threads.

    Parameters
    ----------
    sizes : int64[rows]
        Bytes of each row.
    most_ids : callable
        ``(first row, last row) -> most ids`` that the rows can have.
    num_threads : int
    new_worker : callable
        Called once in each thread.
    fill_spans : callable or None
        ``(first row, last row, ids, offsets, starts, ends)`` writes the spans of the ids of some rows, with their
        offsets counted from the first of them; None: no spans.
    ids_per_byte : float
        What to expect, 0 if unknown; memory is made for it.

    Returns
    -------
    Encoded
    """
    result = _Result(sizes, fill_spans is not None, ids_per_byte)
    bounds = _chunk_bounds(result.done, num_threads)
    numbers = count()
    errors: list[BaseException] = []

    def work() -> None:
        worker = new_worker()
        while not errors:
            number = next(numbers)  # atomic, as it is one C function
            if number >= len(bounds) - 1:
                break
            _encode_chunk(result, worker, bounds[number], bounds[number + 1], most_ids, fill_spans)
        worker.close()

    def work_in_thread() -> None:
        try:
            work()
        except BaseException as error:  # raised again in the thread that called
            errors.append(error)

    helpers = [threading.Thread(target=work_in_thread) for _ in range(min(num_threads, len(bounds) - 1) - 1)]
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
    first: int,
    last: int,
    most_ids: Callable[[int, int], int],
    fill_spans: Callable[..., None] | None,
) -> None:
    worst = most_ids(first, last) + SPARE_IDS
    place = result.place_of(first, worst)
    target = worker.buffer(worst) if place is None else result.arrays[0][place:]
    # where the first row starts is the last end of the chunk before, which may be written at the same time
    n = worker.encode(first, last, target, result.offsets[first : last + 1])
    placed = result.add(_Chunk(first, last, target[:n] if place is None else None, n))
    if not placed:
        return
    try:
        for chunk, start in placed:
            ids = result.arrays[0][start : start + chunk.n_ids]
            if chunk.ids is not None:
                ids[:] = chunk.ids
            rows = slice(chunk.first + 1, chunk.last + 1)
            if fill_spans is not None:
                ends_of_rows = np.concatenate(([0], result.offsets[rows]))
                spans = (array[start : start + chunk.n_ids] for array in result.arrays[1:])
                fill_spans(chunk.first, chunk.last, ids, ends_of_rows, *spans)
            result.offsets[rows] += start
    finally:
        result.finished()


def _chunk_bounds(done: NDArray[np.int64], num_threads: int) -> list[int]:
    """First row of each chunk, and the number of rows; the rows of a chunk have about equal bytes.

    Parameters
    ----------
    done : int64[rows]
        Bytes of the rows up to and with each.
    num_threads : int
    """
    n_rows = done.size
    if n_rows == 0:
        return [0]
    total = int(done[-1])
    chunk = CHUNK_BYTES
    if num_threads > 1:
        chunk = min(chunk, max(BYTES_PER_THREAD, total // (num_threads * CHUNKS_PER_THREAD)))
    n_chunks = -(-total // chunk)
    inner = np.searchsorted(done, np.arange(1, n_chunks) * (total / max(n_chunks, 1)), side="left") + 1
    bounds = np.unique(np.concatenate(([0], np.minimum(inner, n_rows), [n_rows])))
    return [int(bound) for bound in bounds]
