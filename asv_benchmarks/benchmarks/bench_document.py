"""One document in one call, where a batch has nothing to share out."""

from __future__ import annotations

from .common import CorpusBench, fresh

#: Bytes of the document.
DOCUMENT_BYTES = 200_000


class Document(CorpusBench):
    """The first 200 kB of a corpus as one text, again and again."""

    timeout = 120
    corpus_bytes = DOCUMENT_BYTES

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        self.backend.encode_one(self.texts[0])

    def texts_of(self, corpus: str) -> list[str]:
        return ["\n".join(super().texts_of(corpus))]

    def time_encode(self, *_: str) -> None:
        self.backend.encode_one(self.texts[0])


class DocumentCold(Document):
    """The same by an instance that has seen no text; one call a sample, since a second one would be warm."""

    number = 1
    repeat = (3, 10, 10.0)
    warmup_time = 0.0

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        super().setup(vocabulary, corpus, backend)
        self.renew(vocabulary, corpus, backend)

    def renew(self, vocabulary: str, corpus: str, backend: str) -> None:
        """An instance that has seen no text."""
        self.backend = fresh(backend, vocabulary)
