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

__all__ = ["Model", "byte_bpe", "listed_bpe", "ranked_bytes", "scored_bpe", "subword_codes"]


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


def _json(byte_level: bool) -> Model:
    """``a b``, ``b c``, ``ab c``, in this order."""
    letters = list(BYTE_CHARACTERS) if byte_level else ["<unk>", "a", "b", "c"]
    ids = {piece: number for number, piece in enumerate([*letters, "ab", "bc", "abc"])}
    pairs = [("a", "b"), ("b", "c"), ("ab", "c")]
    stage = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    content = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": stage if byte_level else None, "post_processor": None,
        "decoder": stage if byte_level else {"type": "Fuse"},
        "model": {"type": "BPE", "dropout": None, "unk_token": None if byte_level else "<unk>",
                  "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False, "vocab": ids,
                  "merges": [list(pair) for pair in pairs]},
    }  # fmt: skip
    encoded = json.dumps(content).encode()
    merges = {(ids[left], ids[right]): (rank, ids[left + right]) for rank, (left, right) in enumerate(pairs)}
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
