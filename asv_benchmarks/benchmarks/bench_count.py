"""How many ids texts have, by the shortest way to it that each library has."""

from __future__ import annotations

import numpy as np

from .backends import BACKENDS
from .common import ONE_OF_EACH, Inexact, check_ids, fresh, texts
from .corpora import CORPORA

#: Bytes of a corpus.
COUNTED_BYTES = 500_000


class Count:
    """The numbers of ids of many texts, warm; a library that cannot count encodes (``Backend.count_batch``)."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(CORPORA), list(BACKENDS))
    param_names = ("vocabulary", "corpus", "backend")
    timeout = 300

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = texts(corpus, COUNTED_BYTES)
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, self.texts)
        _, offsets = self.backend.flat(self.backend.encode_batch(self.texts))
        if not np.array_equal(np.asarray(self.backend.count_batch(self.texts)), np.diff(offsets)):
            raise Inexact(f"{backend} counts other numbers of ids than it gives")

    def time_count(self, *_: str) -> None:
        self.backend.count_batch(self.texts)
