"""Tokens of rows that go their own ways: as the plain twin, and by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.generation import chosen as compiled
from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules
from numba_nlp.reference.generation import chosen as plain

VALUES = st.one_of(st.sampled_from([-np.inf, 0.0]), st.floats(-20, 20, width=32))
SHAPES = st.tuples(st.integers(1, 4), st.integers(1, 70))
LOGITS = SHAPES.flatmap(lambda shape: arrays.arrays(np.float32, shape, elements=VALUES))


def usable(logits):
    """Some token has a probability in each row."""
    logits[:, 0] = np.where(np.isneginf(logits).all(1), 0.0, logits[:, 0])
    return logits


@given(LOGITS, st.integers(0, 2**32 - 1))
def test_choices(logits, seed):
    logits = usable(logits)
    generator = np.random.default_rng(seed)
    done = generator.integers(0, 2, len(logits)).astype(np.uint8)
    results = []
    for module in (compiled, plain):
        tokens, values = np.full(len(logits), -5), np.zeros(len(logits), np.float32)
        assert module.take_largest(logits, done, tokens, values) == -1
        given_values = np.zeros(len(logits), np.float32)
        module.score_tokens(logits, np.argmax(logits, 1), given_values)
        results.append((tokens, values, given_values))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][0] == -5, done == 1)
    for one, other in zip(results[0][1:], results[1][1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


@given(LOGITS, st.integers(0, 2**63), st.sampled_from([{}, {"top_k": 3}, {"top_p": 0.5, "temperature": 0.7}]))
def test_draws(logits, seed, options):
    logits = usable(logits)
    keys = np.arange(len(logits), dtype=np.uint64) + np.uint64(seed)
    scratch = make_row_scratch(logits.shape[1], 4)
    done = np.zeros(len(logits), np.uint8)
    done[1:2] = 1
    results = []
    for module in (compiled, plain):
        tokens, values = np.full(len(logits), -5), np.zeros(len(logits), np.float32)
        module.draw_rows(logits.copy(), done, make_rules(**options), np.uint64(9), keys, 3, scratch, tokens, values)
        results.append((tokens, values))
    same = results[0][0] == results[1][0]
    # rounding may move a draw that lies on the border of two tokens
    assert same.mean() >= 0.5 or len(logits) == 1
    np.testing.assert_array_equal(results[0][0] == -5, done == 1)
    np.testing.assert_allclose(results[0][1][same], results[1][1][same], rtol=1e-4, atol=1e-4)


def test_tokens_are_put_behind_rows():
    nothing = np.array([], np.int32)
    for module in (compiled, plain):
        rows = np.array([[7, 5, 0, 0], [7, 5, 0, 0], [7, 5, 0, 0], [7, 5, 0, 0]], np.int32)
        done = np.array([0, 1, 0, 0], np.uint8)
        tokens = np.array([2, 8, 6, 9])
        values = np.array([-1, -2, -3, -4], np.float32)
        stops = np.array([5, 6], np.int32), np.array([0, 2])
        reads = np.full(4, -1)
        n = module.append_tokens(rows, 2, 1, np.array([2], np.int32), *stops, 99, tokens, values, done, reads)
        assert n == 1
        assert reads.tolist() == [0, 0, 0, 9]
        assert done.tolist() == [1, 1, 1, 0]
        assert rows[:, 2].tolist() == tokens.tolist() == [2, 99, 6, 9]
        assert values.tolist() == [-1, 0, -3, -4]
        assert module.append_tokens(rows, 3, 1, nothing, *stops, 99, tokens, values, done, reads) == 1
        assert rows[:, 3].tolist() == [99, 99, 99, 9]


def test_rows_of_nothing_have_no_value():
    logits = np.full((3, 5), -np.inf, np.float32)
    logits[1, 3] = 0.0
    for draw in (False, True):
        tokens, values = np.zeros(3, np.int64), np.zeros(3, np.float32)
        done = np.array([1, 0, 0], np.uint8)
        if draw:
            keys, scratch = np.zeros(3, np.uint64), make_row_scratch(5, 1)
            wrong = compiled.draw_rows(logits, done, make_rules(), np.uint64(1), keys, 0, scratch, tokens, values)
        else:
            wrong = compiled.take_largest(logits, done, tokens, values)
        assert wrong == 2
        assert np.isnan(values).tolist() == [False, False, True]
