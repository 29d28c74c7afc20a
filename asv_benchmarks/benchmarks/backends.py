"""numba_nlp and its peers behind one interface, each in the fastest form it offers that ends in flat ids.

A backend object is one freshly loaded tokenizer with empty caches. Every ``encode_batch`` takes a ``list[str]`` and
returns what the library returns; ``flat`` turns that into arrays afterwards, outside of any timing. Special tokens are
recognised by all but tiktoken (``encode_ordinary`` is its fast path); no corpus contains one.

Threads are fixed per process, because Rust's pool is made once: ``thread_environment`` has to be in the environment
before the first import, so measuring code runs in a subprocess per number of threads.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.references import (
    VOCABULARIES,
    WORDPIECE,
    hf_tokenizer,
    source_path,
    tiktoken_encoding,
    tokenizer_json_path,
    untemplated_json_path,
)

from .compiled import compiled_path

__all__ = [
    "BACKENDS",
    "REFERENCES",
    "Backend",
    "available",
    "installed",
    "reference_flat",
    "references_of",
    "serves",
    "thread_environment",
    "versions",
]

Flat = tuple[NDArray[np.int64], NDArray[np.int64]]


class Backend(ABC):
    """One loaded tokenizer of one library.

    Parameters
    ----------
    vocabulary : str
        ``"gpt2"``, ``"cl100k"``, ``"o200k"`` or ``"bert_uncased"``.
    threads : int
        How many threads a batch may use.
    """

    #: Name of the distribution that must be installed.
    distribution = ""
    #: Module to import.
    module = ""
    #: The two reference libraries are one to two orders slower; they are timed on a sample.
    slow = False
    #: What is called, for the report.
    batch_call = ""
    one_call = ""
    #: Families of vocabularies that it is measured with: "byte_bpe", "wordpiece".
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

    def decode_one(self, ids: NDArray[np.int64]) -> str:
        """Text of one text's ids, given as :meth:`ids_for_decode` made them."""
        # to asv: leave this one out
        raise NotImplementedError(f"{self.distribution} does not decode")

    def ids_for_decode(self, ids: NDArray[np.int64]) -> Any:
        """The ids in the form that this library decodes fastest; made outside of timing."""
        return ids.tolist()


def _from_lists(rows: list[Any]) -> Flat:
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    values = np.fromiter((number for row in rows for number in row), dtype=np.int64, count=int(offsets[-1]))
    return values, offsets


def _from_buffers(out: tuple[bytes, bytes]) -> Flat:
    ids, offsets = out
    return np.frombuffer(ids, dtype=np.uint32).astype(np.int64), np.frombuffer(offsets, np.uint64).astype(np.int64)


class NumbaNlp(Backend):
    """This project: a compiled vocabulary, ids and offsets as arrays."""

    distribution = "numba-nlp"
    module = "numba_nlp"
    families = ("byte_bpe", "wordpiece")
    batch_call = "`Tokenizer.encode_batch(list)` -> `Ragged`"
    one_call = "`Tokenizer.encode(text)` -> int32 array"

    def load(self) -> None:
        import numba_nlp

        self.tokenizer = numba_nlp.load_tokenizer(str(compiled_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, special="match", num_threads=self.threads)

    def encode_spans(self, texts: list[str]) -> Any:
        """Ids and character spans of every text."""
        return self.tokenizer.encode_batch(texts, special="match", num_threads=self.threads, spans=True)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text, special="match")

    def flat(self, out: Any) -> Flat:
        return out.values.astype(np.int64), out.offsets.astype(np.int64)

    def ids_for_decode(self, ids: NDArray[np.int64]) -> Any:
        return ids.astype(np.int32)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Tiktoken(Backend):
    """tiktoken, the reference of ``.tiktoken`` vocabularies."""

    distribution = module = "tiktoken"
    slow = True
    batch_call = "`encode_ordinary_batch(list)` -> lists; one thread: `encode_ordinary` in a loop"
    one_call = "`encode_ordinary(text)` -> list"

    def load(self) -> None:
        name = VOCABULARIES[self.vocabulary]
        assert name is not None
        self.encoding = tiktoken_encoding(name)

    def encode_batch(self, texts: list[str]) -> Any:
        if self.threads == 1:
            encode = self.encoding.encode_ordinary
            return [encode(text) for text in texts]
        return self.encoding.encode_ordinary_batch(texts, num_threads=self.threads)

    def encode_one(self, text: str) -> Any:
        return self.encoding.encode_ordinary(text)

    def flat(self, out: Any) -> Flat:
        return _from_lists(out)

    def decode_one(self, ids: Any) -> str:
        return self.encoding.decode(ids)


class Tokenizers(Backend):
    """Hugging Face tokenizers, the reference of ``tokenizer.json``."""

    distribution = module = "tokenizers"
    slow = True
    families = ("byte_bpe", "wordpiece")
    batch_call = "`encode_batch_fast(list)` -> `Encoding`s"
    one_call = "`encode(text)` -> `Encoding`"

    def load(self) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(tokenizer_json_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    def encode_spans(self, texts: list[str]) -> Any:
        """Ids and character spans of every text."""
        return self.tokenizer.encode_batch(texts, add_special_tokens=False)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def flat(self, out: Any) -> Flat:
        return _from_lists([encoding.ids for encoding in out])

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.asarray(out.ids, dtype=np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)


class Gigatoken(Backend):
    """gigatoken: an awkward array of ids; with one thread on the calling thread, which is its faster way."""

    distribution = module = "gigatoken"
    batch_call = "`encode_batch(list, parallel=threads > 1)` -> awkward array"
    one_call = "`encode(text)` -> uint32 array"

    def load(self) -> None:
        from gigatoken import Tokenizer

        if self.vocabulary == "gpt2":
            self.tokenizer = Tokenizer(str(tokenizer_json_path(self.vocabulary)))
        else:
            self.tokenizer = Tokenizer.from_tiktoken(str(source_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, parallel=self.threads > 1)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def flat(self, out: Any) -> Flat:
        import awkward

        values = np.asarray(awkward.flatten(out)).astype(np.int64)
        offsets = np.zeros(len(out) + 1, dtype=np.int64)
        np.cumsum(np.asarray(awkward.num(out)), out=offsets[1:])
        return values, offsets

    def ids_for_decode(self, ids: NDArray[np.int64]) -> Any:
        return ids.astype(np.uint32)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids).decode()


class Fastokens(Backend):
    """fastokens: two byte buffers, ids and offsets. Its segment cache is off by default and stays off."""

    distribution = module = "fastokens"
    batch_call = "`encode_batch_flat(list)` -> two buffers"
    one_call = "`encode(text)` -> `Encoding`"

    def load(self) -> None:
        from fastokens import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(tokenizer_json_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def flat(self, out: Any) -> Flat:
        return _from_buffers(out)

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.asarray(out.ids, dtype=np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Snaptokens(Fastokens):
    """snaptokens, a fork of fastokens with the same calls."""

    distribution = module = "snaptokens"

    def load(self) -> None:
        from snaptokens import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(tokenizer_json_path(self.vocabulary)))


class Splintr(Backend):
    """splintr-rs: two byte buffers, ids and offsets."""

    distribution = "splintr-rs"
    module = "splintr"
    families = ("byte_bpe", "wordpiece")
    batch_call = "`encode_batch_flat(list)` -> two buffers"
    one_call = "`encode_flat(text)` -> buffer"

    def load(self) -> None:
        import splintr

        path = (untemplated_json_path if self.vocabulary in WORDPIECE else tokenizer_json_path)(self.vocabulary)
        self.tokenizer = splintr.from_json(str(path))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode_flat(text)

    def flat(self, out: Any) -> Flat:
        return _from_buffers(out)

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.frombuffer(out, dtype=np.uint32).astype(np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Nanotoken(Backend):
    """nanotoken: ids and offsets as arrays; one thread is the calling one."""

    distribution = module = "nanotoken"
    families = ("wordpiece",)
    batch_call = "`encode_batch(list, parallel=threads > 1)` -> `RaggedIds`"
    one_call = "`encode(text)` -> array"

    def load(self) -> None:
        from nanotoken import Tokenizer

        if not WORDPIECE[self.vocabulary][2]:
            raise ValueError(f"only vocabularies of lower case are measured with nanotoken, not {self.vocabulary!r}")
        self.tokenizer = Tokenizer.from_vocab(str(source_path(self.vocabulary)))
        # it keeps words for the whole process
        self.tokenizer.clear_cache()

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False, parallel=self.threads > 1)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def flat(self, out: Any) -> Flat:
        return np.asarray(out.ids).astype(np.int64), np.asarray(out.offsets).astype(np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Tokie(Backend):
    """tokie: ids and lengths as arrays; it takes the threads of its pool."""

    distribution = module = "tokie"
    families = ("wordpiece",)
    batch_call = "`encode_batch_flat(list)` -> two arrays"
    one_call = "`encode(text)` -> `Encoding`"

    def load(self) -> None:
        from tokie import Tokenizer

        self.tokenizer = Tokenizer.from_json(str(tokenizer_json_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts, add_special_tokens=False)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def flat(self, out: Any) -> Flat:
        ids, lengths = out
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return ids.astype(np.int64), offsets

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.asarray(out.ids, dtype=np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Blingfire(Backend):
    """BlingFire with the model that it ships: one call a text, no threads, no decoding by ids of this vocabulary."""

    distribution = module = "blingfire"
    families = ("wordpiece",)
    batch_call = "`text_to_ids(text)` in a loop -> arrays"
    one_call = "`text_to_ids(text)` -> array"

    def load(self) -> None:
        import blingfire

        models = {"bert_uncased": "bert_base_tok", "bert_cased": "bert_base_cased_tok", "bert_chinese": "bert_chinese"}
        folder = Path(blingfire.__file__).parent
        self.model = blingfire.load_model(str(folder / f"{models[self.vocabulary]}.bin"))
        self._encode = blingfire.text_to_ids
        self.unknown = hf_tokenizer(self.vocabulary).token_to_id("[UNK]")

    def encode_batch(self, texts: list[str]) -> Any:
        # room for one id a byte
        return [self._encode(self.model, text, 4 * len(text) + 1, self.unknown, True) for text in texts]

    def encode_one(self, text: str) -> Any:
        return self._encode(self.model, text, 4 * len(text) + 1, self.unknown, True)

    def flat(self, out: Any) -> Flat:
        offsets = np.zeros(len(out) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in out], out=offsets[1:])
        return np.concatenate([np.asarray(row, np.int64) for row in out]), offsets


#: Name -> class, ours first.
BACKENDS: dict[str, type[Backend]] = {
    "numba_nlp": NumbaNlp,
    "gigatoken": Gigatoken,
    "fastokens": Fastokens,
    "snaptokens": Snaptokens,
    "splintr-rs": Splintr,
    "nanotoken": Nanotoken,
    "tokie": Tokie,
    "blingfire": Blingfire,
    "tiktoken": Tiktoken,
    "tokenizers": Tokenizers,
}

#: Libraries that define the right ids, slow ones first to be asked last.
REFERENCES = ("tiktoken", "tokenizers")


def references_of(vocabulary: str) -> tuple[str, ...]:
    """The references that know a vocabulary."""
    if vocabulary in WORDPIECE:
        return ("tokenizers",)
    return REFERENCES if vocabulary == "gpt2" else REFERENCES[:1]


def serves(name: str, vocabulary: str) -> bool:
    """Whether a backend is measured with a vocabulary."""
    return ("wordpiece" if vocabulary in WORDPIECE else "byte_bpe") in BACKENDS[name].families


def available(name: str) -> bool:
    """Whether the library of a backend is installed (and, for ours, has its tokenizer)."""
    if importlib.util.find_spec(BACKENDS[name].module) is None:
        return False
    if name == "numba_nlp":
        import numba_nlp

        return hasattr(numba_nlp, "load_tokenizer")
    return True


def thread_environment(threads: int) -> dict[str, str]:
    """Environment that holds every backend to ``threads`` threads; must be set before anything is imported."""
    number = str(threads)
    return {
        "RAYON_NUM_THREADS": number,
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "OMP_NUM_THREADS": number,
        "NUMBA_NUM_THREADS": number,
        "NUMBA_NLP_NUM_THREADS": number,
    }


def installed(distribution: str) -> str | None:
    """Version of a distribution, None where it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def versions() -> dict[str, str | None]:
    """Version of each backend's distribution, None where it is not installed."""
    return {name: installed(backend.distribution) for name, backend in BACKENDS.items()}


def reference_flat(vocabulary: str, texts: list[str], reference: str) -> Flat:
    """Right ids of the texts, by tiktoken or by tokenizers."""
    if reference == "tokenizers":
        rows = hf_tokenizer(vocabulary).encode_batch_fast(texts, add_special_tokens=False)
        return _from_lists([row.ids for row in rows])
    name = VOCABULARIES[vocabulary]
    assert name is not None
    return _from_lists(tiktoken_encoding(name).encode_ordinary_batch(texts, num_threads=1))
