"""1 MB in one text without, or with few, places to cut it."""

from __future__ import annotations

from .backends import BACKENDS
from .common import check_ids, fresh
from .corpora import ADVERSARIAL, adversarial


class Adversarial:
    """Time per byte must stay within ten times that of ordinary text (``EncodeWarm``)."""

    params = (["gpt2", "cl100k"], list(ADVERSARIAL), list(BACKENDS))
    param_names = ("vocabulary", "shape", "backend")
    timeout = 120

    def setup(self, vocabulary: str, shape: str, backend: str) -> None:
        self.texts = [adversarial(shape)]
        self.backend = fresh(backend, vocabulary)
        check_ids(self.backend, self.texts)

    def time_encode_batch(self, *_: str) -> None:
        self.backend.encode_batch(self.texts)
