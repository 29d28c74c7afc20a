"""The step of random decoders of all kinds against its twin, and what rows see against lists."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.generation.packing import pack_matrices
from numba_nlp.generation.step_memory import new_row_memory, new_step_scratch, no_sources, pack_sources
from numba_nlp.kernels.step.activations import CODES
from numba_nlp.kernels.step.decoder import decoder_step
from numba_nlp.kernels.step.decoder_memory import DecoderWeights, padded
from numba_nlp.kernels.step.places import follow_parents, list_places
from numba_nlp.kernels.step.products import Matrices
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.kernels.step.team import new_team_state
from numba_nlp.reference.step import decoder as twin
from numba_nlp.reference.step import places as twin_places

LAYERS, HEADS, SIZE, WIDTH, INNER, VOCABULARY = 2, 3, 5, 20, 9, COLUMNS + 7


def draw_weights(random: np.random.Generator, kind: str, activation: str, **flags: Any) -> DecoderWeights:
    """A random decoder."""

    def array(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.5).astype(np.float32)

    def matrices(outputs: int, depth: int, count: int = LAYERS) -> Matrices:
        biases = [array(outputs) for _ in range(count)] if flags["bias"] else None
        return pack_matrices([array(outputs, depth) for _ in range(count)], biases, kind)

    def empty() -> Matrices:
        like = matrices(1, 1, 1)
        return Matrices(like.panels[:0], like.scales[:0], like.sums[:0], like.bias[:0], 0, 0)

    deep = -(-INNER // COLUMNS) * COLUMNS
    outer = [np.pad(array(WIDTH, INNER), ((0, 0), (0, deep - INNER))) for _ in range(LAYERS)]
    whole = VOCABULARY // COLUMNS * COLUMNS
    return DecoderWeights(
        layers=LAYERS,
        heads=HEADS,
        head_width=SIZE,
        norm_first=flags["norm_first"],
        centred=flags["centred"],
        gated=flags["gated"],
        with_source=flags["with_source"],
        begin=flags["begin"],
        end=flags["end"],
        activation=CODES[activation],
        epsilon=1e-5,
        embedding_scale=np.float32(1.5),
        output_scale=np.float32(0.5 if flags["end"] else 1.0),
        position_offset=2,
        position_padding=1 if flags["begin"] else -1,
        tokens=array(VOCABULARY, WIDTH),
        positions=array(30 if flags["centred"] else 0, WIDTH),
        scales=np.abs(array(LAYERS)),
        distances=array(HEADS, 0 if flags["centred"] else 4),
        edge_norms=array(2, 2, WIDTH),
        norms=array(LAYERS, 3, 2, WIDTH),
        qkv=matrices(3 * HEADS * SIZE, WIDTH),
        joined=matrices(WIDTH, HEADS * SIZE),
        query=matrices(HEADS * SIZE, WIDTH) if flags["with_source"] else empty(),
        source_joined=matrices(WIDTH, HEADS * SIZE) if flags["with_source"] else empty(),
        inner=matrices(INNER, WIDTH),
        gate=matrices(INNER, WIDTH) if flags["gated"] else empty(),
        outer=pack_matrices(outer, [array(WIDTH) for _ in range(LAYERS)] if flags["bias"] else None, kind),
        logits=matrices(whole, WIDTH, 1),
        last_logits=matrices(VOCABULARY - whole, WIDTH, 1),
    )


def draw_sources(random: np.random.Generator, mask: np.ndarray) -> tuple[Any, list[twin.Source]]:
    """Sources in both forms."""
    shape = (LAYERS, len(mask), HEADS, mask.shape[1], SIZE)
    keys, values = random.standard_normal((2, *shape)).astype(np.float32)
    # [layer][tokens, heads, width] of each source
    plain = [
        twin.Source(
            *([held[layer, i][:, mask[i]].swapaxes(0, 1) for layer in range(LAYERS)] for held in (keys, values))
        )
        for i in range(len(mask))
    ]
    return pack_sources(keys, values, mask), plain


FLAGS = ("norm_first", "centred", "gated", "with_source", "begin", "end", "bias")
#: Each value of each flag beside each of the others, in few cases.
CASES = [
    dict(zip(FLAGS, (a, b, a ^ b, c, a ^ c, b ^ c, a ^ b ^ c), strict=True))
    for a, b, c in product((False, True), repeat=3)
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_steps_are_those_of_the_twin(number):
    check_steps(CASES[number], "float32", list(CODES)[number % 5], number, 1e-4)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8"])
def test_steps_with_narrow_weights(kind):
    # rows of int8 are rounded: a sum in another order may round to the next step
    check_steps(CASES[6], kind, "silu", 1, 2e-4 if kind != "int8" else 0.1)


def check_steps(flags, kind, activation, seed, close):
    random = np.random.default_rng(seed)
    weights = draw_weights(random, kind, activation, **flags)
    prompts, per_prompt, steps = 2, 3, 4
    memory = new_row_memory(weights, np.ones((prompts, 1), bool), per_prompt, steps)
    sources, plain_sources = no_sources(), [None] * prompts
    if flags["with_source"]:
        mask = random.random((prompts, 6)) < 0.7
        mask[:, 2] = True
        sources, plain_sources = draw_sources(random, mask)
    n_rows = prompts * per_prompt
    scratch = new_step_scratch(weights, n_rows, per_prompt, 1 + steps, padded(6), 1, kind)
    team, logits = new_team_state(), np.zeros((n_rows, VOCABULARY), np.float32)

    def step(tokens, groups, per_group, n_new, half):
        list_places(tokens, groups, per_group, n_new, half, weights, memory)
        out = logits[: tokens.size]
        given = tokens, groups, per_group, weights, memory, sources, scratch, out
        assert decoder_step(0, 1, team, *given) == 0
        return out

    def expected(tokens, column, rows):
        return [
            twin.decoder_step(int(token), column, row, weights, activation, kind, COLUMNS)
            for token, row in zip(tokens, rows, strict=True)
        ]

    groups = np.arange(prompts, dtype=np.int32)
    tokens = random.integers(0, VOCABULARY, prompts)
    begun = [twin.Row(LAYERS, source) for source in plain_sources]
    np.testing.assert_allclose(step(tokens, groups, 1, -1, 0), expected(tokens, 0, begun), atol=close, rtol=close)
    memory.counted[:] = np.repeat(memory.counted[0, :prompts], per_prompt)
    rows, half = [row.copy() for row in begun for _ in range(per_prompt)], 0
    for n_new in range(steps):
        if n_new == 2:  # the first prompt is done
            memory.writers[half, :per_prompt] = memory.writers[half, per_prompt:]
            memory.counted[half, :per_prompt] = memory.counted[half, per_prompt:]
            groups, rows = groups[1:], rows[per_prompt:]
        parents = random.integers(0, per_prompt, len(rows)) + np.repeat(np.arange(groups.size) * per_prompt, per_prompt)
        follow_parents(parents, n_new, half, memory)
        half, rows = 1 - half, [rows[parent].copy() for parent in parents]
        tokens = random.integers(0, VOCABULARY, len(rows))
        tokens[0] = 1  # may be without a position
        found = step(tokens, groups, per_prompt, n_new, half)
        np.testing.assert_allclose(found, expected(tokens, 1 + n_new, rows), atol=close, rtol=close)


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(0, 4))
def test_places(seed, steps):
    random = np.random.default_rng(seed)
    flags = dict.fromkeys(FLAGS, True)
    weights = draw_weights(np.random.default_rng(0), "float32", "relu", **flags)
    mask = random.random((2, 3)) < 0.6
    per_prompt = 2
    memory = new_row_memory(weights, mask, per_prompt, steps)
    groups, rows, half = np.arange(2, dtype=np.int32), [[] for _ in range(4)], 0
    counted = [0] * 4
    for n in range(steps):
        parents = random.integers(0, 2, 4) + np.array([0, 0, 2, 2])
        follow_parents(parents, n, half, memory)
        half, rows = 1 - half, twin_places.follow_parents(parents, rows)
        counted = [counted[parent] for parent in parents]
        tokens = random.integers(0, 3, 4)
        list_places(tokens, groups, per_prompt, n, half, weights, memory)
        for row, writers in enumerate(rows):
            writers.append((n, row))
            prompt = row // per_prompt
            expected = twin_places.list_places(prompt, np.flatnonzero(mask[prompt]), writers, 2, 3, 4)
            length = memory.lengths[row]
            assert length == len(expected)
            assert memory.columns[row, :length].tolist() == [column for column, _ in expected]
            assert memory.offsets[row, :length].tolist() == [place * HEADS * SIZE for _, place in expected]
            without = tokens[row] == weights.position_padding
            assert memory.positions[row] == (weights.position_padding if without else 2 + counted[row])
            counted[row] += not without
