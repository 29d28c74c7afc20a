"""Loading a vocabulary: ours mapped from a compiled file, the peers from theirs."""

from __future__ import annotations

from .backends import BACKENDS
from .common import fresh


class Load:
    """A new tokenizer, and the ids of one short text from it."""

    params = (["gpt2", "cl100k"], [name for name in BACKENDS if name != "tiktoken"])
    param_names = ("vocabulary", "backend")

    def setup(self, vocabulary: str, backend: str) -> None:
        fresh(backend, vocabulary)  # compiles, imports and makes converted files

    def time_load(self, vocabulary: str, backend: str) -> None:
        fresh(backend, vocabulary)
