"""Activations, norms and sums against their definitions in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.polynomial import Polynomial, chebyshev

from numba_nlp.kernels.step import activations, row_sums
from numba_nlp.kernels.step.activations import CODES, activate
from numba_nlp.kernels.step.norms import normalize_rows
from numba_nlp.reference.step import activations as plain
from numba_nlp.reference.step import norms as plain_norms
from numba_nlp.reference.step import row_sums as plain_sums


# What is an intrinsic in the compiled form can be called from compiled code only.
@njit
def dot(a, a_first, b, b_first, n):
    return row_sums.dot(a, a_first, b, b_first, n)


@njit
def total(a, a_first, n):
    return row_sums.total(a, a_first, n)


@njit
def add_multiple(out, out_first, factor, a, a_first, n):
    row_sums.add_multiple(out, out_first, factor, a, a_first, n)


@pytest.mark.parametrize("name", CODES)
def test_activations(name):
    wide = np.linspace(-30, 30, 480, dtype=np.float32)
    near = np.random.default_rng(0).standard_normal(320).astype(np.float32)
    values = np.concatenate([wide, near, np.zeros(16, np.float32)])
    found = values.copy()
    activate(CODES[name], found, 0, found.size)
    expected = plain.activate(name, values)
    # of the order of float32's roundings; far from zero, of the larger exponents that they come from
    assert (np.abs(found - expected) <= 4e-7 * np.maximum(np.abs(values), 1) * np.abs(expected) + 2e-7).all()


def test_activations_change_their_stretch_only():
    values = np.full(64, 2, np.float32)
    activate(CODES["relu2"], values, 16, 48)
    assert values.tolist() == [2] * 16 + [4] * 32 + [2] * 16


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "silu", "relu", "gelu_10", "relu2"])
def test_no_number_stays_none(name):
    values = np.full(16, np.nan, np.float32)
    activate(CODES[name], values, 0, 16)
    assert np.isnan(values).all()


def test_polynomial_of_the_error_function():
    """The coefficients are those of the interpolation that the comment names."""

    def scaled(t):
        z = (1 / t - 1) / activations._RATE
        if z < 5:
            return math.erfc(z) * math.exp(z * z)
        fraction = 0.0
        for k in range(60, 0, -1):  # Laplace's continued fraction
            fraction = k / 2 / (z + fraction)
        return 1 / ((z + fraction) * math.sqrt(math.pi))

    degree = len(activations._POLYNOMIAL) - 1
    low, high = 1 / (1 + activations._RATE * 9.5), 1.0
    nodes = np.cos(np.pi * (2 * np.arange(degree + 1) + 1) / (2 * degree + 2))
    values = [scaled(t) for t in (nodes * (high - low) + high + low) / 2]
    inner = Polynomial([-(high + low) / (high - low), 2 / (high - low)])
    expected = Polynomial(chebyshev.cheb2poly(chebyshev.chebfit(nodes, values, degree)))(inner).coef[::-1]
    np.testing.assert_allclose(activations._POLYNOMIAL, expected, rtol=1e-6, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 100), left=st.integers(0, 5), right=st.integers(0, 5))
def test_sums(seed, n, left, right):
    random = np.random.default_rng(seed)
    a, b = random.standard_normal((2, 110)).astype(np.float32)
    room = 1e-6 * max(n, 1)
    assert dot(a, left, b, right, n) == pytest.approx(plain_sums.dot(a, left, b, right, n), abs=room)
    assert total(a, left, n) == pytest.approx(plain_sums.total(a, left, n), abs=room)
    found, expected = b.copy(), b.copy()
    add_multiple(found, right, np.float32(0.7), a, left, n)
    plain_sums.add_multiple(expected, right, np.float32(0.7), a, left, n)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    outside = np.r_[0:right, right + n : 110]
    assert (found[outside] == b[outside]).all()


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 4), width=st.integers(1, 50), centred=st.booleans())
def test_norms(seed, n_rows, width, centred):
    random = np.random.default_rng(seed)
    x = (random.standard_normal((5, width)) * 3 + 1).astype(np.float32)
    weights, bias = random.standard_normal((2, width)).astype(np.float32)
    out = np.full_like(x, np.nan)
    normalize_rows(x, n_rows, weights, bias, 1e-5, centred, out)
    expected = plain_norms.normalize_rows(x[:n_rows], weights, bias, 1e-5, centred)
    spread = x[:n_rows].std(axis=1, keepdims=True) if centred else np.sqrt((x[:n_rows] ** 2).mean(axis=1))[:, None]
    # what rounding of the numbers does, of which little may be left beside the mean
    room = 1e-6 * (1 + np.abs(x[:n_rows]).max() / np.sqrt(spread**2 + 1e-5)) * (np.abs(weights) + np.abs(bias)) + 1e-6
    assert (np.abs(out[:n_rows] - expected) <= room * 4).all()
    assert np.isnan(out[n_rows:]).all()
    in_place = x.copy()
    normalize_rows(in_place, n_rows, weights, bias, 1e-5, centred, in_place)
    assert (in_place[:n_rows] == out[:n_rows]).all()
