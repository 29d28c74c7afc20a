"""Prompts of decoders, each with as many new tokens as there is room for, whatever is beside it in a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import RowError
from numba_nlp.generation.config import GenerationConfig
from numba_nlp.pipelines.generation_call import Call, GeneratingPipeline, Written
from numba_nlp.pipelines.stopwatch import Stopwatch

__all__ = ["DecoderPipeline", "PromptUnits", "asked_tokens", "least_tokens", "refuse_overlong"]

#: New tokens where nothing is said of lengths, as of ``generate``.
_DEFAULT_NEW_TOKENS = 20


@dataclass(frozen=True)
class PromptUnits:
    """What a decoder goes on from, one of each row.

    Attributes
    ----------
    ids : list of int32[n]
    new, least : int64[units]
        Most and least new tokens.
    left_out : int64[units]
        What of the front was left out, in the units of the task.
    equal_before : int64[units]
        Equal ones before it.
    lengths : int64[units]
        Tokens at the end, of all rows that are computed for it.
    first : int
        Number of the first row in the call.
    """

    ids: list[NDArray[np.int32]]
    new: NDArray[np.int64]
    least: NDArray[np.int64]
    left_out: NDArray[np.int64]
    equal_before: NDArray[np.int64]
    lengths: NDArray[np.int64]
    first: int

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Number of the row of each."""
        return self.first + np.arange(len(self.ids))

    @classmethod
    def make(
        cls,
        ids: list[NDArray[np.int32]],
        rooms: Sequence[tuple[int, int]],
        left_out: Sequence[int],
        call: Call,
        first: int,
    ) -> PromptUnits:
        """Units of rows from ``first`` on, with the most and least new tokens of each."""
        new, least = (np.array([room[place] for room in rooms], np.int64) for place in (0, 1))
        counted = np.zeros(len(ids), np.int64)
        if call.config.do_sample:
            counted = call.counts.count(ids, range(first, first + len(ids)))
        sizes = np.array([row.size for row in ids], np.int64)
        return cls(
            ids, new, least, np.array(left_out, np.int64), counted, (sizes + new) * call.per_prompt, first
        )  # fmt: skip


def asked_tokens(config: GenerationConfig, size: int, number: int, more: int = 0) -> int | None:
    """How many new tokens the options ask for at most behind a prompt.

    Parameters
    ----------
    config : GenerationConfig
    size : int
        Tokens of the prompt.
    number : int
        Of the row.
    more : int
        Tokens of the prompt that do not count for ``max_length``.

    Returns
    -------
    int or None
        None: they say nothing.

    Raises
    ------
    RowError
        The prompt is as long as the row may be.
    """
    if config.max_new_tokens is not None:
        return config.max_new_tokens
    if config.max_length is None:
        return None
    if config.max_length + more <= size:
        raise RowError(
            f"row {number}: the prompt has {size} tokens, and `max_length` {config.max_length}, which counts it, "
            "leaves no room for a new one; raise it, or say `max_new_tokens`",
            number,
        )
    return config.max_length + more - size


def least_tokens(config: GenerationConfig, size: int, more: int = 0) -> int:
    """How many new tokens there are at least; parameters as of :func:`asked_tokens`."""
    if config.min_new_tokens is not None:
        return config.min_new_tokens
    return max(0, config.min_length + more - size) if config.min_length else 0


def default_tokens(size: int, positions: int | None) -> int:
    """How many new tokens there are where nothing is said."""
    if positions is None or size >= positions:
        return _DEFAULT_NEW_TOKENS
    return min(_DEFAULT_NEW_TOKENS, positions - size)


def refuse_overlong(size: int, new: int, positions: int | None, number: int, way_out: str) -> None:
    """Refuse a prompt that does not fit into the model with its new tokens.

    Raises
    ------
    RowError
        It is such.
    """
    # the last token is not read any more
    if positions is not None and size + new - 1 > positions:
        raise RowError(
            f"row {number}: the prompt has {size} tokens and up to {new} new ones are asked for, the model has "
            f"{positions} positions; {way_out}",
            number,
        )


class DecoderPipeline(GeneratingPipeline):
    """A task that goes on with a text; see :class:`Pipeline`."""

    heads = ("language_model",)

    @property
    def positions(self) -> int | None:
        """Most tokens that the model reads."""
        found: int | None = getattr(self.model.settings, "positions", None)
        return found

    def forward(self, units: PromptUnits, batch: NDArray[np.int64], options: Call, watch: Stopwatch) -> Written:
        """Go on with some prompts."""
        returned = options.config.num_return_sequences
        tokens: dict[int, list[NDArray[np.int32]]] = {}
        scores = np.zeros((batch.size, returned), np.float32)
        # lengths count in columns of a batch, so those of one call of the model are the same for all its rows
        sorts, places = np.unique(np.stack([units.new[batch], units.least[batch]], 1), axis=0, return_inverse=True)
        for sort, (new, least) in enumerate(sorts.tolist()):
            config = options.config.replace(max_length=None, max_new_tokens=new, min_length=0, min_new_tokens=least)
            chosen = np.flatnonzero(places.ravel() == sort)
            some = batch[chosen]
            written = self.write(
                options,
                config,
                [units.ids[unit] for unit in some.tolist()],
                units.numbers[some],
                units.equal_before[some],
                watch,
            )
            scores[chosen] = written.scores.reshape(-1, returned)
            for number, place in enumerate(chosen.tolist()):
                part = slice(number * returned, (number + 1) * returned)
                tokens[place] = written.tokens[part]
        return Written([row for place in range(batch.size) for row in tokens[place]], scores.ravel())


def by_row(units: PromptUnits, batches: Sequence[NDArray[np.int64]], outputs: Sequence[Any]) -> list[tuple[Any, int]]:
    """Of each row, the output of its batch and its place there."""
    found: list[tuple[Any, int]] = [(None, 0)] * len(units.ids)
    for batch, output in zip(batches, outputs, strict=True):
        for place, unit in enumerate(batch.tolist()):
            found[unit] = (output, place)
    return found
