"""Ids back to text: one text a call, and many."""

from __future__ import annotations

from itertools import pairwise

from .backends import BACKENDS, reference_flat, references_of
from .common import Inexact, fresh, texts
from .corpora import CORPORA


class _Decode:
    params = (["gpt2", "cl100k"], list(CORPORA), list(BACKENDS))
    param_names = ("vocabulary", "corpus", "backend")

    def prepare(self, vocabulary: str, given: list[str], backend: str) -> None:
        """Load the backend, and put the reference's ids into the form that it decodes."""
        self.backend = fresh(backend, vocabulary)
        values, offsets = reference_flat(vocabulary, given, references_of(vocabulary)[0])
        self.rows = [self.backend.ids_for_decode(values[first:last]) for first, last in pairwise(offsets)]


class Decode(_Decode):
    """The ids of the first 200 kB of a corpus as one text."""

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = ["\n".join(texts(corpus, 200_000))]
        self.prepare(vocabulary, self.texts, backend)
        if self.backend.decode_one(self.rows[0]) != self.texts[0]:
            raise Inexact(f"{backend} does not decode the right ids to the text")

    def time_decode(self, *_: str) -> None:
        self.backend.decode_one(self.rows[0])


class DecodeBatch(_Decode):
    """The ids of the first 200 kB of a corpus, a row a text; libraries without a call for many are called for each."""

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = texts(corpus, 200_000)
        self.prepare(vocabulary, self.texts, backend)
        if list(self.backend.decode_batch(self.rows)) != self.texts:
            raise Inexact(f"{backend} does not decode the right ids to the texts")

    def time_decode_batch(self, *_: str) -> None:
        self.backend.decode_batch(self.rows)
