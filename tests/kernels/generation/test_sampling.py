"""Draws: the twin's tokens, the distribution that theory gives, and independence from what else is drawn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.generation import sampling as kernels
from numba_nlp.kernels.generation.counter_random import uniform
from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules
from numba_nlp.reference.generation import sampling as plain

sizes = st.one_of(st.integers(1, 8), st.sampled_from([63, 64, 65, 200]))
values = st.one_of(st.sampled_from([-np.inf, 0.0]), st.floats(-50, 50, width=32))
rows = arrays.arrays(np.float32, sizes, elements=values, fill=st.nothing())
SEED = np.uint64(11)
#: Chi-square with five degrees of freedom exceeds this once in ten thousand times (tables of any textbook).
QUANTILE = 25.74


def is_near(row, number) -> bool:
    """Whether a number is so near to a border that rounding decides."""
    shares = np.exp(row.astype(np.float64) - float(row.max()))
    return bool((np.abs(np.cumsum(shares) / shares.sum() - number) < 1e-6).any())


def drawn(module, row, number):
    """From the row, and from its list."""
    scratch = make_row_scratch(len(row), 1)
    listed = np.flatnonzero(row > -np.inf).astype(np.int32)
    return [
        module.draw(row, number, scratch.maxima),
        module.draw_listed(row, listed, len(listed), number, scratch.order, scratch.weights),
    ]


@given(row=rows, number=st.floats(1e-9, 1 - 1e-9))
def test_tokens_are_those_of_the_twin(row, number):
    found, expected = drawn(kernels, row, number), drawn(plain, row, number)
    for (token, score), (right, right_score) in zip(found, expected, strict=True):
        if (row > -np.inf).any() and is_near(row, number):
            assert row[token] > -np.inf
            continue
        assert token == right
        np.testing.assert_allclose(score, right_score, atol=1e-6)


def test_forbidden_tokens_are_never_drawn():
    for n in (1, 63, 64, 65, 130):
        for place in {0, n // 2, n - 1}:
            row = np.full(n, -np.inf, np.float32)
            row[place] = -3.0
            for number in (2.0**-53, 0.5, 1 - 2.0**-53):
                for token, score in drawn(kernels, row, number):
                    assert token == place
                    assert score == pytest.approx(0)
        assert [token for token, _ in drawn(kernels, np.full(n, -np.inf, np.float32), 0.5)] == [-1, -1]


def chi_square(counts: np.ndarray, expected: np.ndarray) -> float:
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("options", [{}, {"top_k": 5}, {"temperature": 2.0, "top_p": 0.9}], ids=str)
def test_tokens_have_their_probability(options):
    row = np.log(np.array([0.3, 0.05, 0.25, 0.1, 0.2, 0.1])).astype(np.float32)
    rules = make_rules(**options)
    exact = np.exp(row.astype(np.float64) / rules.temperature)
    if options:
        exact[1] = 0
    if "top_p" in options:
        # the shares are as the square roots: those without the smallest one have 90.5 %, with one less 77 %
        exact = np.sqrt([0.3, 0.05, 0.25, 0.1, 0.2, 0.1])
        exact[1] = 0
    exact /= exact.sum()
    scratch = make_row_scratch(6, 1)
    n = 1200
    counts = np.zeros(6)
    for step in range(n):
        token, score = kernels.sample_row(row.copy(), rules, SEED, np.uint64(3), step, scratch)
        assert score == pytest.approx(math.log(exact[token]), abs=1e-5)
        counts[token] += 1
    possible = exact > 0
    assert counts[~possible].sum() == 0
    assert chi_square(counts[possible], n * exact[possible]) < QUANTILE


def test_pairs_without_replacement_have_their_probability():
    """Each set of two comes as often as when one is drawn after the other."""
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    values_ = np.log(shares).astype(np.float32)
    lanes, picks, noisy = np.arange(4), np.zeros(2, np.int32), np.zeros(2)
    pairs = list(itertools.combinations(range(4), 2))
    exact = np.array([shares[i] * shares[j] * (1 / (1 - shares[i]) + 1 / (1 - shares[j])) for i, j in pairs])
    assert exact.sum() == pytest.approx(1)
    n = 2500
    counts = dict.fromkeys(pairs, 0)
    for step in range(n):
        assert kernels.draw_without_replacement(values_, lanes, 4, 2, SEED, np.uint64(3), step, picks, noisy) == 2
        counts[tuple(picks.tolist())] += 1
    assert chi_square(np.array(list(counts.values())), n * exact) < QUANTILE


@given(row=rows, k=st.integers(0, 9), step=st.integers(0, 2**32 - 1))
def test_several_are_those_of_the_twin(row, k, step):
    n = len(row)
    lanes = np.arange(n) * 3 + 1
    results = []
    for module in (kernels, plain):
        picks = np.full(k, -1, np.int32)
        count = module.draw_without_replacement(
            row, lanes, n, k, SEED if module is kernels else int(SEED), np.uint64(5) if module is kernels else 5, step,
            picks, np.zeros(k),
        )  # fmt: skip
        results.append((count, picks.tolist()))
    assert results[0] == results[1]
    assert results[0][0] == min(k, int((row > -np.inf).sum()))


def test_what_is_drawn_does_not_depend_on_other_entries():
    """Each entry has the noise of its lane, wherever it stands."""
    random = np.random.default_rng(0)
    values_ = random.standard_normal(50).astype(np.float32)
    lanes = np.arange(50)
    picks, noisy = np.zeros(7, np.int32), np.zeros(7)
    kernels.draw_without_replacement(values_, lanes, 50, 7, SEED, np.uint64(1), 4, picks, noisy)
    order = random.permutation(50)
    again = np.zeros(7, np.int32)
    kernels.draw_without_replacement(values_[order], lanes[order], 50, 7, SEED, np.uint64(1), 4, again, noisy)
    assert lanes[order][again].tolist() == picks.tolist()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize(
    "options", [{}, {"top_k": 2}, {"top_p": 0.5}, {"min_p": 0.5}, {"typical_p": 0.5}, {"temperature": 0.5}], ids=str
)
def test_rows_that_hold_what_is_no_number_give_none(options, wrong):
    """Also where the options would remove it."""
    for n in (2, 64, 70):
        for place in (0, n - 1):
            for module in (kernels, plain):
                row = np.linspace(-3, 3, n).astype(np.float32)
                row[place] = wrong
                with np.errstate(all="ignore"):
                    drawn_ = module.sample_row(
                        row, make_rules(**options), SEED if module is kernels else int(SEED), np.uint64(3), 0,
                        make_row_scratch(n, 1),
                    )  # fmt: skip
                assert drawn_[0] == -1
                assert math.isnan(drawn_[1])


def test_a_row_is_drawn_by_the_number_of_its_place():
    row = np.zeros(1000, np.float32)
    scratch = make_row_scratch(1000, 1)
    for step in range(20):
        token, _ = kernels.sample_row(row, make_rules(), SEED, np.uint64(9), step, scratch)
        assert token == math.floor(1000 * uniform(SEED, np.uint64(9), step, 0))
