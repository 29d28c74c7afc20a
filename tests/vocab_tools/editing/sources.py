"""One small source of every format that can be changed, and how its own library encodes with it."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece
import tiktoken
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from numba_nlp.byte_alphabet import bytes_of
from tests.made_tokenizers import HAMLET, roberta_like
from tests.vocab_tools.sources import TEXT, train, write_ranks
from vocab_tools.compiler.patterns import choose_pattern

LINES = HAMLET.read_text(encoding="utf-8").splitlines()[:1200]


class Source(NamedTuple):
    """Files, options of their reader, and the library's encoder for such files and options."""

    paths: Any
    options: dict[str, Any]
    encoder: Callable[[Any, dict[str, Any]], Callable[[str], list[int]]]


@lru_cache(maxsize=2)
def _model_content(kind: str) -> bytes:
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=writer, model_type=kind, vocab_size=700, num_threads=1,
        user_defined_symbols=["<sep>"], byte_fallback=kind == "bpe", minloglevel=2,
    )  # fmt: skip
    return writer.getvalue()


def _model(kind: str) -> Callable[[Path], Source]:
    def make(folder: Path) -> Source:
        path = folder / "made.model"
        path.write_bytes(_model_content(kind))
        return Source(path, {}, lambda file, _: sentencepiece.SentencePieceProcessor(model_file=str(file)).encode)

    return make


def _of_json(path: Any, _: Any) -> Callable[[str], list[int]]:
    tokenizer = Tokenizer.from_file(str(path))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def _byte_level_json(folder: Path) -> Source:
    path = folder / "tokenizer.json"
    roberta_like().reference.save(str(path))
    return Source(path, {}, _of_json)


def _unigram_json(folder: Path) -> Source:
    path = folder / "tokenizer.json"
    reference = Tokenizer(models.Unigram())
    reference.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, unk_token="<unk>", special_tokens=["<s>", "<unk>"], show_progress=False
    )
    reference.train_from_iterator(LINES[:400], trainer)
    reference.save(str(path))
    return Source(path, {}, _of_json)


def _pair(folder: Path) -> Source:
    vocab, merges = (Path(path) for path in train(420, special_tokens=["<|endoftext|>"]).model.save(str(folder)))

    def encoder(paths: Any, _: Any) -> Callable[[str], list[int]]:
        reference = Tokenizer(models.BPE.from_file(*map(str, paths)))
        reference.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        return lambda text: reference.encode(text).ids

    return Source((vocab, merges), {}, encoder)


def _ranks(folder: Path) -> Source:
    learnt = train(420).get_vocab()
    pieces = sorted((number, bytes_of(piece)) for piece, number in learnt.items())
    path = write_ranks(folder / "made.tiktoken", {piece: number for number, piece in pieces})

    def encoder(file: Any, options: dict[str, Any]) -> Callable[[str], list[int]]:
        lines = (line.split() for line in Path(file).read_bytes().splitlines())
        encoding = tiktoken.Encoding(
            "made",
            pat_str=choose_pattern(options["pattern"], "tiktoken").regex,
            mergeable_ranks={base64.b64decode(piece): int(rank) for piece, rank in lines},
            special_tokens=options["special_tokens"],
        )
        return lambda text: encoding.encode(text, allowed_special="all")

    return Source(path, {"pattern": "gpt2", "special_tokens": {"<|end|>": 425}}, encoder)


def _words(folder: Path) -> Source:
    path = folder / "vocab.txt"
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer()
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    trained.train_from_iterator(LINES[:400], trainer)
    ids = trained.get_vocab()
    path.write_text("".join(f"{token}\n" for token in sorted(ids, key=ids.__getitem__)), encoding="utf-8")

    def encoder(file: Any, _: Any) -> Callable[[str], list[int]]:
        reference = Tokenizer(models.WordPiece.from_file(str(file), unk_token="[UNK]"))
        reference.normalizer = normalizers.BertNormalizer()
        reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return lambda text: reference.encode(text, add_special_tokens=False).ids

    return Source(path, {}, encoder)


#: By name: makes the files in a folder.
SOURCES: dict[str, Callable[[Path], Source]] = {
    "unigram model": _model("unigram"),
    "bpe model": _model("bpe"),
    "byte-level json": _byte_level_json,
    "unigram json": _unigram_json,
    "merges": _pair,
    "ranks": _ranks,
    "words": _words,
}
#: Where each is written to.
TARGETS = {"unigram model": "new.model", "bpe model": "new.model", "ranks": "new.tiktoken", "words": "new.vocab.txt"}


def target_of(name: str, folder: Path) -> Path:
    """Where a changed source is written; a folder for two files."""
    return folder / ("new" if name == "merges" else TARGETS.get(name, "new.json"))


def texts() -> list[str]:
    """What a vocabulary is cut down to."""
    return [*LINES[:40], *TEXT[:2]]
