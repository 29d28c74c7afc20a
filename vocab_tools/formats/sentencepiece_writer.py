"""Writer of SentencePiece ``.model`` files, of all model types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from numba_nlp._atomic import atomic_writer
from vocab_tools.formats.charsmap import Charsmap, join_charsmap
from vocab_tools.formats.description import KIND_BYTE, KIND_CONTROL, KIND_NORMAL, KIND_USER_DEFINED
from vocab_tools.formats.sentencepiece_model import (
    KIND_UNKNOWN,
    KIND_UNUSED,
    MODEL_TYPES,
    NormalizerSpec,
    SentencePieceModel,
)

if TYPE_CHECKING:
    from vocab_tools.formats import sentencepiece_pb2

__all__ = ["serialize", "write_model"]

_TYPES = {
    KIND_NORMAL: 1,
    KIND_UNKNOWN: 2,
    KIND_CONTROL: 3,
    KIND_USER_DEFINED: 4,
    KIND_UNUSED: 5,
    KIND_BYTE: 6,
}
_TYPE_NUMBERS = {name: number for number, name in MODEL_TYPES.items()}


def serialize(model: SentencePieceModel, settings: Mapping[str, Any] | None = None) -> bytes:
    """The bytes of a ``.model`` file.

    Parameters
    ----------
    model : SentencePieceModel
    settings : Mapping of str to object, optional
        How the model was trained, under the names of ``spm_train``; those that the format records are written, nothing
        depends on them. What ``model`` says goes before.

    Returns
    -------
    bytes
        The same for equal models and settings.

    Raises
    ------
    ValueError
        A score is not finite, or a kind or the model type has no number in the format.
    """
    from vocab_tools.formats.sentencepiece_pb2 import ModelProto

    message = ModelProto()
    trainer = message.trainer_spec
    _fill_settings(trainer, settings or {})
    if model.model_type not in _TYPE_NUMBERS:
        raise ValueError(f"the model type is {model.model_type!r}, known are {', '.join(_TYPE_NUMBERS)}")
    trainer.model_type = _TYPE_NUMBERS[model.model_type]
    trainer.vocab_size = len(model.pieces)
    trainer.byte_fallback = model.byte_fallback
    trainer.treat_whitespace_as_suffix = model.normalizer.whitespace_as_suffix
    for key in ("unk_id", "bos_id", "eos_id", "pad_id"):
        setattr(trainer, key, getattr(model, key))
    for key in ("unk_piece", "bos_piece", "eos_piece", "pad_piece"):
        setattr(trainer, key, getattr(model, key).encode())
    trainer.unk_surface = model.unk_surface
    for i, (piece, score, kind) in enumerate(
        zip(model.pieces, model.scores.tolist(), model.kinds.tolist(), strict=True)
    ):
        if not np.isfinite(score):
            raise ValueError(f"pieces[{i}] ({piece.decode()!r}): the score is {score}, not a number")
        if kind not in _TYPES:
            raise ValueError(f"pieces[{i}] ({piece.decode()!r}): kind {kind} is none of {sorted(_TYPES)}")
        message.pieces.add(piece=piece, score=score, type=_TYPES[kind])
    _fill_normalizer(message.normalizer_spec, model.normalizer)
    if model.denormalizer is not None:
        _fill_normalizer(message.denormalizer_spec, model.denormalizer)
    for text, expected in model.self_test:
        message.self_test_data.samples.add(input=text, expected=expected)
    return bytes(message.SerializeToString(deterministic=True))


def _fill_settings(trainer: sentencepiece_pb2.TrainerSpec, settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        field = trainer.DESCRIPTOR.fields_by_name.get(key)
        if field is None or key == "model_type":
            continue
        if isinstance(value, str):
            setattr(trainer, key, value.encode())
        elif isinstance(value, Sequence):
            getattr(trainer, key).extend(item.encode() for item in value)
        else:
            setattr(trainer, key, value)


def _fill_normalizer(message: sentencepiece_pb2.NormalizerSpec, spec: NormalizerSpec) -> None:
    message.name = spec.name.encode()
    message.precompiled_charsmap = _blob(spec.charsmap)
    message.add_dummy_prefix = spec.add_dummy_prefix
    message.remove_extra_whitespaces = spec.remove_extra_whitespaces
    message.escape_whitespaces = spec.escape_whitespaces


def _blob(charsmap: Charsmap | None) -> bytes:
    return b"" if charsmap is None else join_charsmap(charsmap)


def write_model(path: str | Path, model: SentencePieceModel, settings: Mapping[str, Any] | None = None) -> None:
    """Write a ``.model`` file, whole or not at all.

    Parameters
    ----------
    path : str or Path
    model, settings
        See :func:`serialize`.

    Raises
    ------
    ValueError
        See :func:`serialize`.
    OSError
        The file cannot be written.
    """
    content = serialize(model, settings)
    with atomic_writer(path) as stream:
        stream.write(content)
