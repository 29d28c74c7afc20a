"""The rules of all rows of a step: as the plain twin, and each row by its own prompt."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.generation import row_edits as compiled
from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules
from numba_nlp.reference.generation import row_edits as plain

RULES = [
    make_rules(),
    make_rules(repetition_penalty=1.5, no_repeat_ngram_size=2, encoder_no_repeat_ngram_size=1, renormalize=True),
    make_rules(min_length=9, eos_ids=[2, 3], suppressed_ids=[4], begin_suppressed_ids=[5], begin_index=4),
    make_rules(forced_eos_ids=[6], max_length=5, bad_words_ids=[[1], [0, 7]]),
    make_rules(temperature=0.5, top_k=4, top_p=0.9, min_p=0.05, typical_p=0.9),
]


def run(module, rules, seed):
    generator = np.random.default_rng(seed)
    vocabulary = 9
    logits = generator.normal(size=(6, vocabulary)).astype(np.float32)
    logits[generator.random(logits.shape) < 0.1] = -np.inf
    rows = generator.integers(0, vocabulary, (6, 7)).astype(np.int32)
    sources = generator.integers(0, vocabulary, (5, 2)).astype(np.int32)
    firsts = generator.integers(0, 3, 5)
    numbers = np.array([3, 0, 4], np.int32)
    shifts = np.zeros(6)
    scratch = make_row_scratch(vocabulary, 7)
    results = []

    def keep():
        results.append(logits - shifts[:, None])

    assert module.shift_rows(logits, shifts, np.zeros((6, 1), np.float32)) == -1
    keep()
    module.restrict_rows(logits, shifts, rows, firsts, 4, sources, numbers, rules, scratch.saved)
    keep()
    module.force_rows(logits, shifts, 4, rules)
    keep()
    module.warp_rows(logits, shifts, rules, scratch)
    keep()
    module.renormalize_rows(logits, shifts)
    keep()
    module.to_values(logits, shifts)
    assert not shifts.any()
    keep()
    module.allow_only(logits[0], np.array([1, 3, 8]))
    keep()
    return results


@given(st.sampled_from(RULES), st.integers(0, 2**32 - 1))
def test_as_the_plain_twin(rules, seed):
    for got, expected in zip(run(compiled, rules, seed), run(plain, rules, seed), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("module", [compiled, plain])
def test_rows_have_their_prompts(module):
    """Two rows each of prompts 2 and 0: their sources forbid tokens."""
    logits, shifts = np.zeros((4, 5), np.float32), np.zeros(4)
    sources = np.array([[1, 1], [2, 2], [3, 4]], np.int32)
    rules = make_rules(encoder_no_repeat_ngram_size=1)
    rows, firsts, numbers = np.zeros((4, 3), np.int32), np.zeros(3, np.int64), np.array([2, 0], np.int32)
    module.restrict_rows(logits, shifts, rows, firsts, 1, sources, numbers, rules, np.zeros(3, np.float32))
    banned = [np.flatnonzero(np.isneginf(row)).tolist() for row in logits]
    assert banned == [[3, 4], [3, 4], [1], [1]]


@pytest.mark.parametrize("module", [compiled, plain])
def test_shifts_make_probabilities(module):
    logits, shifts = np.array([[1.0, 2.0, -np.inf], [50.0, 50.0, 50.0]], np.float32), np.zeros(2)
    maxima = np.zeros((2, 1), np.float32)
    assert module.shift_rows(logits, shifts, maxima) == -1
    assert maxima.tolist() == [[2.0], [50.0]]
    np.testing.assert_allclose(np.exp(logits - shifts[:, None]).sum(1), 1.0, rtol=1e-6)


def test_nan_is_seen():
    shifts = np.zeros(3)
    logits = np.array([[1.0, 2.0], [1.0, np.nan], [np.nan, 1.0]], np.float32)
    assert compiled.shift_rows(logits, shifts, np.zeros((3, 1), np.float32)) == 1
    assert np.isnan(shifts).tolist() == [False, True, True]
