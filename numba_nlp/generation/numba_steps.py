"""Steps of a decoder by Numba, over packed weights; the encoder and long prompts are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.generation.decode_plan import plan_of
from numba_nlp.generation.packing import WeightKind
from numba_nlp.generation.prompts import Rows
from numba_nlp.generation.step_memory import new_row_memory, new_step_scratch, no_sources, pack_sources
from numba_nlp.generation.team import Team
from numba_nlp.kernels.step.decoder import STEP
from numba_nlp.kernels.step.decoder_memory import DecoderWeights, padded
from numba_nlp.kernels.step.places import follow_parents, list_places
from numba_nlp.kernels.step.products import columns_of
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["NumbaSteps", "threads_of"]


def threads_of(plan: DecoderWeights, n_threads: int) -> int:
    """Threads that have something to do: no more than there are panels in a matrix of the model's width.

    Parameters
    ----------
    plan : DecoderWeights
    n_threads : int
        How many there may be.
    """
    return max(1, min(n_threads, int(columns_of(plan.joined)) // COLUMNS))


class NumbaSteps:
    """The steps of a model on the CPU, as :class:`~numba_nlp.generation.steps.Steps` says.

    Parameters
    ----------
    model, prompts, source, per_prompt, positions
        As of ``TorchSteps``.
    kind : {"float32", "float16", "bfloat16", "int8"}
        How the decoder's weights are kept.
    """

    def __init__(
        self, model: Any, prompts: Rows, source: Rows | None, per_prompt: int, positions: int, kind: WeightKind
    ) -> None:
        self._model, self._prompts, self._source, self._per_prompt = model, prompts, source, per_prompt
        self._weights = plan_of(model, kind)
        self._step = STEP[kind]
        groups, width = prompts.ids.shape
        self._n_threads = threads_of(self._weights, torch.get_num_threads())
        self._memory = new_row_memory(self._weights, _mask(prompts), per_prompt, positions - width)
        self._sources = no_sources()
        self._active = np.arange(groups, dtype=np.int32)
        self._n_new, self._half = 0, 0
        n_rows = groups * per_prompt
        self._logits = np.empty((n_rows, self._weights.logits.outputs + self._weights.last_logits.outputs), np.float32)
        source_width = 0 if source is None else padded(source.ids.shape[1])
        self._scratch = new_step_scratch(
            self._weights, n_rows, per_prompt, positions, source_width, self._n_threads, kind
        )
        self._team = Team(self._n_threads)
        self._longest = positions

    def start(self) -> np.ndarray:
        """Read sources and prompts."""
        with torch.no_grad():
            cache = self._read_source()
            if self._prompts.ids.shape[1] == 1:
                # torch takes as long for one token as Numba for one of all beams
                tokens = np.ascontiguousarray(self._prompts.ids[:, 0])
                logits = self._run(tokens, 1, -1)
            else:
                logits = self._read_prompts(cache)
        self._memory.counted[:] = np.repeat(self._memory.counted[0, : len(logits)], self._per_prompt)
        if self._per_prompt > 1:
            self._logits.reshape(len(logits), self._per_prompt, -1)[...] = logits[:, None].copy()
            return self._logits
        return logits

    def advance(self, tokens: np.ndarray, parents: np.ndarray | None = None) -> np.ndarray:
        """Read one token more in each row."""
        if parents is not None:
            follow_parents(parents, self._n_new, self._half, self._memory)
            self._half = 1 - self._half
        logits = self._run(tokens, self._per_prompt, self._n_new)
        self._n_new += 1
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

    def _run(self, tokens: np.ndarray, per_prompt: int, n_new: int) -> np.ndarray:
        logits = self._logits[: tokens.size]
        list_places(tokens, self._active, per_prompt, n_new, self._half, self._weights, self._memory)
        self._team.run(
            self._step, self._team.state, tokens, self._active, per_prompt, self._weights, self._memory, self._sources,
            self._scratch, logits,
        )  # fmt: skip
        return logits

    def _read_source(self) -> Any:
        """Have torch read the source; gives the cache that it was read into."""
        model, source, (groups, width) = self._model, self._source, self._prompts.ids.shape
        if source is None:
            return model.new_cache(groups, width) if width > 1 else None
        cache = model.new_cache(groups, width, source_positions=source.ids.shape[1], sentences=groups)
        model.encode_source(source.ids, source.mask, cache)
        keys, values = (held.float().numpy() for held in (cache.source_keys, cache.source_values))
        self._sources = pack_sources(keys, values, _mask(source))
        return cache

    def _read_prompts(self, cache: Any) -> np.ndarray:
        """Have torch read prompts; gives their logits."""
        logits = self._model.prompt(self._prompts.ids, self._prompts.mask, cache)
        memory, weights = self._memory, self._weights
        layers, columns, groups = weights.layers, memory.prompt_columns, memory.prompt_rows
        for held, to in ((cache.keys, memory.keys), (cache.values, memory.values)):
            for layer in range(layers):
                # [groups, heads, columns, head width] -> [columns, groups, heads, head width]
                part = to[layer, : columns * groups * weights.heads * weights.head_width]
                shape = (columns, groups, weights.heads, weights.head_width)
                part.reshape(shape)[...] = held[layer].permute(2, 0, 1, 3).float().numpy()
        memory.counted[0, :groups] = cache.next_position.numpy()
        return logits.float().numpy()


def _mask(rows: Rows) -> np.ndarray:
    return np.ones(rows.ids.shape, bool) if rows.mask is None else rows.mask.astype(bool)
