"""Batches of ours on one and on two threads, warm."""

from __future__ import annotations

from .backends import BACKENDS, available
from .common import ONE_OF_EACH, check_ids, texts
from .corpora import CORPORA


class Threads:
    """Ours with one and with two threads; the peers' pools are sized by the environment, so they are in the report."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(CORPORA), [1, 2])
    param_names = ("vocabulary", "corpus", "threads")
    timeout = 300

    def setup(self, vocabulary: str, corpus: str, threads: int) -> None:
        self.texts = texts(corpus)
        if not available("numba_nlp"):
            raise NotImplementedError("numba_nlp is not installed")
        try:
            self.backend = BACKENDS["numba_nlp"](vocabulary, threads)
        except FileNotFoundError as missing:
            raise NotImplementedError(str(missing)) from missing
        check_ids(self.backend, self.texts)
        self.backend.encode_batch(self.texts)

    def time_encode_batch(self, *_: object) -> None:
        self.backend.encode_batch(self.texts)
