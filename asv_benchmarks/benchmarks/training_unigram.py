"""Training of Unigram models on two threads, sentencepiece beside."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .corpora import Missing, corpus

THREADS = 2


class TrainUnigram:
    """From a text file to a ``.model`` file."""

    params = (["hamlet_lines", "english_lines"], [1000, 8000, 32000], ["numba_nlp", "sentencepiece"])
    param_names = ("corpus", "size", "backend")
    timeout = 600
    repeat = 1
    number = 1

    def setup(self, name: str, size: int, backend: str) -> None:
        if (name == "hamlet_lines") != (size == 1000):
            raise NotImplementedError("each corpus has its sizes")
        try:
            lines = corpus(name)
        except Missing as missing:
            raise NotImplementedError(str(missing)) from missing
        self.folder = tempfile.TemporaryDirectory()
        self.source, self.target = (Path(self.folder.name) / file for file in ("text.txt", "made.model"))
        self.source.write_text("\n".join(lines), encoding="utf-8")
        if backend == "numba_nlp":  # compile the kernels
            train(backend, ["to be or not to be that is the question"], self.target, 200)

    def teardown(self, *_: object) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def time_train(self, name: str, size: int, backend: str) -> None:
        train(backend, self.source, self.target, size)

    def peakmem_train(self, name: str, size: int, backend: str) -> None:
        train(backend, self.source, self.target, size)


def train(backend: str, source: object, target: Path, size: int) -> None:
    """Write the model that one of the two makes of a text."""
    if backend == "numba_nlp":
        from vocab_tools.formats.sentencepiece_writer import write_model
        from vocab_tools.training.unigram import train_unigram

        write_model(target, train_unigram(source, vocab_size=size, num_threads=THREADS, hard_vocab_limit=False))
    else:
        import sentencepiece

        sentencepiece.SentencePieceTrainer.train(
            input=str(source), model_prefix=str(target.with_suffix("")), vocab_size=size, num_threads=THREADS,
            minloglevel=2, hard_vocab_limit=False,
        )  # fmt: skip
