"""The smallest vocabularies on which dropout can be told by hand, in every form that has merges."""

from __future__ import annotations

import base64
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numba_nlp as nlp
from numba_nlp.byte_alphabet import BYTE_CHARACTERS
from vocab_tools.formats.sentencepiece_pb2 import ModelProto

__all__ = [
    "Model",
    "byte_bpe",
    "listed_bpe",
    "prefixed_bpe",
    "ranked_bytes",
    "scored_bpe",
    "subword_codes",
    "suffixed_bpe",
]


class Model(NamedTuple):
    """A tokenizer, the file that it comes from, the ids of its pieces, and its merges by ids: rank and product."""

    ours: nlp.Tokenizer
    content: bytes
    ids: dict[str, int]
    merges: dict[tuple[int, int], tuple[int, int]]


def _loaded(name: str, content: bytes, **options: Any) -> nlp.Tokenizer:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        return nlp.load_tokenizer(path, **options)


def _json(byte_level: bool, prefix: str = "", suffix: str = "") -> Model:
    """``a b``, ``b c``, ``ab c``, in this order; with the marks of these, and words between spaces."""
    letters = list(BYTE_CHARACTERS) if byte_level else ["<unk>", "a", "b", "c"]
    if prefix or suffix:
        letters = [
            "<unk>",
            *(before + one + after for one in "abc" for before in {"", prefix} for after in {"", suffix}),
        ]
        letters.sort()
    first, inner, last = "a", f"{prefix}b", f"{prefix}c{suffix}"
    pairs = [(first, inner), (inner, last), ("ab", last)]
    products = ["ab", f"{prefix}bc{suffix}", f"abc{suffix}"]
    ids = {piece: number for number, piece in enumerate([*letters, *products])}
    stage = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": stage if byte_level else {"type": "WhitespaceSplit"} if prefix or suffix else None,
        "post_processor": None,
        "decoder": stage if byte_level else {"type": "Fuse"},
        "model": {"type": "BPE", "dropout": None, "unk_token": None if byte_level else "<unk>",
                  "continuing_subword_prefix": prefix or None, "end_of_word_suffix": suffix or None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False, "vocab": ids,
                  "merges": [list(pair) for pair in pairs]},
    }  # fmt: skip
    encoded = json.dumps(content).encode()
    merges = {
        (ids[left], ids[right]): (rank, ids[product])
        for rank, ((left, right), product) in enumerate(zip(pairs, products, strict=True))
    }
    return Model(_loaded("tokenizer.json", encoded), encoded, ids, merges)


@cache
def byte_bpe() -> Model:
    """Byte-level BPE with a list of merges."""
    return _json(True)


@cache
def listed_bpe() -> Model:
    """BPE over characters with a list of merges, without any stage."""
    return _json(False)


@cache
def suffixed_bpe() -> Model:
    """BPE behind stages whose last piece of a word ends with ``</w>``."""
    return _json(False, suffix="</w>")


@cache
def prefixed_bpe() -> Model:
    """BPE behind stages whose pieces after the first of a word begin with ``##``."""
    return _json(False, prefix="##")


@cache
def ranked_bytes() -> Model:
    """A rank file: any two neighbours merge whose text is a piece."""
    pieces = [*(bytes([byte]) for byte in range(256)), b"ab", b"bc", b"abc"]
    lines = (base64.b64encode(piece) + b" %d\n" % number for number, piece in enumerate(pieces))
    content = b"".join(lines)
    ids = {piece.decode("latin-1"): number for number, piece in enumerate(pieces)}
    return Model(_loaded("toy.tiktoken", content, pattern="gpt2"), content, ids, {})


@cache
def scored_bpe() -> Model:
    """SentencePiece BPE; ``a`` and ``bc`` merge too."""
    model = ModelProto()
    pieces = ["<unk>", "a", "b", "c", "ab", "bc", "abc", "\u2581"]
    for number, piece in enumerate(pieces):
        model.pieces.add(piece=piece.encode(), score=-float(number), type=2 if number == 0 else 1)
    model.trainer_spec.model_type = 2
    model.normalizer_spec.name = b"identity"
    model.normalizer_spec.add_dummy_prefix = False
    content = model.SerializeToString()
    ids = {piece: number for number, piece in enumerate(pieces)}
    parts = [("a", "b", 0), ("b", "c", 1), ("ab", "c", 2), ("a", "bc", 2)]
    merges = {(ids[left], ids[right]): (rank, ids[left + right]) for left, right, rank in parts}
    return Model(_loaded("toy.model", content), content, ids, merges)


@cache
def subword_codes() -> Model:
    """Codes of subword-nmt."""
    content = b"#version: 0.2\na b\nb c</w>\nab c</w>\n"
    ours = _loaded("codes.bpe", content)
    ids = {token: ours.token_to_id(token) for token in ("a@@", "b@@", "c", "ab@@", "bc", "abc")}
    return Model(ours, content, ids, {})
