"""numba_nlp and its peers behind one interface, each in the fastest form it offers that ends in flat ids.

A backend object is one freshly loaded tokenizer with empty caches. Every ``encode_batch`` takes a ``list[str]`` and
returns what the library returns; ``flat`` turns that into arrays afterwards, outside of any timing. Special tokens are
recognised by all but tiktoken (``encode_ordinary`` is its fast path); no corpus contains one.

Threads are fixed per process, because Rust's pool is made once: ``thread_environment`` has to be in the environment
before the first import, so measuring code runs in a subprocess per number of threads.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.references import (
    GPT2_BEGINNINGS,
    VOCABULARIES,
    family_of,
    hf_tokenizer,
    sentencepiece_processor,
    tiktoken_encoding,
)

from . import peers, rs_bpe_peer, sentencepiece_peers, transformers_peer
from .backend import Backend, Flat, from_lists
from .compiled import compiled_path

__all__ = [
    "BACKENDS",
    "REFERENCES",
    "Backend",
    "Flat",
    "available",
    "installed",
    "reference_flat",
    "references_of",
    "serves",
    "thread_environment",
    "versions",
]


class NumbaNlp(Backend):
    """This project: a compiled vocabulary, ids and offsets as arrays."""

    distribution = "numba-nlp"
    module = "numba_nlp"
    families = peers.FAMILIES
    batch_call = "`Tokenizer.encode_batch(list)` -> `Ragged`"
    one_call = "`Tokenizer.encode(text)` -> int32 array"

    def load(self) -> None:
        import numba_nlp

        self.tokenizer = numba_nlp.load_tokenizer(str(compiled_path(self.vocabulary)))
        # recognised as by the peers of the family; sentencepiece and subword-nmt know none, and that is our default too
        family = family_of(self.vocabulary)
        plain = family in {"unigram", "sentencepiece_bpe"} or self.vocabulary == "subword_nmt"
        self.special = None if plain else "match"

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, special=self.special, num_threads=self.threads)

    def encode_spans(self, texts: list[str]) -> Any:
        """Ids and character spans of every text."""
        return self.tokenizer.encode_batch(texts, special=self.special, num_threads=self.threads, spans=True)

    def encode_one(self, text: str) -> Any:
        # by the vocabulary's own policy, which looks for special tokens as the peers of the family do
        return self.tokenizer.encode(text)

    def count_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.count_batch(texts, special=self.special, num_threads=self.threads)

    def flat(self, out: Any) -> Flat:
        return out.values.astype(np.int64), out.offsets.astype(np.int64)

    def ids_for_decode(self, ids: NDArray[np.int64]) -> Any:
        return ids.astype(np.int32)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)

    def decode_batch(self, rows: Any) -> Any:
        return self.tokenizer.decode_batch(rows)


#: Name -> class, ours first.
BACKENDS: dict[str, type[Backend]] = {
    "numba_nlp": NumbaNlp,
    "gigatoken": peers.Gigatoken,
    "fastokens": peers.Fastokens,
    "snaptokens": peers.Snaptokens,
    "splintr-rs": peers.Splintr,
    "nanotoken": peers.Nanotoken,
    "tokie": peers.Tokie,
    "kitoken": sentencepiece_peers.Kitoken,
    "rs_bpe": rs_bpe_peer.RsBpe,
    "blingfire": peers.Blingfire,
    "sentencepiece": sentencepiece_peers.Sentencepiece,
    "subword-nmt": sentencepiece_peers.SubwordNmt,
    "tiktoken": peers.Tiktoken,
    "tokenizers": peers.Tokenizers,
    "transformers": transformers_peer.Transformers,
}

#: Libraries that define the right ids, the faster ones first.
REFERENCES = ("tiktoken", "sentencepiece", "subword-nmt", "tokenizers")


def references_of(vocabulary: str) -> tuple[str, ...]:
    """The references that know a vocabulary.

    For a SentencePiece model: sentencepiece, and tokenizers with the ``tokenizer.json`` made of it; where the two
    differ, a library that reads the one file cannot be asked for the ids of the other.
    """
    if vocabulary == "subword_nmt":
        return ("subword-nmt",)
    if vocabulary == "gpt2":
        return ("tiktoken", "tokenizers")
    if vocabulary in GPT2_BEGINNINGS:
        return ("tokenizers",)
    family = family_of(vocabulary)
    if family == "byte_bpe":
        return ("tiktoken",)
    return ("sentencepiece", "tokenizers") if family in {"unigram", "sentencepiece_bpe"} else ("tokenizers",)


def serves(name: str, vocabulary: str) -> bool:
    """Whether a backend is tried with a vocabulary."""
    return family_of(vocabulary) in BACKENDS[name].families


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
    """Right ids of the texts, by one of :data:`REFERENCES`."""
    if reference == "tokenizers":
        rows = hf_tokenizer(vocabulary).encode_batch_fast(texts, add_special_tokens=False)
        return from_lists([row.ids for row in rows])
    if reference == "sentencepiece":
        return from_lists(sentencepiece_processor(vocabulary).encode(texts))
    if reference == "subword-nmt":
        backend = sentencepiece_peers.SubwordNmt(vocabulary)
        return backend.flat(backend.encode_batch(texts))
    name = VOCABULARIES[vocabulary]
    assert name is not None
    return from_lists(tiktoken_encoding(name).encode_ordinary_batch(texts, num_threads=1))
