"""Batches on one and on two threads, warm.

Peers in Rust make one pool of threads for the process when it is first used, of the size that the environment says. asv
gives each set of parameters a process of its own, so the environment is set in the setup, before anything is loaded.
"""

from __future__ import annotations

import os

from .backends import BACKENDS, thread_environment
from .common import ONE_OF_EACH, check_ids, fresh, texts
from .corpora import CORPORA


class Threads:
    """The same texts again and again, with one and with two threads."""

    params = (["gpt2", "cl100k", *ONE_OF_EACH], list(CORPORA), list(BACKENDS), [1, 2])
    param_names = ("vocabulary", "corpus", "backend", "threads")
    timeout = 300

    def setup(self, vocabulary: str, corpus: str, backend: str, threads: int) -> None:
        self._before = dict(os.environ)
        os.environ.update(thread_environment(threads))
        self.texts = texts(corpus)
        self.backend = fresh(backend, vocabulary, threads)
        check_ids(self.backend, self.texts)
        self.backend.encode_batch(self.texts)

    def teardown(self, *_: object) -> None:
        os.environ.clear()
        os.environ.update(self._before)

    def time_encode_batch(self, *_: object) -> None:
        self.backend.encode_batch(self.texts)
