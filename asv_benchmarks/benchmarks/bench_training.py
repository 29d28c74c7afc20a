"""Training BPE and WordPiece, on two threads; peers beside."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tools.files import carried_file, shared_file
from tools.measure_training import CORPUS, TRAINERS

CORPORA = {"hamlet_lines": carried_file("hamlet_gut.txt"), "english_16mb": shared_file(CORPUS)}


class _Training:
    """From a file to merges; :mod:`tools.measure_training` says how each trainer is called."""

    param_names = ("backend", "corpus", "vocab_size")
    timeout = 300
    suffix = ""

    def setup(self, backend: str, corpus: str, vocab_size: int) -> None:
        if find_spec(backend) is None:
            raise NotImplementedError(f"{backend} is not installed")
        if backend == "gigatoken" and vocab_size > 8000:
            raise NotImplementedError("takes tens of seconds")
        path = CORPORA[corpus]
        if path is None:
            raise NotImplementedError(f"{corpus} is not on this machine")
        self.path, self.train = path, TRAINERS[backend + self.suffix]
        # loads the compiled kernels
        self.train(Path(__file__), 300)

    def time_train(self, backend: str, corpus: str, vocab_size: int) -> None:
        self.train(self.path, vocab_size)

    def peakmem_train(self, backend: str, corpus: str, vocab_size: int) -> None:
        self.train(self.path, vocab_size)


class TrainBpe(_Training):
    """Byte-level BPE with the pattern of GPT-2."""

    params = (["numba_nlp", "tokenizers", "gigatoken"], list(CORPORA), [8000, 32000])


class TrainWordPiece(_Training):
    """WordPiece as BERT's."""

    params = (["numba_nlp", "tokenizers"], list(CORPORA), [8000, 32000])
    suffix = "_wordpiece"
