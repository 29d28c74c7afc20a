"""Peers that read ranks, ``vocab.txt`` or ``tokenizer.json``, each in its fastest form that ends in flat ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tools.references import (
    GPT2_BEGINNINGS,
    VOCABULARIES,
    WORDPIECE,
    family_of,
    hf_tokenizer,
    source_path,
    tiktoken_encoding,
    tokenizer_json_path,
    untemplated_json_path,
)

from .backend import Backend, Flat, from_buffers, from_lists

__all__ = [
    "Blingfire",
    "Fastokens",
    "Gigatoken",
    "Nanotoken",
    "Snaptokens",
    "Splintr",
    "Tiktoken",
    "Tokenizers",
    "Tokie",
]

#: All families that have a ``tokenizer.json``.
FAMILIES = ("byte_bpe", "unigram", "sentencepiece_bpe", "wordpiece", "character_bpe", "staged")


class Tiktoken(Backend):
    """tiktoken, the reference of ``.tiktoken`` vocabularies."""

    distribution = module = "tiktoken"
    slow = True
    batch_call = "`encode_ordinary_batch(list)` -> lists; one thread: `encode_ordinary` in a loop"
    one_call = "`encode_ordinary(text)` -> list"

    def load(self) -> None:
        name = VOCABULARIES.get(self.vocabulary)
        if name is None:
            raise ValueError(f"has no encoding {self.vocabulary!r}")
        self.encoding = tiktoken_encoding(name)

    def load_anew(self) -> None:
        # the function keeps what it loads; wrapped in it is the one that loads
        tiktoken_encoding.__wrapped__(VOCABULARIES[self.vocabulary]).encode_ordinary(".")

    def encode_batch(self, texts: list[str]) -> Any:
        if self.threads == 1:
            encode = self.encoding.encode_ordinary
            return [encode(text) for text in texts]
        return self.encoding.encode_ordinary_batch(texts, num_threads=self.threads)

    def encode_one(self, text: str) -> Any:
        return self.encoding.encode_ordinary(text)

    def flat(self, out: Any) -> Flat:
        return from_lists(out)

    def decode_one(self, ids: Any) -> str:
        return self.encoding.decode(ids)

    def decode_batch(self, rows: Any) -> Any:
        return self.encoding.decode_batch(rows, num_threads=self.threads)


class Tokenizers(Backend):
    """Hugging Face tokenizers, the reference of ``tokenizer.json``."""

    distribution = module = "tokenizers"
    slow = True
    families = FAMILIES
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
        return from_lists([encoding.ids for encoding in out])

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.asarray(out.ids, dtype=np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def decode_batch(self, rows: Any) -> Any:
        return self.tokenizer.decode_batch(rows, skip_special_tokens=False)


class Gigatoken(Backend):
    """gigatoken: an awkward array of ids; with one thread on the calling thread, which is its faster way."""

    distribution = module = "gigatoken"
    families = FAMILIES
    batch_call = "`encode_batch(list, parallel=threads > 1)` -> awkward array"
    one_call = "`encode(text)` -> uint32 array"

    def load(self) -> None:
        from gigatoken import Tokenizer

        if self.vocabulary in ("gpt2", *GPT2_BEGINNINGS) or family_of(self.vocabulary) != "byte_bpe":
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

    def count_batch(self, texts: list[str]) -> Any:
        import awkward

        return awkward.num(self.encode_batch(texts))

    def ids_for_decode(self, ids: NDArray[np.int64]) -> Any:
        return ids.astype(np.uint32)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids).decode()


class Fastokens(Backend):
    """fastokens: two byte buffers, ids and offsets. Its segment cache is off by default and stays off."""

    distribution = module = "fastokens"
    families = FAMILIES
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
        return from_buffers(out)

    def count_batch(self, texts: list[str]) -> Any:
        return np.diff(np.frombuffer(self.encode_batch(texts)[1], np.uint64))

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
    families = FAMILIES
    batch_call = "`encode_batch_flat(list)` -> two buffers"
    one_call = "`encode_flat(text)` -> buffer"

    def load(self) -> None:
        import splintr

        templated = family_of(self.vocabulary) != "byte_bpe"
        path = (untemplated_json_path if templated else tokenizer_json_path)(self.vocabulary)
        self.tokenizer = splintr.from_json(str(path))

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode_flat(text)

    def flat(self, out: Any) -> Flat:
        return from_buffers(out)

    def count_batch(self, texts: list[str]) -> Any:
        return np.diff(np.frombuffer(self.encode_batch(texts)[1], np.uint64))

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

        lowercase = WORDPIECE[self.vocabulary][2]
        self.tokenizer = Tokenizer.from_vocab(str(source_path(self.vocabulary)), lowercase=lowercase)
        # it keeps words for the whole process
        self.tokenizer.clear_cache()

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False, parallel=self.threads > 1)

    def encode_one(self, text: str) -> Any:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def flat(self, out: Any) -> Flat:
        return np.asarray(out.ids).astype(np.int64), np.asarray(out.offsets).astype(np.int64)

    def count_batch(self, texts: list[str]) -> Any:
        return np.diff(self.encode_batch(texts).offsets)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Tokie(Backend):
    """tokie: ids and lengths as arrays; it takes the threads of its pool."""

    distribution = module = "tokie"
    families = ("unigram", "sentencepiece_bpe", "wordpiece", "character_bpe")
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

    def count_batch(self, texts: list[str]) -> Any:
        return self.encode_batch(texts)[1]

    def flat_one(self, out: Any) -> NDArray[np.int64]:
        return np.asarray(out.ids, dtype=np.int64)

    def decode_one(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)


class Blingfire(Backend):
    """BlingFire with the model that it ships: one call a text, no threads, no decoding by ids of this vocabulary."""

    distribution = module = "blingfire"
    slow = True
    families = ("unigram", "wordpiece")
    #: Vocabulary -> name of the model.
    models: ClassVar[dict[str, str]] = {
        "bert_uncased": "bert_base_tok",
        "bert_cased": "bert_base_cased_tok",
        "bert_chinese": "bert_chinese",
        "bert_multilingual": "bert_multi_cased",
        "xlnet": "xlnet",
        "xlmr": "xlm_roberta_base",
    }
    batch_call = "`text_to_ids(text)` in a loop -> arrays"
    one_call = "`text_to_ids(text)` -> array"

    def load(self) -> None:
        import blingfire

        if self.vocabulary not in self.models:
            raise ValueError(f"ships no model of {self.vocabulary!r}")
        folder = Path(blingfire.__file__).parent
        self.model = blingfire.load_model(str(folder / f"{self.models[self.vocabulary]}.bin"))
        self._encode = blingfire.text_to_ids
        wordpiece = family_of(self.vocabulary) == "wordpiece"
        self.unknown = hf_tokenizer(self.vocabulary).token_to_id("[UNK]" if wordpiece else "<unk>")

    def encode_batch(self, texts: list[str]) -> Any:
        # room for one id a byte
        return [self._encode(self.model, text, 4 * len(text) + 1, self.unknown, True) for text in texts]

    def encode_one(self, text: str) -> Any:
        return self._encode(self.model, text, 4 * len(text) + 1, self.unknown, True)

    def flat(self, out: Any) -> Flat:
        offsets = np.zeros(len(out) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in out], out=offsets[1:])
        return np.concatenate([np.asarray(row, np.int64) for row in out]), offsets
