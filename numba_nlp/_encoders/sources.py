"""Where chunks of rows come from: arrays of segments, or ``str`` objects as they lie in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp import _fastcall
from numba_nlp._encoders.chunks import CHUNK_BYTES, Chunk

__all__ = ["ArraySource", "LeaveToGeneralWayError", "StringSource"]

#: Below this many bytes a thread costs more than it brings.
BYTES_PER_THREAD = 1 << 16
#: Chunks per thread of a short text: a thread that is held up leaves its chunks to the others.
CHUNKS_PER_THREAD = 4
#: Rows that are looked at before anything is known of their size.
FIRST_ROWS = 256


class ArraySource:
    """Chunks of rows whose sizes are known.

    Parameters
    ----------
    sizes : int64[rows]
        Bytes of each row, by which work is shared out.
    num_threads : int
    most_ids : callable
        ``(first row, last row) -> most ids`` that the rows can have.
    encode : callable
        ``(first row, last row, context, ids, offsets) -> number of ids``, with two more arrays for spans that are
        encoded with the ids.
    chunk_bytes : int
        Most bytes of text in a chunk, if its rows are not longer.
    """

    def __init__(
        self,
        sizes: NDArray[np.int64],
        num_threads: int,
        most_ids: Callable[[int, int], int],
        encode: Callable[..., int],
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.n_rows = sizes.size
        self._chunk_bytes = chunk_bytes
        self._done = np.cumsum(sizes)
        self.n_bytes = int(self._done[-1]) if sizes.size else 0
        self._bounds = self._chunk_bounds(num_threads)
        self._numbers = count()
        self._most_ids = most_ids
        self._encode = encode

    def _chunk_bounds(self, num_threads: int) -> list[int]:
        """First row of each chunk, and the number of rows; the rows of a chunk have about equal bytes."""
        if self.n_rows == 0:
            return [0]
        chunk = self._chunk_bytes
        if num_threads > 1:
            chunk = min(chunk, max(BYTES_PER_THREAD, self.n_bytes // (num_threads * CHUNKS_PER_THREAD)))
        n_chunks = -(-self.n_bytes // chunk)
        inner = np.searchsorted(self._done, np.arange(1, n_chunks) * (self.n_bytes / max(n_chunks, 1))) + 1
        bounds = np.unique(np.concatenate(([0], np.minimum(inner, self.n_rows), [self.n_rows])))
        return [int(bound) for bound in bounds]

    def threads(self, num_threads: int) -> int:
        return max(min(num_threads, len(self._bounds) - 1), 1)

    def next_chunk(self) -> Chunk | None:
        number = next(self._numbers)  # atomic, as it is one C function
        if number >= len(self._bounds) - 1:
            return None
        first, last = self._bounds[number], self._bounds[number + 1]
        done = int(self._done[last - 1]) / self.n_bytes if self.n_bytes else 1.0

        def encode(context: Any, ids: NDArray[np.int32], offsets: NDArray[np.int64], *spans: NDArray[np.int64]) -> int:
            return self._encode(first, last, context, ids, offsets, *spans)

        return Chunk(first, last, self._most_ids(first, last), done, encode)


class LeaveToGeneralWayError(Exception):
    """An item is no ``str``, is not valid Unicode, or holds a special token."""


class StringSource:
    """Chunks of ``str`` objects, each located just before it is encoded: then it is in the processor's cache.

    Parameters
    ----------
    items : tuple
        Kept, and with it the texts, until all is encoded.
    watched : Watched
        Tokens that no text may hold.
    num_threads : int
    ids_per_byte : int
        Most ids that a byte can make.
    encode : callable
        ``(starts, ends, context, ids, offsets) -> number of ids`` of texts at addresses.
    """

    def __init__(
        self,
        items: tuple[Any, ...],
        watched: _fastcall.Watched,
        num_threads: int,
        ids_per_byte: int,
        encode: Callable[..., int],
    ) -> None:
        self.n_rows = len(items)
        self.n_bytes = 0
        self._items = items
        self._watched = watched
        # small enough for every thread to get some, as long as nobody knows how much there is
        self._limit = CHUNK_BYTES if num_threads == 1 else CHUNK_BYTES // 2
        self._ids_per_byte = ids_per_byte
        self._encode = encode
        self._next_row = 0
        self._lock = threading.Lock()
        self._first: Chunk | None = None

    def threads(self, num_threads: int) -> int:
        if num_threads == 1:
            return 1
        # with the first chunk at hand it is known about how many there are
        self._first = self._locate()
        left = self.n_rows - self._next_row
        return 1 if self._first is None else min(num_threads, 1 + -(-left // max(self._first.last, 1)))

    def next_chunk(self) -> Chunk | None:
        with self._lock:
            chunk, self._first = self._first, None
            return chunk or self._locate()

    def _locate(self) -> Chunk | None:
        first = self._next_row
        if first >= self.n_rows:
            return None
        guess = FIRST_ROWS
        if first:
            guess = int(self._limit * first / max(self.n_bytes, 1)) + 1
        guess = min(guess, self.n_rows - first)
        starts, ends = np.empty(guess, np.int64), np.empty(guess, np.int64)
        n = _fastcall.locate_strings(self._items, first, self._watched, self._limit, starts, ends)
        if n < 0:
            raise LeaveToGeneralWayError
        starts, ends = starts[:n], ends[:n]
        n_bytes = int(ends.sum() - starts.sum())
        self.n_bytes += n_bytes
        self._next_row = first + n

        def encode(context: Any, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> int:
            return self._encode(starts, ends, context, ids, offsets)

        return Chunk(first, first + n, n_bytes * self._ids_per_byte, (first + n) / self.n_rows, encode)
