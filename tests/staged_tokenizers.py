"""Small tokenizers behind general stages, each beside the ``tokenizers`` object with the same ids."""

from __future__ import annotations

import json
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

import numba_nlp as nlp
from tests.made_tokenizers import Pair

SPACE = "\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
_WORDS = [
    "the",
    "be",
    "to",
    "of",
    "not",
    "or",
    "is",
    "it",
    "that",
    "in",
    "and",
    "a",
    "question",
    "whether",
    "nobler",
    "mind",
    "suffer",
    "slings",
    "arrows",
    "fortune",
    "take",
    "arms",
    "sea",
    "troubles",
    "end",
    "them",
    "die",
    "sleep",
    "no",
    "more",
    "heart",
    "ache",
    "thousand",
    "natural",
    "shocks",
    "flesh",
    "heir",
    "consummation",
]
_LETTERS = "abcdefghijklmnopqrstuvwxyz,.'-!ABC0123\u00e9\u65e5"
_PARTS = ("th", "er", "ing", "in", "on", "ti", "es", "ou", "at", "al", "he", "an", "\u0301", "!!", "00")


def _unigram(byte_fallback: bool) -> models.Unigram:
    pieces = ["<pad>", "<unk>", "</s>", *(BYTES if byte_fallback else ()), SPACE]
    pieces += [SPACE + word for word in _WORDS] + [word[1:] for word in _WORDS if len(word) > 3]
    pieces += [*_LETTERS, *_PARTS, SPACE + "a" + SPACE]
    ordered = list(dict.fromkeys(pieces))
    scored = [(piece, 0.0 if number < 3 else -2.0 - (number * 37 % 101) / 7) for number, piece in enumerate(ordered)]
    return models.Unigram(scored, 1, byte_fallback)


def _bpe(byte_fallback: bool, fuse_unk: bool, ignore_merges: bool) -> models.BPE:
    vocab = dict.fromkeys(["<unk>", "<s>", "</s>", *(BYTES if byte_fallback else ()), SPACE, *_LETTERS])
    merges: list[tuple[str, str]] = []
    for word in [*_PARTS, *(SPACE + word for word in _WORDS), SPACE * 2, "..."]:
        made = word[0]
        if not all(character in vocab for character in word):
            continue
        for character in word[1:]:
            if (made, character) not in merges:
                merges.append((made, character))
            made += character
            vocab[made] = None
    vocab["never merged"] = None
    ids = {piece: number for number, piece in enumerate(vocab)}
    return models.BPE(
        ids, merges, unk_token="<unk>", fuse_unk=fuse_unk, byte_fallback=byte_fallback, ignore_merges=ignore_merges
    )


def _wordpiece() -> models.WordPiece:
    pieces = ["<unk>", "<s>", "</s>", *_LETTERS, *("##" + letter for letter in _LETTERS), *_WORDS]
    pieces += ["##" + part for part in (*_PARTS, "rows", "tion")]
    ids = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    return models.WordPiece(ids, unk_token="<unk>", max_input_chars_per_word=12)


def _marked(prefix: str, suffix: str, fuse_unk: bool, ignore_merges: bool) -> models.BPE:
    vocab = dict.fromkeys(["<unk>", "<s>", "</s>"])
    for letter in _LETTERS:
        vocab.update(dict.fromkeys((letter, prefix + letter, letter + suffix, prefix + letter + suffix)))
    merges: list[tuple[str, str]] = []
    for word in (*_PARTS, *_WORDS):
        parts = [(prefix if place else "") + letter for place, letter in enumerate(word)]
        parts[-1] += suffix
        made = parts[0]
        for part in parts[1:]:
            if made not in vocab or part not in vocab:
                break
            if (made, part) not in merges:
                merges.append((made, part))
            made += part[len(prefix) :]
            vocab[made] = None
    ids = {piece: number for number, piece in enumerate(vocab)}
    return models.BPE(
        ids, merges, unk_token="<unk>", fuse_unk=fuse_unk, ignore_merges=ignore_merges,
        continuing_subword_prefix=prefix, end_of_word_suffix=suffix,
    )  # fmt: skip


def _of_words(name: str) -> Tokenizer:
    """A model of words behind stages of words."""
    if name.startswith("wordpiece"):
        reference = Tokenizer(_wordpiece())
        reference.decoder = decoders.WordPiece("##", cleanup=True)
    else:
        prefix, suffix = ("##", "") if "prefix" in name else ("", "</w>")
        reference = Tokenizer(_marked(prefix, suffix, "fused" in name, "whole" in name))
        reference.decoder = decoders.WordPiece("##") if prefix else decoders.BPEDecoder("</w>")
    if "bert" in name:
        reference.normalizer = normalizers.BertNormalizer(lowercase=True)
        reference.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        reference.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
        reference.pre_tokenizer = pre_tokenizers.Whitespace()
    return reference


def made(name: str) -> Tokenizer:
    """The tokenizer of the reference."""
    metaspace = pre_tokenizers.Metaspace(SPACE, prepend_scheme="always")
    if name.startswith(("wordpiece", "marked")):
        reference = _of_words(name)
        template = "<s> $A </s>", [("<s>", 1), ("</s>", 2)]
    elif name.startswith("unigram"):
        reference = Tokenizer(_unigram("bytes" in name))
        reference.normalizer = normalizers.Sequence(
            [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip(left=False)]
        )
        reference.pre_tokenizer = metaspace
        reference.decoder = decoders.Metaspace(SPACE, prepend_scheme="always")
        if "words" in name:
            reference.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.StripAccents()])
            reference.pre_tokenizer = pre_tokenizers.Sequence(
                [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(), metaspace]
            )
        if "bytes" in name:
            reference.decoder = decoders.Sequence(
                [decoders.ByteFallback(), decoders.Metaspace(SPACE, prepend_scheme="always")]
            )
        template = "$A </s>", [("</s>", 2)]
    else:
        reference = Tokenizer(_bpe("bytes" in name, "fused" in name, "whole" in name))
        if "llama" in name:
            reference.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
        elif "plain" not in name:
            reference.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, prepend_scheme="first", split="cut" in name)
        reference.decoder = decoders.Sequence(
            [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
        template = "<s> $A", [("<s>", 1)]
    reference.post_processor = processors.TemplateProcessing(single=template[0], special_tokens=template[1])
    reference.add_special_tokens(["</s>", AddedToken("<mask>", lstrip=True, normalized=False)])
    reference.add_tokens([AddedToken("THE", normalized=True), AddedToken("[x]", normalized=False, rstrip=True)])
    return reference


NAMES = (
    "unigram",
    "unigram bytes",
    "unigram words",
    "bpe bytes fused",
    "bpe fused",
    "bpe",
    "bpe llama bytes",
    "bpe cut whole",
    "bpe plain whole fused",
    "wordpiece",
    "wordpiece bert",
    "marked fused",
    "marked bert whole",
    "marked prefix",
)


@lru_cache(maxsize=len(NAMES))
def staged(name: str) -> Pair:
    """One of :data:`NAMES`, twice."""
    return compiled(made(name))


def compiled(reference: Tokenizer) -> Pair:
    """What a reference saves, loaded by both."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        reference.save(str(path))
        return Pair(nlp.load_tokenizer(path), Tokenizer.from_file(str(path)))


def load_changed(folder: Path, name: str, **changes: Any) -> nlp.Tokenizer:
    """Ours, with some values of the file changed: ``model__unk_id=None``."""
    content = json.loads(made(name).to_str())
    for place, value in changes.items():
        *outer, key = place.split("__")
        inner = content
        for part in outer:
            inner = inner[part]
        inner[key] = value
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return nlp.load_tokenizer(path)
