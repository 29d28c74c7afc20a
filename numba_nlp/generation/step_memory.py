"""Arrays of the Numba step, allocated for one generation: what rows and sources hold, and what steps work with."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp.generation.packing import WeightKind
from numba_nlp.kernels.step.decoder_memory import DecoderWeights, RowMemory, SourceMemory, StepScratch, padded
from numba_nlp.kernels.step.products import columns_of, new_packed_rows
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["new_row_memory", "new_step_scratch", "no_sources", "pack_sources"]


def new_row_memory(weights: DecoderWeights, mask: np.ndarray, per_prompt: int, new_columns: int) -> RowMemory:
    """Memory of rows that have read nothing yet.

    Parameters
    ----------
    weights : DecoderWeights
    mask : ndarray
        bool ``[prompts, columns]``: true at tokens of the prompts, false at padding.
    per_prompt : int
        Rows that continue each prompt, side by side.
    new_columns : int
        Greatest number of tokens that a row reads after the prompt.
    """
    groups, columns = mask.shape
    rows, width = groups * per_prompt, weights.heads * weights.head_width
    size = (columns * groups + new_columns * rows) * width
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


def new_step_scratch(
    weights: DecoderWeights,
    n_rows: int,
    per_prompt: int,
    columns: int,
    source_width: int,
    n_threads: int,
    kind: WeightKind,
) -> StepScratch:
    """What steps work with.

    Parameters
    ----------
    weights : DecoderWeights
    n_rows, per_prompt : int
        Rows of a step, and of a prompt.
    columns : int
        Longest row.
    source_width : int
        Tokens of the longest source, a multiple of `BLOCK`; 0 for a decoder alone.
    n_threads : int
        That run a step together.
    kind : {"float32", "float16", "bfloat16", "int8"}
        Of the weights.
    """
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
        scores=own(max(padded(columns), per_prompt * source_width)),
        heads=own(per_prompt * head_columns),
        qkv=shared(weights.qkv, weights.query),
        context=np.zeros((n_rows, joined), np.float32),
        change=shared(weights.joined, weights.outer),
        inner=shared(weights.inner),
        gate=shared(weights.gate),
        last=shared(weights.last_logits),
    )


def no_sources() -> SourceMemory:
    """The sources of a decoder alone."""
    return SourceMemory(0, 0, np.zeros(0, np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64), _no_sums())


def _no_sums() -> np.ndarray:
    return np.zeros(0, np.int32)


def pack_sources(keys: np.ndarray, values: np.ndarray, mask: np.ndarray) -> SourceMemory:
    """Keys and values of sources in panels, without those of padding.

    Parameters
    ----------
    keys, values : ndarray
        float32 ``[layers, sources, heads, columns, head width]``.
    mask : ndarray
        bool ``[sources, columns]``: true at tokens. A source without any sees all, as torch's mask has it.
    """
    layers, groups, heads, _, size = keys.shape
    mask = mask | ~mask.any(1, keepdims=True)
    lengths = mask.sum(1, dtype=np.int64)
    width, columns = padded(int(lengths.max())), -(-size // COLUMNS) * COLUMNS
    key_panels = np.zeros((layers, groups, heads, width * size), np.float32)
    value_panels = np.zeros((layers, groups, heads, width * columns), np.float32)
    for group, length in enumerate(lengths):
        seen, where = padded(int(length)), np.flatnonzero(mask[group])
        some = np.zeros((heads, seen, columns), np.float32)
        for layer in range(layers):
            some[:, :length, :size] = keys[layer, group][:, where]
            panels = some[:, :, :size].reshape(heads, seen // COLUMNS, COLUMNS, size).swapaxes(2, 3)
            key_panels[layer, group, :, : seen * size] = panels.reshape(heads, -1)
            some[:, :length, :size] = values[layer, group][:, where]
            panels = some.reshape(heads, seen, columns // COLUMNS, COLUMNS).swapaxes(1, 2)
            value_panels[layer, group, :, : seen * columns] = panels.reshape(heads, -1)
    return SourceMemory(groups, width, key_panels.reshape(-1), value_panels.reshape(-1), lengths, _no_sums())
