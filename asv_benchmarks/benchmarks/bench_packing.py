"""Texts to a file of blocks of equal length, which language models are trained on.

Ours writes it by ``numba_nlp.packing.pack``. No peer has such a call; beside it stands what their users write: all ids
in one array, the end of text behind each row, cut into blocks (nanoGPT's ``prepare.py``; ``group_texts`` in the scripts
of transformers does the same with lists).

Most of ours is the disk: the ids and what describes them are whole files or none, so each of the two waits until it is
written (``fsync``) and then takes its name. Of 130,000 ids that is all but 0.6 ms, of which 0.2 join the rows and 0.15
are the sha256. The others leave the bytes to the system, and say nothing of them.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .backends import BACKENDS
from .common import CorpusBench
from .corpora import CORPORA

BLOCK_SIZE = 1024
#: Bytes of a corpus.
PACKED_BYTES = 500_000
#: The end of text of GPT-2.
SEPARATOR = 50256


class Packing(CorpusBench):
    """GPT-2, blocks of 1024 ids of 16 bits, to a file in the temporary folder; warm. The files are compared."""

    params = (["gpt2"], list(CORPORA), [name for name in BACKENDS if "byte_bpe" in BACKENDS[name].families])
    corpus_bytes = PACKED_BYTES

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        self.name = backend
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "blocks.bin"
        self.encoded = self.backend.encode_batch(self.texts)
        try:
            self._pack(self.encoded)
            self._check()
        except BaseException:
            self.folder.cleanup()
            raise

    def teardown(self, *_: str) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def _pack(self, encoded: Any) -> None:
        if self.name != "numba_nlp":
            joined = _joined(*self.backend.flat(encoded))
            joined[: joined.size - joined.size % BLOCK_SIZE].astype(np.uint16).tofile(self.path)
            return
        from numba_nlp.packing import pack

        pack([encoded], self.path, block_size=BLOCK_SIZE, separator_id=SEPARATOR, dtype="uint16")

    def _check(self) -> None:
        """Compare the file with rows that are joined one by one."""
        values, offsets = self.backend.flat(self.encoded)
        right: list[int] = []
        for first, last in pairwise(offsets):
            right += [*values[first:last].tolist(), SEPARATOR]
        del right[-1]
        del right[len(right) - len(right) % BLOCK_SIZE :]
        if not np.array_equal(np.fromfile(self.path, np.uint16), right):
            raise AssertionError(f"the blocks of {self.name} are not the rows with a separator between each two")

    def time_encode_and_pack(self, *_: str) -> None:
        self._pack(self.backend.encode_batch(self.texts))

    def time_pack(self, *_: str) -> None:
        self._pack(self.encoded)


def _joined(values: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """All rows, one behind the other, with a separator between each two."""
    return np.insert(values, offsets[1:-1], SEPARATOR)
