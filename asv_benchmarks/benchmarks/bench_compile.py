"""From the start of a process to its first ids: with nothing compiled yet, and with kernels that are cached."""

from __future__ import annotations

import tempfile

from asv_benchmarks.startup import start

from .common import ONE_OF_EACH, fresh


class FirstIds:
    """Seconds from before the interpreter starts to the ids of one sentence, our own library only."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH],)
    param_names = ("vocabulary",)
    unit = "s"
    timeout = 300

    def setup(self, vocabulary: str) -> None:
        fresh("numba_nlp", vocabulary)  # makes the compiled vocabulary
        start("numba_nlp", vocabulary)  # fills the kernel cache

    def track_nothing_compiled(self, vocabulary: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return start("numba_nlp", vocabulary, {"NUMBA_NLP_CACHE_DIR": folder})["total"]

    def track_kernels_cached(self, vocabulary: str) -> float:
        return start("numba_nlp", vocabulary)["total"]
