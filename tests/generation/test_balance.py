"""Channels and columns of like sizes: the same products, and less lost in int8."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation.balance import channel_scales

WIDTH = 48


def rounded(x: np.ndarray) -> np.ndarray:
    """Rows as int8 holds them."""
    steps = np.abs(x).max(1, keepdims=True) / 127
    return np.rint(x / steps) * steps


@pytest.fixture
def norm() -> np.ndarray:
    """Weights of a norm, three of them much larger than the others."""
    weight = np.random.default_rng(0).uniform(0.2, 0.4, WIDTH).astype(np.float32)
    weight[[3, 17, 40]] = 20, -12, 8
    return weight


@pytest.mark.parametrize("with_bias", [False, True])
def test_products_stay_and_are_nearer_in_int8(norm: np.ndarray, with_bias: bool) -> None:
    random = np.random.default_rng(1)
    rows = random.standard_normal((20, WIDTH)).astype(np.float32)
    bias = random.standard_normal(WIDTH).astype(np.float32) if with_bias else None
    matrices = [random.standard_normal((n, WIDTH)).astype(np.float32) for n in (30, 10)]
    scales = channel_scales(norm, bias, matrices)
    assert scales.dtype == np.float32
    x = rows * norm + (0 if bias is None else bias)
    balanced = rows * (norm / scales) + (0 if bias is None else bias / scales)
    for matrix in matrices:
        right = x @ matrix.T
        np.testing.assert_allclose(balanced @ (matrix * scales).T, right, rtol=1e-4, atol=1e-3)
        errors = [
            np.abs(rounded(a) @ rounded(b).T - right).mean() for a, b in ((x, matrix), (balanced, matrix * scales))
        ]
        assert errors[1] < errors[0] / 1.3


def test_channels_that_nothing_fills_or_reads_stay(norm: np.ndarray) -> None:
    matrix = np.ones((4, WIDTH), np.float32)
    norm[5] = 0
    matrix[:, 6] = 0
    scales = channel_scales(norm, None, [matrix])
    assert scales[5] == scales[6] == 1
    assert np.isfinite(scales).all()
    assert (scales > 0).all()
