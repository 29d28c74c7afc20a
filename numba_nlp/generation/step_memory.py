"""Arrays of the Numba step, allocated for one generation: what rows and sources hold, and what steps work with."""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp.generation.packing import WeightKind
from numba_nlp.kernels.step.decoder_memory import DecoderWeights, RowMemory, SourceMemory, StepScratch, padded
from numba_nlp.kernels.step.products import columns_of, new_packed_rows
from numba_nlp.kernels.step.reader import QUERIES, ReadScratch, row_parts
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["new_read_scratch", "new_row_memory", "new_source_memory", "new_step_scratch", "no_sources"]
__all__ += ["whole_panels"]


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
    # with int8 some matrices have int16; attention to a source packs rows of float32, whatever weights are
    packed = new_packed_rows(n_rows, deepest, _widest(kind))
    floats = new_packed_rows(n_rows, deepest, "float32").floats.size
    floats = max(floats, new_packed_rows(per_prompt, max(source_width, weights.head_width), "float32").floats.size)
    head_columns = whole_panels(weights.head_width)

    def shared(*matrices: Any) -> np.ndarray:
        return np.zeros((n_rows, max(int(columns_of(each)) for each in matrices)), np.float32)

    def own(*shape: int, dtype: type = np.float32) -> np.ndarray:
        return np.zeros((n_threads, *shape), dtype)

    return StepScratch(
        hidden=own(n_rows, width),
        normal=own(n_rows, width),
        floats=own(floats),
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


def _widest(kind: WeightKind) -> WeightKind:
    """Whose rows take most room, of the kinds that a model's matrices have: with int8 some may be int16."""
    return "int16" if kind == "int8" else kind


def no_sources() -> SourceMemory:
    """The sources of a decoder alone."""
    return SourceMemory(0, 0, np.zeros(0, np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64), _no_sums())


def _no_sums() -> np.ndarray:
    return np.zeros(0, np.int32)


def new_source_memory(weights: DecoderWeights, mask: np.ndarray) -> SourceMemory:
    """Memory of sources that were not read yet.

    Parameters
    ----------
    weights : DecoderWeights
        Of the decoder.
    mask : ndarray
        bool ``[sources, columns]``: true at tokens, of which each source has some.
    """
    groups, width = len(mask), padded(int(mask.sum(1).max()))
    heads, size = weights.layers * groups * weights.heads, weights.head_width
    return SourceMemory(
        sources=groups,
        width=width,
        keys=np.empty(heads * width * size, np.float32),
        values=np.empty(heads * width * whole_panels(size), np.float32),
        lengths=np.zeros(groups, np.int64),
        no_sums=_no_sums(),
    )


def whole_panels(columns: int) -> int:
    """A number of columns with those that fill the last panel."""
    return -(-columns // COLUMNS) * COLUMNS


def new_read_scratch(
    weights: DecoderWeights, n_tokens: int, longest: int, n_threads: int, kind: WeightKind, kept: int = 0
) -> ReadScratch:
    """What reading many tokens works with.

    Parameters
    ----------
    weights : DecoderWeights
    n_tokens, longest : int
        Tokens that are read at once, and of the longest row among them.
    n_threads : int
        That read together.
    kind : {"float32", "float16", "bfloat16", "int8"}
        Of the weights.
    kept : int
        Columns of what is kept of a token in one layer of a decoder, to whole panels.
    """
    width, joined, seen = weights.edge_norms.shape[2], weights.heads * weights.head_width, padded(longest)
    # fewer tokens than `n_tokens` may be divided into fewer, larger parts
    of_part = min(n_tokens, max(2 * QUERIES, -(-n_tokens // int(row_parts(n_tokens, n_threads)))))
    packed = new_packed_rows(of_part, max(width, joined, weights.outer.depth), _widest(kind))
    floats = new_packed_rows(of_part, max(width, joined, weights.outer.depth), "float32").floats.size
    floats = max(floats, new_packed_rows(QUERIES, max(seen, weights.head_width), "float32").floats.size)

    def own(*shape: int, dtype: type = np.float32) -> np.ndarray:
        return np.zeros((n_threads, *shape), dtype)

    def shared(columns: int) -> np.ndarray:
        return np.zeros((n_tokens, columns), np.float32)

    return ReadScratch(
        hidden=own(of_part, width),
        normal=own(of_part, width),
        floats=own(floats),
        codes=own(packed.codes.size, dtype=np.uint8),
        steps=own(packed.steps.size),
        keys=own(seen * weights.head_width),
        values=own(seen * whole_panels(weights.head_width)),
        scores=own(min(QUERIES, longest) * seen),
        heads=own(QUERIES * whole_panels(weights.head_width)),
        qkv=shared(max(int(columns_of(weights.qkv)), kept)),
        context=shared(joined),
        change=shared(int(columns_of(weights.joined))),
        inner=shared(int(columns_of(weights.inner))),
        gate=shared(int(columns_of(weights.gate))),
        no_sums=_no_sums(),
    )
