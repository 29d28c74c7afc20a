"""One document in one call, where a batch has nothing to share out."""

from __future__ import annotations

from .backends import BACKENDS
from .common import ONE_OF_EACH, check_ids, fresh, texts
from .corpora import CORPORA

#: Bytes of the document.
DOCUMENT_BYTES = 200_000


class Document:
    """The first 200 kB of a corpus as one text, again and again."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(CORPORA), list(BACKENDS))
    param_names = ("vocabulary", "corpus", "backend")
    timeout = 120

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = ["\n".join(texts(corpus, DOCUMENT_BYTES))]
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, self.texts)
        self.backend.encode_one(self.texts[0])

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
