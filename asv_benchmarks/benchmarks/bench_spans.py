"""Ids with character spans, for the libraries that have them."""

from __future__ import annotations

from .backends import BACKENDS, Backend
from .common import ONE_OF_EACH, check_ids, fresh, texts
from .corpora import CORPORA

#: Those that give spans of batches.
_BACKENDS = [name for name, backend in BACKENDS.items() if backend.encode_spans is not Backend.encode_spans]


class Spans:
    """The same texts again and again, with and without spans."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(CORPORA), _BACKENDS)
    param_names = ("vocabulary", "corpus", "backend")
    timeout = 300

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = texts(corpus)
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, self.texts)
        self.encode_spans = self.backend.encode_spans
        self.encode_spans(self.texts)

    def time_encode_spans(self, *_: str) -> None:
        self.encode_spans(self.texts)

    def time_encode_ids(self, *_: str) -> None:
        self.backend.encode_batch(self.texts)
