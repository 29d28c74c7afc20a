"""Peers that read SentencePiece models, and subword-nmt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.references import family_of, sentencepiece_file, source_path, tokenizer_json_path

from .backend import Backend, Flat, from_lists

__all__ = ["Kitoken", "Sentencepiece", "SubwordNmt"]


class Sentencepiece(Backend):
    """sentencepiece, the reference of ``.model`` files."""

    distribution = module = "sentencepiece"
    slow = True
    families = ("unigram", "sentencepiece_bpe")
    batch_call = "`encode(list, num_threads=threads)` -> lists"
    one_call = "`encode(text)` -> list"

    def load(self) -> None:
        from sentencepiece import SentencePieceProcessor

        self.processor = SentencePieceProcessor(model_file=str(sentencepiece_file(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.processor.encode(texts, num_threads=self.threads)

    def encode_spans(self, texts: list[str]) -> Any:
        """Ids and character spans of every text."""
        return self.processor.encode(texts, out_type="offset_mapping", num_threads=self.threads)

    def encode_one(self, text: str) -> Any:
        return self.processor.encode(text)

    def flat(self, out: Any) -> Flat:
        return from_lists(out)

    def decode_one(self, ids: Any) -> str:
        return self.processor.decode(ids)

    def decode_batch(self, rows: Any) -> Any:
        return self.processor.decode(rows)


class Kitoken(Backend):
    """kitoken: lists of ids, on one thread."""

    distribution = module = "kitoken"
    slow = True
    families = ("unigram", "sentencepiece_bpe", "wordpiece", "character_bpe", "staged")
    batch_call = "`encode_all(list)` -> lists"
    one_call = "`encode(text)` -> list"

    def load(self) -> None:
        from kitoken import Kitoken as Library

        if family_of(self.vocabulary) in {"unigram", "sentencepiece_bpe"}:
            self.tokenizer = Library.from_sentencepiece_file(str(sentencepiece_file(self.vocabulary)))
        else:
            self.tokenizer = Library.from_tokenizers_file(str(tokenizer_json_path(self.vocabulary)))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_all(texts)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text)

    def flat(self, out: Any) -> Flat:
        return from_lists(out)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids).decode()


class SubwordNmt(Backend):
    """subword-nmt, the reference of its codes; written in Python, it gives tokens and keeps words for an instance."""

    distribution = "subword-nmt"
    module = "subword_nmt"
    slow = True
    families = ("character_bpe",)
    batch_call = "`segment_tokens(text.split(' '))` in a loop -> lists of tokens"
    one_call = "`segment_tokens(text.split(' '))` -> tokens"

    def load(self) -> None:
        from subword_nmt.apply_bpe import BPE

        from vocab_tools.formats.subword_codes import read

        if self.vocabulary != "subword_nmt":
            raise ValueError(f"reads codes only, not {self.vocabulary!r}")
        path = source_path(self.vocabulary)
        assert isinstance(path, Path)
        with path.open(encoding="utf-8") as codes:
            self.bpe = BPE(codes)
        described = read(path)
        self.ids = dict(described.vocabulary)
        self.unknown = described.unknown

    def encode_batch(self, texts: list[str]) -> Any:
        return [self.encode_one(text) for text in texts]

    def encode_one(self, text: str) -> Any:
        return self.bpe.segment_tokens(text.strip("\r\n ").split(" "))

    def flat(self, out: Any) -> Flat:
        return from_lists([self.flat_one(row) for row in out])

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.array([self.ids.get(token, self.unknown) for token in out], dtype=np.int64)
