"""Steps of a decoder by Numba, over packed weights; the encoder and long prompts are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.generation.decode_plan import plan_of
from numba_nlp.generation.packing import WeightKind
from numba_nlp.generation.prompts import Rows
from numba_nlp.generation.team import Team
from numba_nlp.kernels.step.decoder import STEP
from numba_nlp.kernels.step.decoder_memory import BLOCK, DecoderWeights, RowMemory, SourceMemory, StepScratch, padded
from numba_nlp.kernels.step.places import follow_parents, list_places
from numba_nlp.kernels.step.products import columns_of, new_packed_rows
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
    """The steps of a model on the CPU, as :class:`~numba_nlp.generation.steps.Steps` has them.

    Parameters
    ----------
    model, prompts, source, per_prompt, positions
        As there.
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
        self._memory = _new_memory(self._weights, prompts, per_prompt, positions - width)
        self._sources = _no_source()
        self._active = np.arange(groups, dtype=np.int32)
        self._n_new, self._half = 0, 0
        n_rows = groups * per_prompt
        self._logits = np.empty((n_rows, self._weights.logits.outputs + self._weights.last_logits.outputs), np.float32)
        source_width = 0 if source is None else padded(source.ids.shape[1])
        self._scratch = _new_scratch(self._weights, n_rows, per_prompt, positions, source_width, self._n_threads, kind)
        self._team = Team(self._n_threads)
        self._longest = positions

    def start(self) -> np.ndarray:
        """Read sources and prompts; see ``Steps``."""
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
        """Read one token more in each row; see ``Steps``."""
        if parents is not None:
            follow_parents(parents, self._n_new, self._half, self._memory)
            self._half = 1 - self._half
        logits = self._run(tokens, self._per_prompt, self._n_new)
        self._n_new += 1
        return logits

    def keep(self, prompts: np.ndarray) -> None:
        """Go on with some prompts only; see ``Steps``."""
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
            self._step, tokens, self._active, per_prompt, self._weights, self._memory, self._sources, self._scratch,
            logits,
        )  # fmt: skip
        return logits

    def _read_source(self) -> Any:
        """Have torch read the source; gives the cache that it was read into."""
        model, source, (groups, width) = self._model, self._source, self._prompts.ids.shape
        if source is None:
            return model.new_cache(groups, width) if width > 1 else None
        cache = model.new_cache(groups, width, source_positions=source.ids.shape[1], sentences=groups)
        model.encode_source(source.ids, source.mask, cache)
        self._sources = _pack_sources(cache, source, self._weights)
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


def _new_memory(weights: DecoderWeights, prompts: Rows, per_prompt: int, new_columns: int) -> RowMemory:
    groups, columns = prompts.ids.shape
    rows, width = groups * per_prompt, weights.heads * weights.head_width
    size = (columns * groups + new_columns * rows) * width
    mask = np.ones((groups, columns), bool) if prompts.mask is None else prompts.mask.astype(bool)
    lengths = mask.sum(1, dtype=np.int64)
    # the columns of tokens first, in their order
    places = np.argsort(~mask, axis=1, kind="stable").astype(np.int32)
    return RowMemory(
        prompt_rows=groups,
        prompt_columns=columns,
        rows=rows,
        # no page of it takes memory before it is written
        keys=np.empty((weights.layers, size), np.float32),
        values=np.empty((weights.layers, size), np.float32),
        prompt_places=places,
        prompt_lengths=lengths,
        writers=np.zeros((2, rows, new_columns), np.int32),
        counted=np.zeros((2, rows), np.int64),
        offsets=np.zeros((rows, columns + new_columns), np.int64),
        columns=np.zeros((rows, columns + new_columns), np.int32),
        lengths=np.zeros(rows, np.int64),
        positions=np.zeros(rows, np.int64),
    )


def _new_scratch(
    weights: DecoderWeights,
    n_rows: int,
    per_prompt: int,
    positions: int,
    source_width: int,
    n_threads: int,
    kind: WeightKind,
) -> StepScratch:
    width, joined = weights.tokens.shape[1], weights.heads * weights.head_width
    deepest = max(width, joined, weights.outer.depth)
    packed = new_packed_rows(n_rows, deepest, kind)
    # attention to a source packs rows of float32, whatever weights are
    floats = new_packed_rows(per_prompt, max(source_width, weights.head_width), "float32").floats.size
    head_columns = -(-weights.head_width // COLUMNS) * COLUMNS

    def shared(*matrices: Any) -> np.ndarray:
        return np.zeros((n_rows, max(int(columns_of(each)) for each in matrices)), np.float32)

    def own(*shape: int, dtype: type = np.float32) -> np.ndarray:
        return np.zeros((n_threads, *shape), dtype)

    return StepScratch(
        hidden=own(n_rows, width),
        normal=own(n_rows, width),
        floats=own(max(packed.floats.size, floats)),
        codes=own(packed.codes.size, dtype=np.uint8),
        steps=own(packed.steps.size),
        scores=own(max(padded(positions), per_prompt * source_width)),
        heads=own(per_prompt * head_columns),
        qkv=shared(weights.qkv, weights.query),
        context=np.zeros((n_rows, joined), np.float32),
        change=shared(weights.joined, weights.outer),
        inner=shared(weights.inner),
        gate=shared(weights.gate),
        last=shared(weights.last_logits),
    )


def _no_source() -> SourceMemory:
    return SourceMemory(0, 0, np.zeros(0, np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64), _no_sums())


def _no_sums() -> np.ndarray:
    return np.zeros(0, np.int32)


def _pack_sources(cache: Any, source: Rows, weights: DecoderWeights) -> SourceMemory:
    """Keys and values of sources in panels, without those of padding."""
    groups, heads, size = source.ids.shape[0], weights.heads, weights.head_width
    mask = np.ones(source.ids.shape, bool) if source.mask is None else source.mask.astype(bool)
    # as torch's mask: a source without any token sees all
    mask = mask | ~mask.any(1, keepdims=True)
    lengths = mask.sum(1, dtype=np.int64)
    width, columns = padded(int(lengths.max())), -(-size // COLUMNS) * COLUMNS
    keys = np.zeros((weights.layers, groups, heads * width * size), np.float32)
    values = np.zeros((weights.layers, groups, heads * width * columns), np.float32)
    for group in range(groups):
        seen = padded(int(lengths[group]))
        where = torch.from_numpy(np.flatnonzero(mask[group]))
        for layer in range(weights.layers):
            some = np.zeros((heads, seen, columns), np.float32)
            some[:, : where.numel(), :size] = cache.source_keys[layer, group].index_select(1, where).float().numpy()
            panels = some[:, :, :size].reshape(heads, seen // COLUMNS, COLUMNS, size).swapaxes(2, 3)
            place = keys[layer, group].reshape(heads, width * size)
            place[:, : seen * size] = panels.reshape(heads, -1)
            some[:, : where.numel(), :size] = cache.source_values[layer, group].index_select(1, where).float().numpy()
            panels = some.reshape(heads, seen, columns // COLUMNS, COLUMNS).swapaxes(1, 2)
            place = values[layer, group].reshape(heads, width * columns)
            place[:, : seen * columns] = panels.reshape(heads, -1)
    return SourceMemory(groups, width, keys.reshape(-1), values.reshape(-1), lengths, _no_sums())
