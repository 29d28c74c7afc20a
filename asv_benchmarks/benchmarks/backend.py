"""What every backend of the benchmarks is: one loaded tokenizer of one library, and its results as flat arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Backend", "Flat", "from_buffers", "from_lists"]

Flat = tuple[NDArray[np.int64], NDArray[np.int64]]


class Backend(ABC):
    """One loaded tokenizer of one library.

    Parameters
    ----------
    vocabulary : str
        A short name of ``tools.references``.
    threads : int
        How many threads a batch may use.
    """

    #: Name of the distribution that must be installed.
    distribution = ""
    #: Module to import.
    module = ""
    #: The references, and some, are one to two orders slower; they are timed on a sample.
    slow = False
    #: The library keeps a vocabulary for the whole process, so that only the first loading in a process is one.
    load_once = False
    #: What is called, for the report.
    batch_call = ""
    one_call = ""
    #: Families of vocabularies (``tools.references.family_of``) that it is tried with; it may refuse a file of them.
    families: tuple[str, ...] = ("byte_bpe",)

    def __init__(self, vocabulary: str, threads: int = 1) -> None:
        self.vocabulary = vocabulary
        self.threads = threads
        self.load()
        # One text brings in what a library imports on its first call (awkward, for one); no cache of words survives
        # in this instance that matters: the text is one symbol.
        self.encode_batch(["."])

    @abstractmethod
    def load(self) -> None:
        """Load the tokenizer anew, with empty caches."""

    @abstractmethod
    def encode_batch(self, texts: list[str]) -> Any:
        """Ids of every text, in the library's fastest flat form."""

    @abstractmethod
    def encode_one(self, text: str) -> Any:
        """Ids of one text."""

    @abstractmethod
    def flat(self, out: Any) -> Flat:
        """What ``encode_batch`` returned, as ids (int64[m]) and offsets (int64[rows + 1])."""

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        """What ``encode_one`` returned, as an array of ids."""
        return np.asarray(out, dtype=np.int64)

    def encode_spans(self, texts: list[str]) -> Any:
        """Ids and spans of every text, in characters."""
        # to asv: leave this one out
        raise NotImplementedError(f"{self.distribution} gives no spans of batches")

    def count_batch(self, texts: list[str]) -> Any:
        """Number of ids of every text, by the shortest way that the library has."""
        return [len(row) for row in self.encode_batch(texts)]

    def load_anew(self) -> None:
        """Load the vocabulary from its files again."""
        if self.load_once:
            raise NotImplementedError(f"{self.distribution} loads a vocabulary once in a process; see Start")
        type(self)(self.vocabulary, self.threads)

    def decode_one(self, ids: NDArray[np.int64]) -> str:
        """Text of one text's ids, given as :meth:`ids_for_decode` made them."""
        # to asv: leave this one out
        raise NotImplementedError(f"{self.distribution} does not decode")

    def decode_batch(self, rows: list[Any]) -> Any:
        """Texts of many rows, each as :meth:`ids_for_decode` made it."""
        return [self.decode_one(row) for row in rows]

    def ids_for_decode(self, ids: NDArray[np.int64]) -> Any:
        """The ids in the form that this library decodes fastest; made outside of timing."""
        return ids.tolist()


def from_lists(rows: list[Any]) -> Flat:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    values = np.fromiter((number for row in rows for number in row), dtype=np.int64, count=int(offsets[-1]))
    return values, offsets


def from_buffers(out: tuple[bytes, bytes]) -> Flat:
    ids, offsets = out
    return np.frombuffer(ids, dtype=np.uint32).astype(np.int64), np.frombuffer(offsets, np.uint64).astype(np.int64)
