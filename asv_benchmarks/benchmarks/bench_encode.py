"""Batches: cold, warm, held-out; one thread."""

from __future__ import annotations

from .backends import BACKENDS
from .common import ONE_OF_EACH, CorpusBench, fresh, texts
from .corpora import size


class EncodeWarm(CorpusBench):
    """The same texts again and again."""

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        self.backend.encode_batch(self.texts)

    def time_encode_batch(self, *_: str) -> None:
        self.backend.encode_batch(self.texts)

    def track_bytes_per_token(self, *_: str) -> float:
        values, _offsets = self.backend.flat(self.backend.encode_batch(self.texts))
        return size(self.texts) / len(values)

    track_bytes_per_token.unit = "bytes"  # type: ignore[attr-defined]


class EncodeCold(CorpusBench):
    """First pass of a fresh instance; one call a sample, since a second one would be warm."""

    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0.0

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        self.backend = fresh(backend, vocabulary)

    def time_encode_batch(self, *_: str) -> None:
        self.backend.encode_batch(self.texts)


class EncodeHeldOut(CorpusBench):
    """A slice never seen by an instance that was warmed on the rest of the corpus."""

    number = 1
    repeat = (3, 10, 20.0)
    warmup_time = 0.0

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        cut = len(self.texts) * 4 // 5
        known, self.unseen = self.texts[:cut], self.texts[cut:]
        self.backend = fresh(backend, vocabulary)
        self.backend.encode_batch(known)

    def time_encode_batch(self, *_: str) -> None:
        self.backend.encode_batch(self.unseen)


class EncodePeakMemory:
    """Peak memory of the process after encoding; includes loading and, for ours, the compiler's libraries.

    Ids are not compared here, since the memory of the reference would count; ``EqualIds`` says which are exact.
    """

    params = (["gpt2", "cl100k", *ONE_OF_EACH], ["hamlet_lines", "python_sources"], list(BACKENDS))
    param_names = ("vocabulary", "corpus", "backend")

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = texts(corpus)
        self.backend = fresh(backend, vocabulary)

    def peakmem_encode_batch(self, *_: str) -> None:
        self.backend.encode_batch(self.texts)
