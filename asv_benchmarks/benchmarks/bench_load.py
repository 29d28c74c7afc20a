"""Loading a vocabulary: ours mapped from a compiled file, the peers from theirs."""

from __future__ import annotations

from .backends import BACKENDS
from .common import ONE_OF_EACH, fresh


class Load:
    """A new tokenizer, and the ids of one short text from it, in a process that has loaded it before."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(BACKENDS))
    param_names = ("vocabulary", "backend")

    def setup(self, vocabulary: str, backend: str) -> None:
        self.backend = fresh(backend, vocabulary)  # compiles, imports and makes converted files
        self.backend.load_anew()

    def time_load(self, *_: str) -> None:
        self.backend.load_anew()
