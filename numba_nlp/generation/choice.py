"""Greedy choice and sampling: the loop over steps of rows that go their own ways."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch

from numba_nlp.generation.edits import RowEdits, no_token, refuse_no_numbers
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.steps import Steps
from numba_nlp.generation.streamers import put_prompts, put_tokens
from numba_nlp.generation.text_ends import TextEnds
from numba_nlp.kernels.generation.chosen import append_tokens, draw_rows, take_largest

__all__ = ["Streamer", "choose_tokens"]


class Streamer(Protocol):
    """What takes tokens as they come; transformers' streamers are such."""

    def put(self, value: torch.Tensor) -> None:
        """Take the prompts, int64 ``[rows, width]``, at first, then the tokens of each step, int64 ``[rows]``."""

    def end(self) -> None:
        """Know that there are no more."""


def choose_tokens(
    steps: Steps,
    plan: Plan,
    edits: RowEdits,
    text_ends: TextEnds | None,
    streamer: Streamer | None,
    seed: np.uint64,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Take one token after another.

    Parameters
    ----------
    steps : Steps
        Of the model.
    plan : Plan
    edits : RowEdits
    text_ends : TextEnds or None
        Stop strings.
    streamer : Streamer or None
    seed : uint64
        Of sampling.

    Returns
    -------
    rows, scores, values : ndarray
        As of ``search_beams``.
    """
    bounds = plan.beam_rules()
    width, steps_left = plan.prompt_width, plan.new_tokens
    rows = plan.first_rows()
    n_rows = rows.shape[0]
    found = np.full((n_rows, plan.max_length), plan.padding, np.int32)
    found_values = np.zeros((n_rows, steps_left), np.float32)
    # rows of prompts that go on stand at the front of all of these; `places` are theirs in what is found
    active = np.arange(plan.prompts.ids.shape[0], dtype=np.int32)
    places = np.arange(n_rows)
    values = np.zeros((steps_left, n_rows), np.float32)
    done, tokens, reads = np.zeros(n_rows, np.uint8), np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    keys = plan.keys(plan.per_prompt) if plan.config.do_sample else None
    if streamer is not None:
        put_prompts(streamer, plan)
    logits = steps.start()
    filled, open_before = width, n_rows
    while True:
        part = slice(0, places.size)
        new_values = values[filled - width, part]
        edits(logits, rows[part], filled, active)
        if keys is None:
            wrong = take_largest(logits, done[part], tokens[part], new_values)
        else:
            sampling = edits.rules, seed, keys[part], filled - width, edits.scratch
            wrong = draw_rows(logits, done[part], *sampling, tokens[part], new_values)
        if wrong >= 0:
            _refuse_nothing(logits[wrong], int(places[wrong]), filled)
        if streamer is not None:
            was_open = done[part] == 0
        ends = bounds.eos_ids, bounds.stop_tokens, bounds.stop_offsets
        still_open = append_tokens(
            rows[part], filled, width, *ends, plan.padding, tokens[part], new_values, done[part], reads[part]
        )
        filled += 1
        if text_ends is not None:
            still_open -= text_ends.mark_rows(rows[part], filled, active, done[part])
        if streamer is not None:
            counted = _spread(n_rows, places, was_open, False)
            put_tokens(streamer, _spread(n_rows, places, tokens[part], plan.padding), counted)
        if still_open == 0 or filled == plan.max_length:
            break
        if still_open < open_before:
            open_before = still_open
            alive = np.flatnonzero((done[part].reshape(active.size, -1) == 0).any(1))
            if alive.size < active.size:
                found[places, :filled], found_values[places] = rows[part, :filled], values[:, part].T
                kept = np.arange(places.size).reshape(active.size, -1)[alive].ravel()
                steps.keep(alive)
                active, places = active[alive], places[kept]
                for array in (rows, done, reads) if keys is None else (rows, done, reads, keys):
                    array[: kept.size] = array[kept]
                values[:, : kept.size] = values[:, kept]
        logits = steps.advance(reads[: places.size])
    found[places, :filled], found_values[places] = rows[: places.size, :filled], values[:, : places.size].T
    if streamer is not None:
        streamer.end()
    found_values = np.ascontiguousarray(found_values[:, : filled - width])
    return found[:, :filled], found_values.sum(1, dtype=np.float64).astype(np.float32), found_values


def _spread(n_rows: int, places: np.ndarray, given: np.ndarray, other: int) -> np.ndarray:
    """What some rows have, among all rows."""
    spread = np.full(n_rows, other, given.dtype)
    spread[places] = given
    return spread


def _refuse_nothing(row: np.ndarray, number: int, filled: int) -> None:
    """Refuse a row in which no token has a probability."""
    refuse_no_numbers(row, number, filled)
    raise no_token(number, filled)
