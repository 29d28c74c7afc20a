"""Small checkpoint folders of the tokenizer classes that transformers writes in Python: Marian, M2M100, CTRL."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sentencepiece

import numba_nlp as nlp
from vocab_tools.checkpoints.families.ctrl import describe_ctrl
from vocab_tools.checkpoints.families.m2m100 import describe_m2m100
from vocab_tools.checkpoints.families.marian import describe_marian

REPOSITORY = Path(__file__).resolve().parent.parent
HAMLET = (REPOSITORY / "examples/data/hamlet_gut.txt").read_text(encoding="utf-8").splitlines()
GREEK = [
    "Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν, καὶ θεὸς ἦν ὁ λόγος.",
    "οὗτος ἦν ἐν ἀρχῇ πρὸς τὸν θεόν. πάντα δι' αὐτοῦ ἐγένετο",
    "ζωὴ ἦν, καὶ ἡ ζωὴ ἦν τὸ φῶς τῶν ἀνθρώπων: ἡ σκοτία αὐτὸ οὐ κατέλαβεν.",
    "日本語 の 本 を 読む 人 と 語 る",
] * 40  # fmt: skip
_DESCRIBERS = {"marian": describe_marian, "m2m100": describe_m2m100, "ctrl": describe_ctrl}
FRAGMENTS = [
    *"abcdeéstTHE'  .,!?\n\t\x1c\x85\u3000<>_|@@#5日本語λόγος\u0301İſKﬁ①가\U0001f44d\x00\u2581\u2047",
    ">>", "<<", ">>fra<<", ">>ell<<", ">>x y<<", "<s>", "</s>", "<pad>", "<unk>", "__en__", "__fr__", "__xx__", "<x>",
    "the", "@@ ", "ing", " the ", "日本", "λόγος", "ὁ λ", "the king", " n't", " .", "<0x41>",
]  # fmt: skip


def fuzzed(n: int, seed: int = 7) -> list[str]:
    """Texts of fragments that matter to these classes."""
    choose = random.Random(seed)
    texts = ["".join(choose.choices(FRAGMENTS, k=choose.randint(0, 18))) for _ in range(n)]
    return texts + [choose.choice((">>fra<<", ">>x y<<", ">>ell<< ")) + text for text in texts[: n // 4]]


def train(path: Path, lines: Iterable[str], vocab_size: int, **options: Any) -> None:
    """Train a SentencePiece model."""
    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_writer=stream,
        vocab_size=vocab_size,
        minloglevel=2,
        hard_vocab_limit=False,
        **options,
    )
    path.write_bytes(stream.getvalue())


def pieces_of(path: Path) -> list[str]:
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.IdToPiece(number) for number in range(model.GetPieceSize())]


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def numbered(tokens: Iterable[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def marian_folder(folder: Path, *, separate: bool = False, model_type: str = "unigram", **config: Any) -> Path:
    """A Marian checkpoint whose list lacks some pieces and holds what the source's model does not know."""
    train(folder / "source.spm", HAMLET[:1500], 400, model_type=model_type, character_coverage=0.99)
    train(folder / "target.spm", [*GREEK, *HAMLET[:20]], 150, model_type=model_type)
    source, target = (pieces_of(folder / name) for name in ("source.spm", "target.spm"))
    tokens = ["</s>", "<unk>", *source[3:300], *source[320:], ">>fra<<", ">>ell<<"]
    if separate:
        write_json(folder / "vocab.json", numbered([*tokens, "日本", "<pad>"]))
        write_json(folder / "target_vocab.json", numbered(["<pad>", "</s>", *target[3:120], "<unk>", "λόγος", "the"]))
        config["separate_vocabs"] = True
    else:
        write_json(folder / "vocab.json", numbered([*tokens, *target[3:], "日本", "κ", "<pad>"]))
    write_json(folder / "tokenizer_config.json", {"source_lang": "en", "target_lang": "el", **config})
    write_json(folder / "config.json", {"model_type": "marian"})
    return folder


def m2m100_folder(folder: Path, **config: Any) -> Path:
    """An M2M100 checkpoint with a small BPE model."""
    train(folder / "sentencepiece.bpe.model", [*HAMLET[:1500], *GREEK], 500, model_type="bpe", character_coverage=0.995)
    pieces = pieces_of(folder / "sentencepiece.bpe.model")
    write_json(folder / "vocab.json", numbered(["<s>", "<pad>", "</s>", "<unk>", *pieces[3:400], *pieces[420:], "ﬁ"]))
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer", **config})
    write_json(folder / "config.json", {"model_type": "m2m_100"})
    return folder


def ctrl_folder(folder: Path, **config: Any) -> Path:
    """A CTRL checkpoint with a few merges."""
    merges = ["t h", "th e</w>", "i n", "in g</w>", "a b", "ab c</w>", "s t", "th e", "k ing</w>", "e r"]
    letters = "abcdefghiklmnorstuvw.,!<>@"
    tokens = ["<unk>", *letters, *(f"{letter}@@" for letter in letters)]
    tokens += ["th@@", "the", "in@@", "ing", "ab@@", "abc", "st", "st@@", "the@@", "\u2047", "\n", "a\n", "the\n"]
    write_json(folder / "vocab.json", numbered(tokens))
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges, ""]), encoding="utf-8")
    write_json(folder / "tokenizer_config.json", config)
    write_json(folder / "config.json", {"model_type": "ctrl"})
    return folder


def load(kind: str, folder: Path, given: Mapping[str, Any] | None = None, **options: Any) -> nlp.Tokenizer:
    """Our tokenizer of a folder."""
    assert kind in ("marian", "m2m100", "ctrl")
    return nlp.load_tokenizer(folder, **{**(given or {}), **options})
