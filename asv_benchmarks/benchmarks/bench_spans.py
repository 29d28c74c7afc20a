"""Ids with character spans, for the libraries that have them."""

from __future__ import annotations

from .backends import BACKENDS, Backend
from .common import CorpusBench

#: Those that give spans of batches.
_BACKENDS = [name for name, backend in BACKENDS.items() if backend.encode_spans is not Backend.encode_spans]


class Spans(CorpusBench):
    """The same texts again and again, with and without spans."""

    params = (*CorpusBench.params[:2], _BACKENDS)

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        self.encode_spans = self.backend.encode_spans
        self.encode_spans(self.texts)

    def time_encode_spans(self, *_: str) -> None:
        self.encode_spans(self.texts)

    def time_encode_ids(self, *_: str) -> None:
        self.backend.encode_batch(self.texts)
