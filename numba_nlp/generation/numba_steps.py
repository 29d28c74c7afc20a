"""Steps of a model by Numba, over packed weights, on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.generation.decode_plan import Plan
from numba_nlp.generation.prompts import Rows
from numba_nlp.generation.reading import Reader
from numba_nlp.generation.step_memory import new_row_memory, new_step_scratch, no_sources
from numba_nlp.generation.team import Team
from numba_nlp.kernels.step.decoder import decoder_step, write_logits
from numba_nlp.kernels.step.decoder_memory import padded
from numba_nlp.kernels.step.places import follow_parents, list_places
from numba_nlp.kernels.step.products import columns_of
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["NumbaSteps", "threads_of"]


def threads_of(plan: Plan, n_threads: int) -> int:
    """Threads that have something to do: no more than there are panels in a matrix of the model's width.

    Parameters
    ----------
    plan : Plan
    n_threads : int
        How many there may be.
    """
    return max(1, min(n_threads, int(columns_of(plan.decoder.joined)) // COLUMNS))


class NumbaSteps:
    """The steps of a model, as :class:`~numba_nlp.generation.steps.Steps` says.

    Parameters
    ----------
    model, prompts, source, per_prompt, positions
        As of ``TorchSteps``.
    plan : Plan
        The packed weights of the model.
    """

    def __init__(
        self, model: Any, plan: Plan, prompts: Rows, source: Rows | None, per_prompt: int, positions: int
    ) -> None:
        self._prompts, self._source, self._per_prompt = prompts, source, per_prompt
        self._weights = plan.decoder
        groups, width = prompts.ids.shape
        n_rows, n_threads = groups * per_prompt, threads_of(plan, torch.get_num_threads())
        self._memory = new_row_memory(self._weights, prompts.mask_array(), per_prompt, positions - width)
        self._sources = no_sources()
        self._active = np.arange(groups, dtype=np.int32)
        self._column, self._half = width, 0
        self._logits = np.empty((n_rows, self._weights.logits.outputs + self._weights.last_logits.outputs), np.float32)
        source_width = 0 if source is None else padded(source.ids.shape[1])
        self._scratch = new_step_scratch(
            self._weights, n_rows, per_prompt, positions, source_width, n_threads, plan.kind
        )
        self._team = Team(n_threads)
        self._reader = Reader(model, plan, self._team)

    def start(self) -> np.ndarray:
        """Read sources and prompts."""
        groups, width = self._prompts.ids.shape
        with torch.no_grad():
            if self._source is not None:
                self._sources = self._reader.sources(self._source)
                # a beginning is short: a step for each of its tokens
                for column in range(width):
                    logits = self._run(np.ascontiguousarray(self._prompts.ids[:, column]), 1, column)
            else:
                last = self._reader.prompts(self._prompts, self._memory)
                logits = self._logits[:groups]
                self._team.run(write_logits, self._team.state, last, groups, self._weights, self._scratch, logits)
        self._memory.counted[:] = np.repeat(self._memory.counted[0, :groups], self._per_prompt)
        if self._per_prompt > 1:
            self._logits.reshape(groups, self._per_prompt, -1)[...] = logits[:, None].copy()
            return self._logits
        return logits

    def advance(self, tokens: np.ndarray, parents: np.ndarray | None = None) -> np.ndarray:
        """Read one token more in each row."""
        if parents is not None:
            follow_parents(parents, self._column - self._memory.prompt_columns, self._half, self._memory)
            self._half = 1 - self._half
        logits = self._run(tokens, self._per_prompt, self._column)
        self._column += 1
        return logits

    def keep(self, prompts: np.ndarray) -> None:
        """Go on with some prompts only."""
        self._active = self._active[prompts]
        rows = (prompts[:, None] * self._per_prompt + np.arange(self._per_prompt)).ravel()
        for held in (self._memory.writers, self._memory.counted):
            held[self._half, : rows.size] = held[self._half, rows]

    def close(self) -> None:
        """End the threads."""
        self._team.close()

    def _run(self, tokens: np.ndarray, per_prompt: int, column: int) -> np.ndarray:
        logits = self._logits[: tokens.size]
        list_places(tokens, self._active, per_prompt, column, self._half, self._weights, self._memory)
        self._team.run(
            decoder_step, self._team.state, tokens, self._active, per_prompt, self._weights, self._memory,
            self._sources, self._scratch, logits,
        )  # fmt: skip
        return logits
