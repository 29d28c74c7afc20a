"""The largest values of a row and its log-sum-exp: the twin's, numpy's, at all sizes, with ties and nothing."""

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


def top_of(module, row, k):
    found, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
    n = module.select_top(row, k, maxima_of(row), found, indices)
    return n, found[:n].tolist(), indices[:n].tolist()


@given(row=logits, k=st.one_of(st.integers(0, 12), st.sampled_from([64, 400])))
def test_values_are_those_of_the_twin(row, k):
    assert kernels.largest(row) == plain.largest(row)
    found, expected = maxima_of(row), maxima_of(row)
    assert kernels.block_maxima(row, found) == plain.block_maxima(row, expected)
    np.testing.assert_array_equal(found, expected)
    assert top_of(kernels, row, k) == top_of(plain, row, k)
    np.testing.assert_allclose(kernels.log_sum_exp(row), plain.log_sum_exp(row), rtol=1e-7, atol=2e-7)
    assert kernels.log_sum_exp_and_largest(row) == (kernels.log_sum_exp(row), plain.largest(row))
    again = maxima_of(row)
    assert kernels.log_sum_exp_by_blocks(row, again) == kernels.log_sum_exp(row)
    np.testing.assert_array_equal(again, expected)


@given(row=logits, k=st.integers(1, 70))
def test_selection_by_numpys_stable_sort(row, k):
    order = np.argsort(-row, kind="stable")[:k]
    n, found, indices = top_of(kernels, row, k)
    assert n == min(k, len(row))
    assert indices == order.tolist()
    assert found == row[order].tolist()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("k", [1, 5, 31, 32, 500])
def test_selection_from_sorted_rows(order, k):
    row = np.arange(2000, dtype=np.float32)[::order].copy()
    _, found, indices = top_of(kernels, row, k)
    assert found == list(range(1999, 1999 - k, -1))
    assert row[indices].tolist() == found


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
    assert math.isnan(kernels.log_sum_exp(np.full(size, wrong, np.float32)))


@pytest.mark.parametrize("size", [1, 64, 100])
def test_a_row_of_nothing(size):
    row = np.full(size, -np.inf, np.float32)
    assert kernels.log_sum_exp(row) == -np.inf
    assert kernels.largest(row) == 0
    assert top_of(kernels, row, 3) == (min(size, 3), [-np.inf] * min(size, 3), list(range(min(size, 3))))


@given(row=logits, k=st.integers(1, 70))
def test_heaps_are_those_of_the_twin(row, k):
    """The same entries with the same worst one in front, and in order after sorting."""
    results = []
    for module in (kernels, plain):
        found, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
        maxima = maxima_of(row)
        module.block_maxima(row, maxima)
        n = module.gather_best(row, k, maxima, found, indices)
        gathered = int(indices[0]), sorted(indices[:n].tolist())
        n = module.offer_best(np.float32(1.5), 1000, k, found, indices, n)
        offered = int(indices[0]), sorted(indices[:n].tolist())
        module.sort_best(found, indices, n)
        blocks = np.zeros(k, np.float32), np.zeros(k, np.int32)
        selected = module.select_blocks(row, k, maxima, *blocks)
        results.append((gathered, offered, found[:n].tolist(), indices[:n].tolist(), selected, blocks[1].tolist()))
    assert results[0] == results[1]


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


@given(row=arrays.arrays(np.float32, st.sampled_from([100, 1024, 3000]), elements=values), data=st.data())
def test_selection_when_values_became_smaller(row, data):
    """What was largest is forbidden or made smaller: the maxima are those of before."""
    k = data.draw(st.sampled_from([1, 3, 12, 40]))
    maxima = maxima_of(row)
    kernels.block_maxima(row, maxima)
    order = np.argsort(-row, kind="stable")
    changed = order[: data.draw(st.integers(0, 90))][:: data.draw(st.integers(1, 3))]
    row[changed] = np.float32(data.draw(st.sampled_from([-np.inf, -61.0])))
    results = []
    for module in (kernels, plain):
        found, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
        n = module.select_changed(row, k, maxima.copy(), found, indices)
        results.append((n, found[:n].tolist(), indices[:n].tolist()))
    assert results[0] == results[1]
