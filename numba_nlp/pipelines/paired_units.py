"""Each of some texts with each of some others, as inputs of a model that are laid out when their batch is run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._input_settings import InputSettings, Template
from numba_nlp.kernels.segment.layout import FIRST_TEXT, SECOND_TEXT
from numba_nlp.ragged import Ragged

__all__ = ["PairedUnits"]


class PairedUnits(NamedTuple):
    """Pairs: unit ``i * len(seconds) + j`` is of first text ``i`` and second text ``j``.

    Texts are kept once, for the pairs would take as many times their memory as there are second texts.

    Parameters
    ----------
    firsts, seconds : Ragged
        Ids of the texts.
    kept : int64[units]
        So many ids of its first text go into a pair.
    template : Template
        What the two are put into.
    settings : InputSettings
        Of the tokenizer.
    first : int
        Number of the first row.
    """

    firsts: Ragged
    seconds: Ragged
    kept: NDArray[np.int64]
    template: Template
    settings: InputSettings
    first: int

    @property
    def lengths(self) -> NDArray[np.int64]:
        """In tokens."""
        return self.kept + np.tile(self.seconds.row_lengths, len(self.firsts)) + self.template.n_added

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the row of each: that of its first text."""
        return self.first + np.repeat(np.arange(len(self.firsts)), len(self.seconds))

    def batch(self, units: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Some pairs as a model takes them, padded at the right to the longest one."""
        rows, others = np.divmod(units, max(len(self.seconds), 1))
        kept = self.kept[units]
        # a text that is cut loses its end, or its beginning
        begins = np.zeros_like(kept)
        if self.settings.truncation_side == "left":
            begins = self.firsts.row_lengths[rows] - kept
        lengths = kept + self.seconds.row_lengths[others] + self.template.n_added
        shape = units.size, int(lengths.max(initial=0))
        ids = np.full(shape, 0 if self.settings.pad_id is None else self.settings.pad_id, np.int64)
        types = np.full(shape, self.settings.pad_type_id, np.int64)
        place = np.zeros(units.size, np.int64)
        for part, kind in zip(self.template.parts.tolist(), self.template.type_ids.tolist(), strict=True):
            if part in (FIRST_TEXT, SECOND_TEXT):
                is_first = part == FIRST_TEXT
                text, chosen = (self.firsts, rows) if is_first else (self.seconds, others)
                counts = kept if is_first else text.row_lengths[chosen]
                sources = text.offsets[chosen] + (begins if is_first else 0)
            else:
                counts = np.ones(units.size, np.int64)
            row = np.repeat(np.arange(units.size), counts)
            within = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
            ids[row, place[row] + within] = part if part >= 0 else text.values[sources[row] + within]
            types[row, place[row] + within] = kind
            place += counts
        inputs = {"input_ids": ids, "attention_mask": (np.arange(shape[1]) < lengths[:, None]).astype(np.int64)}
        if "token_type_ids" in self.settings.names:
            inputs["token_type_ids"] = types
        return inputs
