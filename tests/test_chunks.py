"""Chunks on threads: whatever order they are done in, and however often the result grows, it is that of one thread."""

from __future__ import annotations

import random
import threading
import time
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from numba_nlp._encoders import chunks
from numba_nlp._encoders.chunks import Chunk, Worker, encode_in_chunks


class Numbers:
    """Rows of consecutive numbers; each chunk takes as long as it likes."""

    def __init__(self, seed: int) -> None:
        order = random.Random(seed)
        self.lengths = [order.choice((0, 1, 2, 9, 300)) for _ in range(order.randrange(1, 400))]
        self.n_rows = len(self.lengths)
        self.starts = [0, *accumulate(self.lengths)]
        self.pauses = [order.choice((0, 0, 0, 1e-5, 1e-4)) for _ in self.lengths]
        self.steps = [order.randrange(1, 9) for _ in self.lengths]
        self._next = 0
        self._lock = threading.Lock()

    def threads(self, num_threads: int) -> int:
        return num_threads

    def next_chunk(self) -> Chunk | None:
        with self._lock:
            first = self._next
            if first >= self.n_rows:
                return None
            last = self._next = min(first + self.steps[first], self.n_rows)

        def encode(_: Any, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> int:
            time.sleep(self.pauses[first])
            n = self.starts[last] - self.starts[first]
            ids[:n] = np.arange(self.starts[first], self.starts[last])
            offsets[1:] = np.array(self.starts[first + 1 : last + 1]) - self.starts[first]
            return n

        return Chunk(first, last, self.starts[last] - self.starts[first], last / self.n_rows, encode)


@pytest.mark.parametrize("with_spans", [False, True])
@pytest.mark.parametrize("expected", [0, 50])
def test_chunks_come_together_in_order(monkeypatch: pytest.MonkeyPatch, with_spans: bool, expected: int) -> None:
    # so that the result grows again and again
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 4)

    def fill_spans(_: int, __: int, ids: Any, offsets: Any, starts: Any, ends: Any) -> None:
        assert offsets[-1] == ids.size
        time.sleep(random.choice((0, 1e-5, 1e-4)))
        starts[:], ends[:] = ids, ids + 1

    for seed in range(60):
        source = Numbers(seed)
        found = encode_in_chunks(
            source, 6, lambda: Worker(None, lambda n: np.empty(n, np.int32), lambda: None),
            fill_spans if with_spans else None, expected,
        )  # fmt: skip
        total = source.starts[-1]
        assert found.offsets.tolist() == source.starts
        assert np.array_equal(found.values, np.arange(total))
        if with_spans:
            assert np.array_equal(found.starts, np.arange(total))
            assert np.array_equal(found.ends, np.arange(total) + 1)


def test_an_error_in_a_thread_is_raised_and_memory_comes_back() -> None:
    open_workers: list[int] = []

    def new_worker() -> Worker:
        open_workers.append(1)
        return Worker(None, lambda n: np.empty(n, np.int32), open_workers.pop)

    class Failing(Numbers):
        def next_chunk(self) -> Chunk | None:
            chunk = super().next_chunk()
            if chunk is not None and chunk.last > self.n_rows // 2:
                raise ValueError("half way")
            return chunk

    for seed in range(20):
        with pytest.raises(ValueError, match="half way"):
            encode_in_chunks(Failing(seed), 4, new_worker, None, 0)
        assert open_workers == []
