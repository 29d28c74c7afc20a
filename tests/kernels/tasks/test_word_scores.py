"""Probabilities of words: the twin's, and those of a distribution that is known."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.tasks import word_scores as kernels
from numba_nlp.reference.tasks import word_scores as plain

values = st.one_of(st.sampled_from([-3.0, 0.0, 2.0]), st.floats(-40, 40, width=32))
shapes = st.tuples(st.integers(0, 2), st.one_of(st.integers(1, 6), st.sampled_from([64, 65, 200, 1100])))
logits = arrays.arrays(np.float32, shapes, elements=values)


def best_of(module, rows, listed, k, *, targets):
    scores, tokens = np.empty((len(rows), k), np.float32), np.empty((len(rows), k), np.int32)
    maxima = np.empty((rows.shape[1] + 63) // 64, np.float32)
    if targets:
        maxima = np.empty((listed.size + 63) // 64, np.float32)
        module.best_targets(rows, listed, k, maxima, np.empty(listed.size, np.float32), scores, tokens)
    else:
        module.best_tokens(rows.copy(), listed, k, maxima, scores, tokens)
    return scores, tokens.tolist()


@given(rows=logits, data=st.data())
def test_words_are_those_of_the_twin(rows, data):
    size = rows.shape[1]
    listed = data.draw(st.lists(st.integers(0, size - 1), unique=True, max_size=8))
    listed = np.array(listed, np.int32)
    for targets, most in ((True, listed.size), (False, size - listed.size)):
        k = data.draw(st.integers(0, min(most, 12)))
        found, expected = (best_of(module, rows, listed, k, targets=targets) for module in (kernels, plain))
        assert found[1] == expected[1]
        np.testing.assert_allclose(found[0], expected[0], rtol=5e-6, atol=1e-30)


def test_a_known_distribution():
    shares = np.array([[0.1, 0.4, 0.2, 0.05, 0.25]])
    rows = np.log(shares).astype(np.float32) + 30
    nothing = np.empty(0, np.int32)
    scores, tokens = best_of(kernels, rows, nothing, 3, targets=False)
    assert tokens == [[1, 4, 2]]
    np.testing.assert_allclose(scores, [[0.4, 0.25, 0.2]], rtol=1e-5)
    # an id without a token keeps its share and is left out
    scores, tokens = best_of(kernels, rows, np.array([1], np.int32), 2, targets=False)
    assert tokens == [[4, 2]]
    np.testing.assert_allclose(scores, [[0.25, 0.2]], rtol=1e-5)
    scores, tokens = best_of(kernels, rows, np.array([3, 0], np.int32), 2, targets=True)
    assert tokens == [[0, 3]]
    np.testing.assert_allclose(scores, [[0.1, 0.05]], rtol=1e-5)
