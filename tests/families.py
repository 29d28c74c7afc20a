"""One small tokenizer of every algorithm, beside what gives the same ids, for the tests that hold for all of them.

The vocabularies are trained on Hamlet here (in a tenth of a second all together) or are those that other tests use, so
that no kernel is compiled for this alone.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import sentencepiece
from tokenizers import Tokenizer as ReferenceTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import numba_nlp as nlp
from tests.made_tokenizers import HAMLET, Pair, bert, gpt2
from tests.staged_tokenizers import staged

__all__ = ["FAMILIES", "any_family", "character_bpe", "family", "sentencepiece_model", "special_text"]

_N_LINES = 1200


class Encoding(NamedTuple):
    """What sentencepiece says of a text, by the names of ``tokenizers``; its offsets are checked elsewhere."""

    ids: list[int]
    offsets: None = None


class SentencePieceReference:
    """sentencepiece with the methods of ``tokenizers`` that tests call."""

    def __init__(self, content: bytes) -> None:
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        self._is_bpe = b"<0x00>" in content

    def encode(self, text: str, *, add_special_tokens: bool = False) -> Encoding:
        assert not add_special_tokens, "a model file has no template"
        return Encoding(self._processor.encode(text))

    def decode(self, ids: list[int], *, skip_special_tokens: bool = False) -> str:
        del skip_special_tokens  # control pieces have no text
        return self._processor.decode(ids)

    def id_to_token(self, number: int) -> str:
        return self._processor.id_to_piece(number)

    def words(self, text: str) -> list[int]:
        """Word numbers by the pre-tokenizer ``Metaspace`` over the normalised text; of BPE it does not split."""
        pieces = self._processor.encode(text, out_type=str)
        if self._is_bpe:
            return [0] * len(pieces)
        spaces = pre_tokenizers.Metaspace(prepend_scheme="never")
        ends = np.cumsum([len(word) for word, _ in spaces.pre_tokenize_str("".join(pieces))])
        begins = np.cumsum([0, *map(len, pieces)])[:-1]
        return np.searchsorted(ends, begins, side="right").tolist()


def _lines() -> list[str]:
    return HAMLET.read_text(encoding="utf-8").splitlines()[:_N_LINES]


@lru_cache(maxsize=4)
def sentencepiece_model(kind: str) -> bytes:
    """File of a model of this type, with the options that sentencepiece has by default."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_lines()),
        model_writer=writer,
        model_type=kind,
        vocab_size=320,
        hard_vocab_limit=False,
        user_defined_symbols=["<sep>"],
        byte_fallback=kind == "bpe",
        num_threads=1,
        minloglevel=2,
    )
    return writer.getvalue()


@lru_cache(maxsize=4)
def _sentencepiece(kind: str) -> Pair:
    content = sentencepiece_model(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kind}.model"
        path.write_bytes(content)
        return Pair(nlp.load_tokenizer(path), SentencePieceReference(content))  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def character_bpe() -> Pair:
    """A small GPT: its preparation of text is BERT's, ``</w>`` ends words."""
    reference = ReferenceTokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    reference.normalizer = normalizers.BertNormalizer(lowercase=True)
    reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=500, end_of_word_suffix="</w>", special_tokens=["<unk>"], show_progress=False
    )
    reference.train_from_iterator(_lines(), trainer)
    reference.decoder = decoders.BPEDecoder(suffix="</w>")
    with tempfile.TemporaryDirectory() as folder:
        paths = reference.model.save(folder)
        return Pair(nlp.load_tokenizer(paths, family="openai-gpt"), reference)


#: Every algorithm that a vocabulary can name; a test sees to it that none is missing.
FAMILIES: dict[str, Callable[[], Pair]] = {
    "byte_bpe": gpt2,
    "wordpiece": bert,
    "unigram": lambda: _sentencepiece("unigram"),
    "sentencepiece_bpe": lambda: _sentencepiece("bpe"),
    "sentencepiece_word": lambda: _sentencepiece("word"),
    "sentencepiece_char": lambda: _sentencepiece("char"),
    "character_bpe": character_bpe,
    "staged_unigram": lambda: staged("unigram"),
    "staged_bpe": lambda: staged("bpe bytes fused"),
    "staged_wordpiece": lambda: staged("wordpiece"),
    "staged_marked_bpe": lambda: staged("marked fused"),
}
any_family = pytest.mark.parametrize("name", FAMILIES)


def family(name: str) -> nlp.Tokenizer:
    """Ours of one of :data:`FAMILIES`."""
    return FAMILIES[name]().ours


def special_text(ours: Any) -> tuple[str, str, int]:
    """A text with a special token in it, that token and its id."""
    token, number = max(ours.special_tokens.items(), key=lambda item: len(item[0]))
    return f"to be {token} or not", token, number
