"""One short text, warm."""

from __future__ import annotations

from .backends import BACKENDS
from .common import ONE_OF_EACH, check_ids, fresh
from .corpora import LATENCY_TEXTS


class Latency:
    """From the call to ids in hand."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(LATENCY_TEXTS), list(BACKENDS))
    param_names = ("vocabulary", "text", "backend")

    def setup(self, vocabulary: str, text: str, backend: str) -> None:
        self.text = LATENCY_TEXTS[text]
        loaded = fresh(backend, vocabulary)
        check_ids(loaded, [self.text])
        self.encode = loaded.encode_one
        for _ in range(100):
            self.encode(self.text)

    def time_encode(self, *_: str) -> None:
        self.encode(self.text)
