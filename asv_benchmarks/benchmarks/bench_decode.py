"""Ids back to text, one text a call."""

from __future__ import annotations

from .backends import BACKENDS
from .common import fresh, texts
from .corpora import CORPORA


class Decode:
    """The ids of the first 200 kB of a corpus as one text."""

    params = (["gpt2", "cl100k"], list(CORPORA), list(BACKENDS))
    param_names = ("vocabulary", "corpus", "backend")

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        text = "\n".join(texts(corpus, 200_000))
        self.backend = fresh(backend, vocabulary)
        values, _ = self.backend.flat(self.backend.encode_batch([text]))
        self.ids = self.backend.ids_for_decode(values)
        if self.backend.decode_one(self.ids) != text:
            raise NotImplementedError(f"{backend} does not decode its own ids to the text")

    def time_decode(self, *_: str) -> None:
        self.backend.decode_one(self.ids)
