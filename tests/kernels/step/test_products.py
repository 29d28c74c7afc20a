"""Products with packed weights: the kernels against their twins and against plain matrix products."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.generation.packing import KINDS, pack_weights, pad_columns
from numba_nlp.kernels.step import row_blocks
from numba_nlp.kernels.step.products import MULTIPLY, block_size, pack_rows
from numba_nlp.kernels.step.row_blocks import BLOCKS, COLUMNS
from numba_nlp.reference.step import products as twin
from numba_nlp.reference.step.row_blocks import weight_values

#: Difference of a float32 sum from the exact one, by the sum of magnitudes.
CLOSE = 1e-6


def multiply(x, packed, bias, *, cuts=()):
    """The product, with panels divided at ``cuts`` as between threads."""
    rows = np.zeros((len(x) + BLOCKS[-1]) * packed.depth, np.float32)
    pack_rows(x, len(x), rows)
    out = np.full((len(x), packed.columns), np.nan, np.float32)
    edges = [0, *cuts, packed.columns // COLUMNS]
    for first, last in pairwise(edges):
        MULTIPLY[packed.kind](rows, len(x), packed.depth, packed.panels, packed.scales, bias, first, last, out)
    return out


@given(st.integers(1, 300))
def test_blocks_are_few_and_overlap_little(n_rows):
    size = int(block_size(n_rows))
    assert size in BLOCKS
    assert size <= n_rows
    starts = twin.block_starts(n_rows, size)
    covered = sorted({row for start in starts for row in range(start, start + size)})
    assert covered == list(range(n_rows))
    if n_rows >= BLOCKS[-1]:
        assert len(starts) <= -(-n_rows // BLOCKS[-1]) + 1
    assert len(starts) * size < 2 * n_rows


@given(st.integers(1, 40), st.integers(1, 9))
def test_packed_rows(n_rows, depth):
    x = np.arange(n_rows * depth, dtype=np.float32).reshape(n_rows, depth)
    packed = np.full((n_rows + BLOCKS[-1]) * depth, -1, np.float32)
    size = pack_rows(x, n_rows, packed)
    expected = twin.pack_rows(x, n_rows, int(size))
    assert packed[: expected.size].tolist() == expected.tolist()
    assert (packed[expected.size :] == -1).all()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 15), outputs=st.integers(1, 70), depth=st.integers(1, 20))
def test_products_are_those_of_the_twin(kind, seed, n_rows, outputs, depth):
    random = np.random.default_rng(seed)
    x = random.standard_normal((n_rows, depth)).astype(np.float32)
    weights = random.standard_normal((outputs, depth)).astype(np.float32)
    packed = pack_weights(weights, kind)
    bias = pad_columns(random.standard_normal(outputs).astype(np.float32)) if seed % 2 else np.zeros(0, np.float32)
    panels = packed.columns // COLUMNS
    out = multiply(x, packed, bias, cuts=(panels // 2,))
    expected = twin.multiply(x, packed.panels, kind, COLUMNS, packed.scales, bias)
    scale = twin.multiply(abs(x), abs(weight_values(packed.panels, kind)), "", COLUMNS, packed.scales, abs(bias))
    assert (abs(out - expected) <= CLOSE * (scale + 1e-30)).all()
    # and of the matrix itself, as near as the kind keeps it
    nearest = {"float32": 1e-6, "float16": 2**-11, "bfloat16": 2**-8, "int8": 0.51 / 127}[kind]
    error = abs(out[:, :outputs] - (x.astype(np.float64) @ weights.T + (bias[:outputs] if bias.size else 0)))
    largest = abs(weights).max(axis=1) if kind == "int8" else abs(weights).T[:, None]
    bound = np.einsum("rk,nk->rn", abs(x), np.broadcast_to(np.asarray(largest).T.reshape(outputs, -1), weights.shape))
    assert (error <= nearest * bound + 1e-5).all()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_every_16_bit_weight_has_its_value(kind):
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = weight_values(bits, kind)
    bits = bits[np.isfinite(values)]
    bits = bits[: bits.size // COLUMNS * COLUMNS]
    if not row_blocks.VECTOR:
        bits = bits.reshape(-1, COLUMNS)[::16].reshape(-1)
    out = np.zeros((1, bits.size), np.float32)
    one, no = np.ones(1, np.float32), np.zeros(0, np.float32)
    MULTIPLY[kind](one, 1, 1, bits, no, no, 0, bits.size // COLUMNS, out)
    assert (out[0] == weight_values(bits, kind)).all()


def test_weights_of_half_a_checkpoint_are_kept_exactly():
    random = np.random.default_rng(0)
    weights = random.standard_normal((40, 8)).astype(np.float32)
    half = weights.astype(np.float16).astype(np.float32)
    brain = (weights.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    for kind, exact in (("float16", half), ("bfloat16", brain)):
        packed = pack_weights(exact, kind)
        values = weight_values(packed.panels, kind).reshape(-1, 8, COLUMNS).transpose(0, 2, 1).reshape(-1, 8)
        assert (values[:40] == exact).all()
        assert not values[40:].any()


def test_bfloat16_rounds_as_torch():
    torch = pytest.importorskip("torch", reason="needs torch")
    weights = np.random.default_rng(1).standard_normal((64, 16)).astype(np.float32)
    weights[0, :4] = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x00000001], np.uint32).view(np.float32)
    packed = pack_weights(weights, "bfloat16")
    values = weight_values(packed.panels, "bfloat16").reshape(-1, 16, COLUMNS).transpose(0, 2, 1).reshape(-1, 16)
    assert (values[:64] == torch.from_numpy(weights).bfloat16().double().numpy()).all()


@pytest.mark.parametrize(
    ("weights", "kind", "message"),
    [
        (np.zeros((2, 2), np.float32), "int4", "`kind` must be one of 'float32', .*, got 'int4'"),
        (np.zeros(4, np.float32), "int8", r"must be a matrix of float32, got float32 \[4\]"),
        (np.zeros((2, 2)), "int8", r"got float64 \[2, 2\]"),
        (np.zeros((0, 2), np.float32), "int8", r"got float32 \[0, 2\]"),
        (np.array([[1], [np.nan]], np.float32), "float32", "output 1 has a weight of magnitude nan"),
        (np.array([[1], [1e5]], np.float32), "float16", "output 1 has a weight of magnitude 100000.0, which float16"),
    ],
)
def test_what_cannot_be_packed(weights, kind, message):
    with pytest.raises(ValueError, match=message):
        pack_weights(weights, kind)


def test_an_output_of_zeros_is_zero_in_int8():
    packed = pack_weights(np.zeros((3, 4), np.float32), "int8")
    assert not multiply(np.ones((2, 4), np.float32), packed, np.zeros(0, np.float32)).any()
