"""Blocks of 64 values: both forms against numpy's float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

from numba_nlp.kernels import float_lanes
from numba_nlp.kernels.float_lanes import exponential
from numba_nlp.reference import float_lanes as plain


# What is an intrinsic in the compiled form can be called from compiled code only.
@njit
def largest_of_block(row, first):
    return float_lanes.largest_of_block(row, first)


@njit
def smallest_of_block(row, first):
    return float_lanes.smallest_of_block(row, first)


@njit
def exponentials_of_block(row, first, top):
    return float_lanes.exponentials_of_block(row, first, top)


@njit
def largest_of_part(row, first, maxima, place):
    return float_lanes.largest_of_part(row, first, maxima, place)


@njit
def largest_of_sixteen(row, first):
    return float_lanes.largest_of_sixteen(row, first)


@njit
def exponentials_of_part(row, first, top):
    return float_lanes.exponentials_of_part(row, first, top)


@njit
def exponentials_of_sixteen(row, first, top):
    return float_lanes.exponentials_of_sixteen(row, first, top)


@njit
def write_exponentials(row, first, top, result):
    float_lanes.write_exponentials(row, first, top, result)


def same_weights(found, expected, differences):
    """Two units in the last place, and what rounding of the difference itself changes."""
    with np.errstate(invalid="ignore"):
        allowed = expected * (2.5e-7 + 2.0**-24 * np.abs(differences)) + 2e-38
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert not (np.abs(found - expected) > allowed).any()


def rows():
    """Normal values, widely spread ones, forbidden ones, and NaN at each lane."""
    random = np.random.default_rng(0)
    for spread in (0.0, 1.0, 10.0, 100.0):
        row = (random.standard_normal(70) * spread).astype(np.float32)
        yield row
        row[random.random(70) < 0.7] = -np.inf
        row[4] = 0
        yield row
    for lane in range(0, 64, 5):
        row = row.copy()
        row[3 + lane] = np.nan
        yield row


@pytest.mark.parametrize("row", list(rows()))
def test_blocks_are_those_of_the_twin(row):
    for first in (0, 3, 6):
        top = largest_of_block(row, first)
        assert top == plain.largest_of_block(row, first)
        if not np.isnan(row).any():
            assert smallest_of_block(row, first) == plain.smallest_of_block(row, first)
        sixteen = exponentials_of_sixteen(row, first, top)
        np.testing.assert_allclose(sixteen, plain.exponentials_of_sixteen(row, first, top), rtol=3e-7, atol=1e-37)
        found, expected = exponentials_of_block(row, first, top), plain.exponentials_of_block(row, first, top)
        np.testing.assert_allclose(found, expected, rtol=2e-7)
        single, each = np.full(70, 7, np.float32), np.full(70, 7, np.float32)
        write_exponentials(row, first, top, single)
        plain.write_exponentials(row, first, top, each)
        same_weights(single, each, row - top)
        assert exponential(row[first], top) == pytest.approx(plain.exponential(row[first], top), rel=1e-14, nan_ok=True)


@pytest.mark.parametrize("spread", [0.0, 3.0, 50.0])
def test_parts_are_those_of_the_twin(spread):
    random = np.random.default_rng(1)
    row = (random.standard_normal(1100) * spread).astype(np.float32)
    for forbidden in (0.0, 0.7, 1.0):
        row[random.random(1100) < forbidden] = -np.inf
        for first in (0, 3, 76):
            found, expected = np.full(20, 7, np.float32), np.full(20, 7, np.float32)
            top = largest_of_part(row, first, found, 2)
            assert top == plain.largest_of_part(row, first, expected, 2)
            np.testing.assert_array_equal(found, expected)
            assert largest_of_sixteen(row, first) == plain.largest_of_sixteen(row, first)
            if top > -np.inf:
                total = exponentials_of_part(row, first, top)
                np.testing.assert_allclose(total, plain.exponentials_of_part(row, first, top), rtol=3e-7)
    row[5] = np.nan
    assert np.isnan(exponentials_of_part(row, 0, np.float32(0)))
    assert largest_of_part(row, 0, found, 0) == -np.inf


def test_a_block_of_nothing():
    for value in (-np.inf, np.nan):
        assert largest_of_block(np.full(64, value, np.float32), 0) == -np.inf


def test_single_exponentials():
    """Each by itself, within two units in the last place; next to nothing where the number is no longer normal."""
    points = np.linspace(0, -87, 64 * 7, dtype=np.float32)
    points = np.concatenate([points, np.array([-87.5, -1e30, -np.inf] + [-0.5] * 61, np.float32)])
    found = np.zeros_like(points)
    for first in range(0, len(points), 64):
        write_exponentials(points, first, np.float32(0), found)
    np.testing.assert_allclose(found, np.exp(points.astype(np.float64)), rtol=3e-7, atol=2e-38)


@pytest.mark.skipif(not float_lanes.VECTOR, reason="the plain form has no polynomial")
def test_the_polynomial_is_as_near_as_it_says():
    half = math.log(2) / 2 * 1.0001
    points = np.linspace(-half, half, 10001)
    errors = np.polyval(float_lanes._POLYNOMIAL, points) / np.exp(points) - 1
    assert np.abs(errors).max() < 9.2e-8
    assert float_lanes._POLYNOMIAL[-1] == 1.0
