"""Stages and models as a ``tokenizer.json`` writes them, for the classes that build theirs from vocabulary files."""

from __future__ import annotations

import base64
from typing import Any

__all__ = [
    "WORD_START",
    "bpe",
    "bytes_decoder",
    "metaspace",
    "precompiled",
    "regex",
    "sequence",
    "string",
    "strip_decoder",
    "unigram",
    "word_metaspace",
]

Json = dict[str, Any]

#: U+2581, which SentencePiece writes for a space.
WORD_START = "\u2581"
_INNER = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}


def unigram(vocab: list[tuple[str, float]], unk_id: int, *, byte_fallback: bool = False) -> Json:
    """A Unigram model."""
    pieces = [[piece, float(score)] for piece, score in vocab]
    return {"type": "Unigram", "unk_id": unk_id, "vocab": pieces, "byte_fallback": byte_fallback}


def bpe(
    vocab: dict[str, int],
    merges: list[tuple[str, str]],
    *,
    unk_token: str | None = None,
    byte_fallback: bool = False,
    ignore_merges: bool = False,
) -> Json:
    """A BPE model over characters, whose unknown characters are taken together."""
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unk_token,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": byte_fallback,
        "ignore_merges": ignore_merges,
        "vocab": vocab,
        "merges": [list(merge) for merge in merges],
    }


def sequence(kind: str, stages: list[Json]) -> Json:
    """Several stages of one kind, ``"normalizer"``, ``"pre_tokenizer"`` or ``"decoder"``."""
    return {"type": "Sequence", _INNER[kind]: stages}


def string(pattern: str, content: str) -> Json:
    """``Replace`` of a string, as a normalizer or a decoder."""
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def regex(pattern: str, content: str) -> Json:
    """``Replace`` of what a regular expression matches."""
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def precompiled(charsmap: bytes) -> Json:
    """The normalizer of a SentencePiece model."""
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}


def metaspace(scheme: str = "always", *, split: bool = True) -> Json:
    """``Metaspace``, as a pre-tokenizer or a decoder; ``scheme`` says where a space is put in front."""
    return {"type": "Metaspace", "replacement": WORD_START, "prepend_scheme": scheme, "split": split}


def word_metaspace(scheme: str = "always") -> Json:
    """The pre-tokenizer of most Unigram classes: words, each marked at its start."""
    return sequence("pre_tokenizer", [{"type": "WhitespaceSplit"}, metaspace(scheme)])


def bytes_decoder(*, byte_fallback: bool = True, fuse: bool = True, strip: bool = True) -> Json:
    """The decoder of Llama: spaces, bytes, and (``strip``) without the space in front of the text."""
    stages: list[Json] = [string(WORD_START, " ")]
    if byte_fallback:
        stages.append({"type": "ByteFallback"})
    if fuse:
        stages.append({"type": "Fuse"})
    if strip:
        stages.append(strip_decoder())
    return sequence("decoder", stages)


def strip_decoder() -> Json:
    """Takes one space off the front."""
    return {"type": "Strip", "content": " ", "start": 1, "stop": 0}
