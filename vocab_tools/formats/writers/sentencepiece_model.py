"""A SentencePiece ``.model`` file of pieces, scores, kinds and settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.sentencepiece_model import KIND_UNKNOWN, KIND_UNUSED, MODEL_TYPES

__all__ = ["ModelParts", "model_bytes"]

_TYPE_NUMBERS = {
    KIND_NORMAL: 1, KIND_UNKNOWN: 2, KIND_CONTROL: 3, KIND_USER_DEFINED: 4, KIND_UNUSED: 5, KIND_BYTE: 6,
}  # fmt: skip
_MODEL_NUMBERS = {name: number for number, name in MODEL_TYPES.items()}


@dataclass(frozen=True)
class ModelParts:
    """What a model file states.

    Attributes
    ----------
    model_type : {"unigram", "bpe", "word", "char"}
    pieces : sequence of str
        By id.
    scores : sequence of float
        As float32 holds them.
    kinds : sequence of int
        Kinds of :mod:`vocab_tools.formats.description`, and those of
        :mod:`vocab_tools.formats.sentencepiece_model`.
    charsmap : bytes
        As the file has it; empty: no rules.
    byte_fallback, add_dummy_prefix, remove_extra_whitespaces : bool
    normalizer_name : str
    named : dict of str to str
        Names of the unknown piece and of the control pieces, by ``"unk"``, ``"bos"``, ``"eos"`` and ``"pad"``.
    """

    model_type: str
    pieces: Sequence[str] = field(repr=False)
    scores: Sequence[float] = field(repr=False)
    kinds: Sequence[int] = field(repr=False)
    charsmap: bytes = field(default=b"", repr=False)
    byte_fallback: bool = False
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    normalizer_name: str = "user_defined"
    named: dict[str, str] = field(default_factory=dict)


def model_bytes(parts: ModelParts) -> bytes:
    """The file; equal parts give equal bytes.

    Parameters
    ----------
    parts : ModelParts

    Returns
    -------
    bytes
    """
    from vocab_tools.formats.sentencepiece_pb2 import ModelProto

    model = ModelProto()
    for piece, score, kind in zip(parts.pieces, parts.scores, parts.kinds, strict=True):
        entry = model.pieces.add()
        entry.piece = piece.encode()
        entry.score = score
        if kind != KIND_NORMAL:
            entry.type = _TYPE_NUMBERS[kind]
    trainer = model.trainer_spec
    trainer.model_type = _MODEL_NUMBERS[parts.model_type]
    trainer.byte_fallback = parts.byte_fallback
    ids = {piece: number for number, piece in enumerate(parts.pieces)}
    for key in ("unk", "bos", "eos"):
        setattr(trainer, f"{key}_id", ids.get(parts.named.get(key, ""), -1))
    for key, piece in parts.named.items():
        setattr(trainer, f"{key}_piece", piece.encode())
    normalizer = model.normalizer_spec
    normalizer.name = parts.normalizer_name.encode()
    normalizer.precompiled_charsmap = parts.charsmap
    normalizer.add_dummy_prefix = parts.add_dummy_prefix
    normalizer.remove_extra_whitespaces = parts.remove_extra_whitespaces
    normalizer.escape_whitespaces = True
    content: bytes = model.SerializeToString(deterministic=True)
    return content
