"""Texts to what a model takes: ids and mask as two matrices, cut and padded to one width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.references import hf_tokenizer

from .backends import Backend
from .common import Inexact, fresh, texts
from .corpora import CORPORA

#: Ids and mask of texts: integers [rows, WIDTH] each.
Matrices = tuple[NDArray[Any], NDArray[Any]]

WIDTH = 128
#: Vocabulary -> its padding token; GPT-2 has none, and is given its end of text, as is the custom.
PAD_TOKENS = {"gpt2": "<|endoftext|>", "bert_uncased": "[PAD]"}


def _ours(backend: Any, pad_token: str) -> Callable[[list[str]], Matrices]:
    tokenizer = backend.tokenizer

    def call(given: list[str]) -> Matrices:
        found = tokenizer(
            given, padding="max_length", truncation=True, max_length=WIDTH, pad_token=pad_token,
            return_attention_mask=True, return_token_type_ids=False, num_threads=1,
        )  # fmt: skip
        return found.input_ids, found.attention_mask

    return call


def _tokenizers(backend: Any, pad_token: str) -> Callable[[list[str]], Matrices]:
    tokenizer = backend.tokenizer
    tokenizer.enable_truncation(WIDTH)
    tokenizer.enable_padding(length=WIDTH, pad_id=tokenizer.token_to_id(pad_token), pad_token=pad_token)

    def call(given: list[str]) -> Matrices:
        rows = tokenizer.encode_batch_fast(given)
        return np.array([row.ids for row in rows]), np.array([row.attention_mask for row in rows])

    return call


def _transformers(backend: Any, pad_token: str) -> Callable[[list[str]], Matrices]:
    tokenizer = backend.tokenizer
    tokenizer.pad_token = pad_token

    def call(given: list[str]) -> Matrices:
        found = tokenizer(
            given, padding="max_length", truncation=True, max_length=WIDTH, return_token_type_ids=False,
            return_tensors="np",
        )  # fmt: skip
        return found["input_ids"], found["attention_mask"]

    return call


def _gigatoken(backend: Any, pad_token: str) -> Callable[[list[str]], Matrices]:
    tokenizer, pad_id = backend.tokenizer, hf_tokenizer(backend.vocabulary).token_to_id(pad_token)

    def call(given: list[str]) -> Matrices:
        ids, lengths = tokenizer.encode_batch_padded(
            given, pad_id, max_length=WIDTH, pad_to_max_length=True, truncate=True, parallel=False
        )
        return ids, (np.arange(WIDTH) < lengths[:, None]).astype(np.int64)

    return call


def _nanotoken(backend: Any, pad_token: str) -> Callable[[list[str]], Matrices]:
    tokenizer = backend.tokenizer

    def call(given: list[str]) -> Matrices:
        found = tokenizer.encode_batch_padded(
            given, max_length=WIDTH, padding="max_length", return_token_type_ids=False, parallel=False
        )
        return found["input_ids"], found["attention_mask"]

    return call


#: Backend -> what makes its call, for the libraries that pad.
PADDERS: dict[str, Callable[[Backend, str], Callable[[list[str]], Matrices]]] = {
    "numba_nlp": _ours,
    "gigatoken": _gigatoken,
    "nanotoken": _nanotoken,
    "tokenizers": _tokenizers,
    "transformers": _transformers,
}


class Padding:
    """The special tokens of the vocabulary, at most 128 ids a row, padding to 128; warm. Nobody makes types.

    Matrices are compared with those of tokenizers; a library that gives others is left out.
    """

    params = (list(PAD_TOKENS), list(CORPORA), list(PADDERS))
    param_names = ("vocabulary", "corpus", "backend")
    timeout = 120

    def setup(self, vocabulary: str, corpus: str, backend: str) -> None:
        self.texts = texts(corpus, 500_000)
        pad_token = PAD_TOKENS[vocabulary]
        self.call = PADDERS[backend](fresh(backend, vocabulary), pad_token)
        right = _tokenizers(fresh("tokenizers", vocabulary), pad_token)(self.texts)
        if not all(np.array_equal(one, other) for one, other in zip(self.call(self.texts), right, strict=True)):
            raise Inexact(f"{backend} gives other matrices than tokenizers")

    def time_padded(self, *_: str) -> None:
        self.call(self.texts)
