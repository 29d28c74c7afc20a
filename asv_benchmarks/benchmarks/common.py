"""What the asv classes share: skipping what is not here, and checking ids before timing."""

from __future__ import annotations

import numpy as np

from .backends import BACKENDS, Backend, available, reference_flat, references_of, serves
from .corpora import CORPORA, Missing, corpus

__all__ = ["ONE_OF_EACH", "CorpusBench", "Inexact", "check_ids", "fresh", "texts"]

#: A vocabulary of every family but byte-level BPE.
ONE_OF_EACH = ["t5", "mistral_v3", "bert_uncased", "gpt", "subword_nmt", "mistral03"]
#: Text of this many bytes is encoded by a corpus benchmark; the report takes whole corpora.
CORPUS_BYTES = 2_000_000
#: About this many bytes are compared with the reference in every setup.
CHECKED_BYTES = 100_000


class Inexact(NotImplementedError):
    """The library gives something else than the reference: its speed must not stand beside the speed of the right.

    To asv it is what it is for every reason to leave parameters out.
    """


def fresh(name: str, vocabulary: str, threads: int = 1) -> Backend:
    """A freshly loaded backend; asv skips the parameters, with the reason, when it is not installed."""
    if not available(name):
        raise NotImplementedError(f"{name} is not installed")
    if not serves(name, vocabulary):
        raise NotImplementedError(f"{name} is not measured with {vocabulary}")
    try:
        return BACKENDS[name](vocabulary, threads)
    except FileNotFoundError as missing:
        raise NotImplementedError(str(missing)) from missing
    except BaseException as refusal:
        if name == "numba_nlp" or isinstance(refusal, (KeyboardInterrupt, SystemExit)):
            raise
        # a panic of a Rust library is no Exception
        raise NotImplementedError(f"{name} does not load {vocabulary}: {refusal}") from refusal


def texts(name: str, n_bytes: int = CORPUS_BYTES) -> list[str]:
    """The first texts of a corpus; asv skips the parameters when it is not on this machine."""
    try:
        whole = corpus(name)
    except Missing as missing:
        raise NotImplementedError(str(missing)) from missing
    taken, total = [], 0
    for text in whole:
        taken.append(text)
        total += len(text.encode())
        if total >= n_bytes:
            break
    return taken


def check_ids(backend: Backend, some: list[str]) -> None:
    """Skip the benchmark unless the ids of the first texts are those of a reference.

    Raises
    ------
    Inexact
        They differ.
    """
    sample, total = [], 0
    for text in some:
        sample.append(text[:CHECKED_BYTES])
        total += len(text)
        if total >= CHECKED_BYTES:
            break
    values, offsets = backend.flat(backend.encode_batch(sample))
    for reference in references_of(backend.vocabulary):
        right, rows = reference_flat(backend.vocabulary, sample, reference)
        if np.array_equal(offsets, rows) and np.array_equal(values, right):
            return
    raise Inexact(f"{type(backend).__name__} gives other ids than {' and '.join(references_of(backend.vocabulary))}")


class CorpusBench:
    """What is measured with each vocabulary, corpus and backend: a fresh backend, the texts, and ids that are right.

    asv takes a class for a benchmark by the names of its methods, of which this one has none.
    """

    params: tuple[list[str], ...] = (["gpt2", "cl100k", *ONE_OF_EACH], list(CORPORA), list(BACKENDS))
    param_names: tuple[str, ...] = ("vocabulary", "corpus", "backend")
    timeout = 300
    #: Texts of about so many bytes.
    corpus_bytes = CORPUS_BYTES
    #: Whether ids are compared with those of the reference.
    checked = True

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = self.texts_of(corpus)
        self.backend = fresh(backend, vocabulary)
        if self.checked:
            check_ids(self.backend, self.texts)

    def texts_of(self, corpus: str) -> list[str]:
        """The texts that a backend is given."""
        return texts(corpus, self.corpus_bytes)
