"""What a source says about model inputs: templates, padding, how long an input may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.description import TEXT_PLACE, AddedToken
from vocab_tools.formats.stages.post_processors import PAIR_PLACE, PostProcessor, Template
from vocab_tools.formats.stages.stage import Stage

__all__ = ["InputSettings", "pad_among", "settings_of_file"]

#: What padding tokens are called in files that do not say which of their tokens pads.
_PAD_CONTENTS = ("[PAD]", "<pad>")
_PLACES: dict[int, str] = {TEXT_PLACE: "A", PAIR_PLACE: "B"}
_PLAIN_SINGLE = Template((TEXT_PLACE,), (0,))
_PLAIN_PAIR = Template((TEXT_PLACE, PAIR_PLACE), (0, 1))


@dataclass(frozen=True)
class InputSettings:
    """How ids become model inputs.

    Attributes
    ----------
    single, pair : Template
        What one text, and a pair of texts, are put into.
    pad_id : int or None
        Fills short rows; None where the source names no such token.
    pad_type_id : int
    padding_side, truncation_side : {"right", "left"}
    model_max_length : int or None
        Most ids of an input; None where the source does not say.
    model_input_names : tuple of str
        What models of this kind take; transformers' names.
    """

    single: Template = _PLAIN_SINGLE
    pair: Template = _PLAIN_PAIR
    pad_id: int | None = None
    pad_type_id: int = 0
    padding_side: str = "right"
    truncation_side: str = "right"
    model_max_length: int | None = None
    model_input_names: tuple[str, ...] = ("input_ids", "attention_mask")

    @property
    def template_single(self) -> tuple[int, ...]:
        """The ids of the template for one text; empty when it adds nothing."""
        return self.single.ids if len(self.single.ids) > 1 else ()

    def metadata(self) -> dict[str, Any]:
        """The entries of a vocabulary's metadata (``docs/data_contracts.md``, "Model inputs")."""
        entries: dict[str, Any] = {
            "templates": {"single": _as_json(self.single), "pair": _as_json(self.pair)},
            "pad": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "padding_side": self.padding_side,
            "truncation_side": self.truncation_side,
            "model_input_names": list(self.model_input_names),
        }
        if self.model_max_length is not None:
            entries["model_max_length"] = self.model_max_length
        return entries


def _as_json(template: Template) -> list[list[Any]]:
    return [[_PLACES.get(number, number), kind] for number, kind in zip(template.ids, template.type_ids, strict=True)]


def pad_among(added_tokens: Iterable[AddedToken]) -> int | None:
    """Id of the special token that is written as padding tokens are, or None."""
    ids = {token.content: token.id for token in added_tokens if token.special}
    return next((ids[content] for content in _PAD_CONTENTS if content in ids), None)


def settings_of_file(
    post: PostProcessor, padding: Stage, added_tokens: Iterable[AddedToken], n_ids: int
) -> InputSettings:
    """What a ``tokenizer.json`` says: templates, and how to pad.

    Padding is as the file says where it pads by itself, else with the token that is written as padding tokens are.

    Raises
    ------
    SourceFormatError
        An id that belongs to no piece, or a padding section of another form.
    """
    for number in (*post.single.ids, *post.pair.ids):
        if number >= n_ids:
            raise SourceFormatError(f"{padding.file}: post_processor: the id {number} belongs to no piece")
    if padding.value is None:
        return InputSettings(post.single, post.pair, pad_id=pad_among(added_tokens))
    pad = padding.need("pad_id").expect(int, "an id")
    kind = padding.need("pad_type_id").expect(int, "a type")
    side = padding.need("direction").expect(str, "'Left' or 'Right'").lower()
    if not 0 <= pad < n_ids or not 0 <= kind < 1 << 31 or side not in ("left", "right"):
        raise SourceFormatError(f"{padding}: the id, the type or the direction of padding is none, got {padding.shown}")
    return InputSettings(post.single, post.pair, pad_id=pad, pad_type_id=kind, padding_side=side)
