"""The model part of a ``tokenizer.json`` with WordPiece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.piece_table import Place, check_ids, quote
from vocab_tools.formats.stages.stage import Stage

__all__ = ["WordPieceOptions", "is_wordpiece", "read_options", "read_vocab"]

_MODEL_FIELDS = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab")


class WordPieceOptions(NamedTuple):
    """Options of the model; ``unknown`` is a piece."""

    unknown: str
    prefix: str
    max_input_chars_per_word: int


def is_wordpiece(model: Stage) -> bool:
    """Whether a model is WordPiece; old files leave the type out, and then the fields tell."""
    if "type" in model.value:
        return bool(model.value["type"] == "WordPiece")
    return "merges" not in model.value and all(key in model.value for key in _MODEL_FIELDS)


def read_vocab(model: Stage, place: Place) -> dict[str, int]:
    """The pieces of the model and their ids.

    Raises
    ------
    SourceFormatError
    UnsupportedFeatureError
    """
    model.only("type", *_MODEL_FIELDS)
    return check_ids(model.need("vocab").value, place)


def read_options(model: Stage, vocab: Mapping[str, int]) -> WordPieceOptions:
    """The options of the model.

    Raises
    ------
    SourceFormatError
    """
    unknown = model.need("unk_token").expect(str, "a token")
    if unknown not in vocab:
        raise SourceFormatError(f"{model.below('unk_token')}: {quote(unknown)} is no piece of model.vocab")
    limit = model.need("max_input_chars_per_word").expect(int, "a number of characters")
    if limit < 0:
        raise SourceFormatError(f"{model.below('max_input_chars_per_word')}: expected 0 or more, got {limit}")
    return WordPieceOptions(unknown, model.need("continuing_subword_prefix").expect(str, "a prefix"), limit)
