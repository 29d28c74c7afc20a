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
    rows = plan.first_rows()
    width = plan.prompt_width
    n_rows = rows.shape[0]
    values = np.zeros((plan.new_tokens, n_rows), np.float32)
    done = np.zeros(n_rows, np.uint8)
    tokens = np.zeros(n_rows, np.int64)
    active = np.arange(plan.prompts.ids.shape[0], dtype=np.int32)
    every_prompt = active
    live = np.arange(n_rows)  # rows of the active prompts
    keys = plan.keys(plan.per_prompt) if plan.config.do_sample else None
    if streamer is not None:
        put_prompts(streamer, plan)
    logits = steps.start()
    filled = width
    while True:
        part = rows if live.size == n_rows else rows[live]
        part_done = done[live]
        part_tokens, part_values = np.zeros(live.size, np.int64), np.zeros(live.size, np.float32)
        edits(logits, part, filled, active)
        if keys is None:
            take_largest(logits, part_done, part_tokens, part_values)
        else:
            draw_rows(
                logits,
                part_done,
                edits.rules,
                seed,
                keys[live],
                filled - width,
                edits.scratch,
                part_tokens,
                part_values,
            )
        _refuse_nothing(logits, part_values, filled)
        tokens[live], values[filled - width, live] = part_tokens, part_values
        was_open = done == 0
        still_open = append_tokens(
            rows,
            filled,
            width,
            bounds.eos_ids,
            bounds.stop_tokens,
            bounds.stop_offsets,
            plan.padding,
            tokens,
            values[filled - width],
            done,
        )
        filled += 1
        if text_ends is not None:
            still_open -= text_ends.mark_rows(rows, filled, every_prompt, done)
        if streamer is not None:
            put_tokens(streamer, tokens.copy(), was_open)
        if still_open == 0 or filled == plan.max_length:
            break
        alive = np.flatnonzero((done[live].reshape(active.size, -1) == 0).any(1))
        if alive.size < active.size:
            steps.keep(alive)
            active = active[alive]
            live = live.reshape(-1, plan.per_prompt)[alive].ravel()
        # a row that is done reads any token, as no one looks at what follows
        logits = steps.advance(np.where(done[live] == 1, 0, tokens[live]))
    if streamer is not None:
        streamer.end()
    values = np.ascontiguousarray(values[: filled - width].T)
    return rows[:, :filled], values.sum(1, dtype=np.float64).astype(np.float32), values


def _refuse_nothing(logits: np.ndarray, values: np.ndarray, filled: int) -> None:
    """Refuse rows in which no token has a probability."""
    wrong = np.flatnonzero(np.isnan(values))
    if not wrong.size:
        return
    refuse_no_numbers(logits[wrong[0]], int(wrong[0]), filled)
    raise no_token(int(wrong[0]), filled)
