"""How ids become model inputs, as the metadata of a vocabulary says: templates, padding, names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.layout import FIRST_TEXT, SECOND_TEXT
from numba_nlp.vocabulary import Vocabulary

__all__ = ["InputSettings", "Template"]

_TEXTS = {"A": FIRST_TEXT, "B": SECOND_TEXT}


class Template(NamedTuple):
    """What a model input is made of; read-only.

    Parameters
    ----------
    parts : int64[parts]
        ``FIRST_TEXT``, ``SECOND_TEXT``, or the id that stands there.
    type_ids : int64[parts]
    """

    parts: NDArray[np.int64]
    type_ids: NDArray[np.int64]

    @property
    def n_added(self) -> int:
        """Ids that it adds to those of the texts."""
        return int((self.parts >= 0).sum())

    @property
    def has_second(self) -> bool:
        """Whether it holds a second text."""
        return bool((self.parts == SECOND_TEXT).any())

    @property
    def second_leads(self) -> bool:
        """Whether the second text stands before the first one."""
        texts = self.parts[self.parts < 0]
        return bool(texts[0] == SECOND_TEXT)

    def without_ids(self) -> Template:
        """The texts alone, in the same order and with the same types."""
        return _template((part, kind) for part, kind in zip(*self, strict=True) if part < 0)

    def entries(self, at_first: int, at_second: int, at_ids: int) -> NDArray[np.int64]:
        """One value for the ids of each text, and one for the ids that the template adds."""
        by_part = np.where(self.parts == FIRST_TEXT, at_first, at_ids)
        return np.where(self.parts == SECOND_TEXT, at_second, by_part)


def _template(parts: Iterable[tuple[Any, Any]]) -> Template:
    pairs = [(_TEXTS.get(part, part), kind) for part, kind in parts]
    arrays = [np.array(column, np.int64) for column in zip(*pairs, strict=True)]
    for array in arrays:
        array.flags.writeable = False
    return Template(*arrays)


class InputSettings:
    """What the metadata says about model inputs.

    A vocabulary without such entries has the template of ``template_single`` for one text, none for a pair (unless
    nothing is added to one text, then nothing is added to two), and no padding token.

    Parameters
    ----------
    vocabulary : Vocabulary

    Attributes
    ----------
    single : Template
    pair : Template or None
    pad_id : int or None
    pad_type_id : int
    padding_side, truncation_side : {"right", "left"}
    max_length : int or None
        Most ids of an input, where the source said so.
    names : tuple of str
        What models of this kind take.
    """

    __slots__ = (
        "max_length", "names", "pad_id", "pad_type_id", "padding_side", "pair", "single", "truncation_side",
    )  # fmt: skip

    def __init__(self, vocabulary: Vocabulary) -> None:
        metadata = vocabulary.metadata
        templates = metadata.get("templates")
        self.pair: Template | None = None
        if templates is not None:
            self.single = _template(templates["single"])
            self.pair = _template(templates["pair"])
        else:
            ids = vocabulary["template_single"].tolist()
            self.single = _template((number, 0) for number in ids or [FIRST_TEXT])
            if not ids:
                self.pair = _template([("A", 0), ("B", 1)])
        self.pad_id: int | None = metadata.get("pad")
        self.pad_type_id: int = metadata.get("pad_type_id", 0)
        self.padding_side: str = metadata.get("padding_side", "right")
        self.truncation_side: str = metadata.get("truncation_side", "right")
        self.max_length: int | None = metadata.get("model_max_length")
        self.names: tuple[str, ...] = tuple(metadata.get("model_input_names", ("input_ids", "attention_mask")))
