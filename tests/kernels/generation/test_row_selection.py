"""The largest values of a row: the twin's, numpy's, at all sizes, with ties and nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.generation import row_selection as kernels
from numba_nlp.kernels.generation.row_values import block_maxima
from numba_nlp.reference.generation import row_selection as plain
from tests.kernels.generation.test_row_values import logits, maxima_of, values


def top_of(module, row, k):
    found, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
    n = module.select_top(row, k, maxima_of(row), found, indices)
    return n, found[:n].tolist(), indices[:n].tolist()


@given(row=logits, k=st.one_of(st.integers(0, 12), st.sampled_from([64, 400])))
def test_selection_is_that_of_the_twin(row, k):
    assert top_of(kernels, row, k) == top_of(plain, row, k)


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


@pytest.mark.parametrize("size", [1, 64, 100])
def test_a_row_of_nothing(size):
    row, n = np.full(size, -np.inf, np.float32), min(size, 3)
    assert top_of(kernels, row, 3) == (n, [-np.inf] * n, list(range(n)))


@given(row=logits, k=st.integers(1, 70))
def test_heaps_are_those_of_the_twin(row, k):
    """The same entries with the same worst one in front, and in order after sorting."""
    results = []
    for module in (kernels, plain):
        found, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
        maxima = maxima_of(row)
        block_maxima(row, maxima)
        n = module.gather_best(row, k, maxima, found, indices)
        gathered = int(indices[0]), sorted(indices[:n].tolist())
        n = module.offer_best(np.float32(1.5), 1000, k, found, indices, n)
        offered = int(indices[0]), sorted(indices[:n].tolist())
        module.sort_best(found, indices, n)
        blocks = np.zeros(k, np.float32), np.zeros(k, np.int32)
        selected = module.select_blocks(row, k, maxima, *blocks)
        results.append((gathered, offered, found[:n].tolist(), indices[:n].tolist(), selected, blocks[1].tolist()))
    assert results[0] == results[1]


@given(row=arrays.arrays(np.float32, st.sampled_from([100, 1024, 3000]), elements=values), data=st.data())
def test_selection_when_values_became_smaller(row, data):
    """What was largest is forbidden or made smaller: the maxima are those of before."""
    k = data.draw(st.sampled_from([1, 3, 12, 40]))
    maxima = maxima_of(row)
    block_maxima(row, maxima)
    order = np.argsort(-row, kind="stable")
    changed = order[: data.draw(st.integers(0, 90))][:: data.draw(st.integers(1, 3))]
    row[changed] = np.float32(data.draw(st.sampled_from([-np.inf, -61.0])))
    results = []
    for module in (kernels, plain):
        found, indices = np.zeros(k, np.float32), np.zeros(k, np.int32)
        n = module.select_changed(row, k, maxima.copy(), found, indices)
        results.append((n, found[:n].tolist(), indices[:n].tolist()))
    assert results[0] == results[1]
