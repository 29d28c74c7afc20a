"""The largest value of a row and its log-sum-exp: the twin's, at all sizes, with ties and nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.generation import row_values as kernels
from numba_nlp.reference.generation import row_values as plain

sizes = st.one_of(st.integers(1, 8), st.sampled_from([63, 64, 65, 128, 200, 300]))
#: Few values, so that ties are the rule, or any.
values = st.one_of(
    st.sampled_from([-np.inf, -1.0, 0.0, -0.0, 2.0]),
    st.floats(-60, 60, width=32),
)
logits = arrays.arrays(np.float32, sizes, elements=values, fill=st.nothing())


def maxima_of(row):
    return np.zeros((len(row) + 63) // 64, np.float32)


@given(row=logits, first=st.integers(0, 300))
def test_values_are_those_of_the_twin(row, first):
    assert kernels.largest(row) == plain.largest(row)
    assert kernels.holds_numbers(row)
    assert plain.holds_numbers(row)
    found, expected = maxima_of(row), maxima_of(row)
    assert kernels.block_maxima(row, found) == plain.block_maxima(row, expected)
    np.testing.assert_array_equal(found, expected)
    first = min(first, len(row))
    for stop in (len(row), (first + len(row)) // 2):
        assert kernels.largest_within(row, first, stop) == plain.largest_within(row, first, stop)
    np.testing.assert_allclose(kernels.log_sum_exp(row), plain.log_sum_exp(row), rtol=1e-7, atol=2e-7)
    assert kernels.log_sum_exp_and_largest(row) == (kernels.log_sum_exp(row), plain.largest(row))
    again = maxima_of(row)
    assert kernels.log_sum_exp_by_blocks(row, again) == kernels.log_sum_exp(row)
    np.testing.assert_array_equal(again, expected)


def test_log_sum_exp_of_several_parts():
    """Largest value in any part; parts of nothing; NaN in any."""
    random = np.random.default_rng(0)
    size = 12 * kernels.PART + 100
    for place in (0, 5000, 9000, size - 1):
        row = random.standard_normal(size).astype(np.float32)
        row[place] = 60
        assert kernels.log_sum_exp(row) == pytest.approx(plain.log_sum_exp(row), abs=1e-9)
        row[place] = 8
        assert kernels.log_sum_exp(row) == pytest.approx(plain.log_sum_exp(row), abs=2e-7)
        row[:place] = -np.inf
        assert kernels.log_sum_exp(row) == pytest.approx(plain.log_sum_exp(row), abs=2e-7)
        row[place] = np.nan
        assert math.isnan(kernels.log_sum_exp(row))


def test_log_sum_exp_in_theory():
    for n in (1, 2, 63, 64, 65, 1000):
        assert kernels.log_sum_exp(np.full(n, 3.5, np.float32)) == pytest.approx(3.5 + math.log(n), abs=1e-12)
    # a geometric series, most of which is below what float32 adds
    row = -np.arange(300, dtype=np.float32)
    assert kernels.log_sum_exp(row) == pytest.approx(-math.log1p(-math.exp(-1)), abs=1e-7)


@pytest.mark.parametrize("size", [1, 64, 100])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_no_number_shows(size, wrong):
    for place in {0, size // 2, size - 1}:
        for other in (0.0, -np.inf):
            row = np.full(size, other, np.float32)
            row[place] = wrong
            assert math.isnan(kernels.log_sum_exp(row))
            assert math.isnan(plain.log_sum_exp(row))
            assert not kernels.holds_numbers(row)
            assert not plain.holds_numbers(row)
    assert math.isnan(kernels.log_sum_exp(np.full(size, wrong, np.float32)))


@pytest.mark.parametrize("size", [1, 64, 100])
def test_a_row_of_nothing(size):
    row = np.full(size, -np.inf, np.float32)
    assert kernels.log_sum_exp(row) == -np.inf
    assert kernels.largest(row) == 0
    assert kernels.holds_numbers(row)


@given(row=logits)
def test_weights_are_those_of_the_twin(row):
    if row.max() == -np.inf:
        return
    for n in {1, len(row)}:
        found, expected = np.zeros(len(row), np.float32), np.zeros(len(row), np.float32)
        total = kernels.weigh_values(row, n, row.max(), found)
        # rounding of a difference, here up to 120, changes its exponential
        assert total == pytest.approx(plain.weigh_values(row, n, row.max(), expected), rel=1e-5)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-38)
