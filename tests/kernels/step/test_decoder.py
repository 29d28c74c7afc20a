"""The step of random decoders of all kinds against its twin, and what rows see against lists."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.generation.packing import pack_matrices
from numba_nlp.generation.step_memory import (
    new_read_scratch,
    new_row_memory,
    new_source_memory,
    new_step_scratch,
    no_sources,
)
from numba_nlp.kernels.step.activations import CODES
from numba_nlp.kernels.step.any_kind import of_any_kind
from numba_nlp.kernels.step.decoder import decoder_step
from numba_nlp.kernels.step.decoder_memory import padded
from numba_nlp.kernels.step.places import follow_parents, list_places
from numba_nlp.kernels.step.products import columns_of
from numba_nlp.kernels.step.reader import keep_sources
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.kernels.step.team import new_team_state
from numba_nlp.reference.step import decoder as twin
from numba_nlp.reference.step import places as twin_places
from numba_nlp.reference.step.reader import keep_source
from tests.kernels.step.random_weights import (
    FLAGS,
    HEADS,
    LAYERS,
    SIZE,
    VOCABULARY,
    WIDTH,
    draw_weights,
    plain_weights,
)


def draw_sources(random, weights, lengths, kind):
    """Sources in both forms."""
    matrices = [random.standard_normal((2 * HEADS * SIZE, WIDTH)).astype(np.float32) for _ in range(LAYERS)]
    maps = pack_matrices(matrices, None, kind)
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    memory = new_source_memory(weights, mask)
    hidden = random.standard_normal((sum(lengths), WIDTH)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    scratch = new_read_scratch(weights, len(hidden), max(lengths), 1, kind, int(columns_of(maps)))
    prompts = np.arange(len(lengths), dtype=np.int32)
    given = starts, prompts, LAYERS, HEADS, of_any_kind(maps, kind), memory, scratch, hidden
    assert keep_sources(0, 1, new_team_state(), *given) == 0
    assert memory.lengths.tolist() == lengths
    rows = [hidden[first:last] for first, last in pairwise(starts)]
    return memory, [twin.Source(*keep_source(row, maps, LAYERS, HEADS, kind, COLUMNS)) for row in rows]


#: Each value of each flag beside each of the others, in few cases.
CASES = [
    dict(zip(FLAGS, (a, b, a ^ b, c, a ^ c, b ^ c, a ^ b ^ c), strict=True))
    for a, b, c in product((False, True), repeat=3)
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_steps_are_those_of_the_twin(number):
    check_steps(CASES[number], "float32", list(CODES)[number % 5], number, 1e-4)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "int8", "int16"])
def test_steps_with_narrow_weights(kind):
    # rows of integers are rounded: a sum in another order may round to the next step
    check_steps(CASES[6], kind, "silu", 1, {"int8": 0.1, "int16": 2e-3}.get(kind, 2e-4))


def check_steps(flags, kind, activation, seed, close):
    random = np.random.default_rng(seed)
    weights = draw_weights(random, kind, activation, **flags)
    plain = plain_weights(weights, kind)
    prompts, per_prompt, steps = 2, 3, 4
    memory = new_row_memory(weights, np.ones((prompts, 1), bool), per_prompt, steps)
    sources, plain_sources = no_sources(), [None] * prompts
    if flags["with_source"]:
        sources, plain_sources = draw_sources(random, weights, [4, 70], kind)
    n_rows = prompts * per_prompt
    scratch = new_step_scratch(weights, n_rows, per_prompt, 1 + steps, padded(70), 1, kind)
    team, logits = new_team_state(), np.zeros((n_rows, VOCABULARY), np.float32)

    def step(tokens, groups, per_group, column, half):
        list_places(tokens, groups, per_group, column, half, weights, memory)
        out = logits[: tokens.size]
        given = tokens, groups, per_group, weights, memory, sources, scratch, out
        assert decoder_step(0, 1, team, *given) == 0
        return out

    def expected(tokens, column, rows):
        return [
            twin.decoder_step(int(token), column, row, plain, activation, kind, COLUMNS)
            for token, row in zip(tokens, rows, strict=True)
        ]

    groups = np.arange(prompts, dtype=np.int32)
    tokens = random.integers(0, VOCABULARY, prompts)
    begun = [twin.Row(LAYERS, source) for source in plain_sources]
    np.testing.assert_allclose(step(tokens, groups, 1, 0, 0), expected(tokens, 0, begun), atol=close, rtol=close)
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
        found = step(tokens, groups, per_prompt, 1 + n_new, half)
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
        list_places(tokens, groups, per_prompt, 3 + n, half, weights, memory)
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


@given(seed=st.integers(0, 2**32 - 1))
def test_places_within_prompts(seed):
    """Read column by column, padding sees itself and does not count; with a token of padding, that at the left."""
    random = np.random.default_rng(seed)
    weights = draw_weights(np.random.default_rng(0), "float32", "relu", **dict.fromkeys(FLAGS, True))
    mask = random.random((3, 4)) < 0.6
    memory = new_row_memory(weights, mask, 1, 0)
    counted = [0, 0, 0]
    for column in range(4):
        tokens = random.integers(0, 3, 3)
        list_places(tokens, np.arange(3, dtype=np.int32), 1, column, 0, weights, memory)
        for row in range(3):
            seen = [*np.flatnonzero(mask[row, :column]), column]
            expected = twin_places.list_places(row, seen, [], 3, 4, 3)
            length = memory.lengths[row]
            assert memory.columns[row, :length].tolist() == seen
            assert memory.offsets[row, :length].tolist() == [place * HEADS * SIZE for _, place in expected]
            without = tokens[row] == weights.position_padding
            assert memory.positions[row] == (weights.position_padding if without else 2 + counted[row])
            counted[row] += mask[row, : column + 1].any() and not without
