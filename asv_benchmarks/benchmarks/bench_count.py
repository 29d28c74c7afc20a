"""How many ids texts have, by the shortest way to it that each library has."""

from __future__ import annotations

import numpy as np

from .common import CorpusBench


class Count(CorpusBench):
    """The numbers of ids of many texts, warm; a library that cannot count encodes (``Backend.count_batch``)."""

    #: asv's history goes by it: a digest of the source, as it was before the class had a base.
    version = "1e944638abbc6f3dcbeef1330d15f0db2f3e49f9eb0f7169901c74d3a1d93a6b"

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        _, offsets = self.backend.flat(self.backend.encode_batch(self.texts))
        if not np.array_equal(np.asarray(self.backend.count_batch(self.texts)), np.diff(offsets)):
            raise NotImplementedError(f"{backend} counts other numbers of ids than it gives")

    def time_count(self, *_: str) -> None:
        self.backend.count_batch(self.texts)
