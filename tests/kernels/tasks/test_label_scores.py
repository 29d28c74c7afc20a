"""Scores of labels: the twin's, numpy's, those of theory at the ends of what floats hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.tasks import label_scores as kernels
from numba_nlp.reference.tasks import label_scores as plain

#: Few values, so that ties are the rule, or any that a model may give.
values = st.one_of(st.sampled_from([-3.0, 0.0, 0.5, 2.0]), st.floats(-1e4, 1e4, width=32))
shapes = st.tuples(st.integers(0, 3), st.one_of(st.integers(1, 6), st.sampled_from([63, 64, 65, 130])))
logits = arrays.arrays(np.float32, shapes, elements=values, fill=st.nothing())


def apply(function, rows):
    scores = np.full_like(rows, 7)
    function(rows, scores)
    return scores


@given(rows=logits)
def test_scores_are_those_of_the_twin(rows):
    for name in ("softmax_rows", "sigmoid_rows"):
        found, expected = (apply(getattr(module, name), rows) for module in (kernels, plain))
        np.testing.assert_allclose(found, expected, rtol=2e-7, atol=2e-16)


@given(rows=logits, share=st.floats(0, 1))
def test_the_best_labels_are_those_of_a_stable_sort(rows, share):
    k = round(share * rows.shape[1])
    maxima = np.empty((rows.shape[1] + 63) // 64, np.float32)
    results = []
    for module in (kernels, plain):
        found, indices = np.empty((len(rows), k), np.float32), np.empty((len(rows), k), np.int32)
        module.top_rows(rows, k, maxima, found, indices)
        results.append((found.tolist(), indices.tolist()))
    assert results[0] == results[1]
    order = np.argsort(-rows, axis=1, kind="stable")[:, :k]
    assert results[0][1] == order.tolist()
    assert results[0][0] == np.take_along_axis(rows, order, 1).tolist()


def test_in_theory():
    rows = np.array([[0.0, np.log(3.0)], [1000.0, 0.0], [-1000.0, -1000.0]], np.float32)
    np.testing.assert_allclose(apply(kernels.softmax_rows, rows), [[0.25, 0.75], [1, 0], [0.5, 0.5]], rtol=1e-6)
    rows = np.array([[0.0, np.log(3.0), 1000.0, -1000.0, -np.inf, np.inf]], np.float32)
    np.testing.assert_allclose(apply(kernels.sigmoid_rows, rows), [[0.5, 0.75, 1, 0, 0, 1]], rtol=1e-6)


@pytest.mark.parametrize("row", [[0, np.nan], [np.inf, 0], [-np.inf, -np.inf]])
def test_what_is_no_number_shows(row):
    rows = np.array([row], np.float32)
    for module in (kernels, plain):
        assert np.isnan(apply(module.softmax_rows, rows)).all()
    shown = apply(kernels.sigmoid_rows, np.array([[np.nan, 0]], np.float32))
    assert np.isnan(shown[0, 0])
    assert shown[0, 1] == 0.5
