"""How many ids texts have, by the shortest way to it that each library has."""

from __future__ import annotations

import numpy as np

from .common import CorpusBench, Inexact

#: Bytes of a corpus.
COUNTED_BYTES = 500_000


class Count(CorpusBench):
    """The numbers of ids of many texts, warm; a library that cannot count encodes (``Backend.count_batch``)."""

    corpus_bytes = COUNTED_BYTES

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        _, offsets = self.backend.flat(self.backend.encode_batch(self.texts))
        if not np.array_equal(np.asarray(self.backend.count_batch(self.texts)), np.diff(offsets)):
            raise Inexact(f"{backend} counts other numbers of ids than it gives")

    def time_count(self, *_: str) -> None:
        self.backend.count_batch(self.texts)
