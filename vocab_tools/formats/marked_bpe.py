"""The model part of a ``tokenizer.json`` with BPE whose pieces are marked by a prefix or a suffix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.piece_table import quote
from vocab_tools.formats.stages.stage import Stage

__all__ = ["MARKS", "MarkedOptions", "is_marked_bpe", "read_marked_options"]

#: Fields of the two marks.
MARKS = ("continuing_subword_prefix", "end_of_word_suffix")
_MODEL_FIELDS = (
    "type", "dropout", "unk_token", *MARKS, "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges",
)  # fmt: skip


class MarkedOptions(NamedTuple):
    """Options of the model; ``unknown`` is a piece."""

    unknown: str
    prefix: str
    suffix: str
    fuse_unknown: bool
    ignore_merges: bool


def is_marked_bpe(model: Stage) -> bool:
    """Whether a model is BPE whose pieces are marked by a prefix or a suffix."""
    is_bpe = model.value.get("type", "BPE") == "BPE" and "merges" in model.value
    return is_bpe and any(model.value.get(key) not in (None, "") for key in MARKS)


def read_marked_options(model: Stage, vocab: Mapping[str, int]) -> MarkedOptions:
    """The options of the model.

    Raises
    ------
    SourceFormatError
    UnsupportedFeatureError
        An option that is not reproduced exactly.
    """
    model.only(*_MODEL_FIELDS)
    if model.value.get("dropout") not in (None, 0, 0.0):
        model.below("dropout").refuse(
            "a vocabulary file does not decide that texts are encoded at random",
            "set it to null and pass dropout= to Tokenizer.encode or encode_batch",
        )
    if model.option("byte_fallback", default=False):
        model.below("byte_fallback").refuse(
            "this is not supported with pieces marked by a prefix or suffix: tokenizers writes the mark as bytes too",
            "set it to false",
        )
    prefix, suffix = _read_marks(model)
    unknown = Stage(model.file, "model.unk_token", model.value.get("unk_token"))
    if unknown.value is None:
        unknown.refuse("text without a piece has no id then, which is not supported", "set it to a token")
    token = unknown.expect(str, "a token")
    if token not in vocab:
        raise SourceFormatError(f"{unknown}: {quote(token)} is no piece of model.vocab")
    return MarkedOptions(
        token, prefix, suffix, model.option("fuse_unk", default=False), model.option("ignore_merges", default=False)
    )


def _read_marks(model: Stage) -> tuple[str, str]:
    marks = []
    for key in MARKS:
        mark = model.value.get(key)
        if not isinstance(mark, str | None):
            model.below(key).expect(str, "a string or null")
        marks.append(mark or "")
    if not marks[0].isascii():
        model.below(MARKS[0]).refuse("a prefix with other characters than ASCII is not supported")
    return marks[0], marks[1]
