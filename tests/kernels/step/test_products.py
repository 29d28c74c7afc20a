"""Products with packed weights: the kernels against their twins and against plain matrix products."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.generation.packing import KINDS, pack_matrices
from numba_nlp.kernels.step import row_blocks
from numba_nlp.kernels.step.packed_rows import block_rows, n_blocks
from numba_nlp.kernels.step.products import MULTIPLY, PACK, Matrices, columns_of, new_packed_rows
from numba_nlp.kernels.step.row_blocks import COLUMNS, MOST_ROWS
from numba_nlp.reference.step import packed_rows as rows_twin
from numba_nlp.reference.step import products as twin
from numba_nlp.reference.step.row_blocks import weight_values

#: Difference of a float32 sum from the exact one, by the sum of magnitudes.
CLOSE = 1e-6


def multiply(x, matrices, kind, *, which=0, cuts=()):
    """The product, with panels divided at ``cuts`` as between threads."""
    packed = new_packed_rows(len(x), x.shape[1], kind)
    PACK[kind](x, len(x), packed)
    columns = int(columns_of(matrices))
    out = np.full((len(x), columns), np.nan, np.float32)
    for first, last in pairwise([0, *cuts, columns // COLUMNS]):
        MULTIPLY[kind](packed, len(x), matrices, which, first, last, out)
    return out


@given(st.integers(1, 300))
def test_blocks_are_those_of_the_twin(n_rows):
    left, blocks, sizes = n_rows, int(n_blocks(n_rows)), []
    while blocks:
        sizes.append(int(block_rows(left, blocks)))
        left -= sizes[-1]
        blocks -= 1
    assert left == 0
    assert sizes == [rows.stop - rows.start for rows in rows_twin.blocks(n_rows, MOST_ROWS)]
    assert max(sizes) <= MOST_ROWS


@given(st.integers(1, 40), st.integers(1, 50))
def test_packed_rows(n_rows, depth):
    x = np.arange(n_rows * depth, dtype=np.float32).reshape(n_rows, depth)
    packed = new_packed_rows(n_rows + 1, depth, "float32")
    packed.floats[:] = -1
    PACK["float32"](x, n_rows, packed)
    expected = rows_twin.pack_floats(x, n_rows, MOST_ROWS)
    assert packed.floats[: expected.size].tolist() == expected.tolist()
    assert (packed.floats[expected.size :] == -1).all()


#: Where rounding is hardest: halves, the largest, zeros, numbers that are nearly none.
AWKWARD = np.array([0.5, 1.5, -2.5, 126.5, 127, -127, 0, -0.0, 1e-30, 63.499996], np.float32)


def draw_awkward_rows(n_rows, depth, seed):
    random = np.random.default_rng(seed)
    x = (random.standard_normal((n_rows, depth)) * 2.0 ** random.integers(-120, 120)).astype(np.float32)
    few = random.random((n_rows, depth)) < 0.3
    x[few] = random.choice(AWKWARD, few.sum())
    rare = random.random((n_rows, depth)) < 0.01
    x[rare] = random.choice(np.array([np.inf, -np.inf, np.nan], np.float32), rare.sum())
    return x


@given(st.integers(1, 30), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_codes_are_those_of_the_twin(n_rows, depth, seed):
    x = draw_awkward_rows(n_rows, depth, seed)
    packed = new_packed_rows(n_rows + 1, depth, "int8")
    packed.steps[:] = 7
    packed.codes[:] = 7
    PACK["int8"](x, n_rows, packed)
    codes, steps = rows_twin.pack_codes(x, n_rows, MOST_ROWS)
    assert packed.codes[: codes.size].tolist() == codes.tolist()
    assert (packed.codes[codes.size :] == 7).all()
    np.testing.assert_array_equal(packed.steps, [*steps, 7])


@given(st.integers(1, 30), st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_words_are_those_of_the_twin(n_rows, depth, seed):
    x = draw_awkward_rows(n_rows, depth, seed)
    packed = new_packed_rows(n_rows + 1, depth, "int16")
    packed.steps[:] = 7
    words = packed.codes.view(np.int16)
    words[:] = 7
    PACK["int16"](x, n_rows, packed)
    expected, steps = rows_twin.pack_words(x, n_rows, MOST_ROWS, 2**15 - 1)
    assert words[: expected.size].tolist() == expected.tolist()
    assert (words[expected.size :] == 7).all()
    np.testing.assert_array_equal(packed.steps, [*steps, 7])


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 15), outputs=st.integers(1, 70), depth=st.integers(1, 20))
def test_products_are_those_of_the_twin(kind, seed, n_rows, outputs, depth):
    random = np.random.default_rng(seed)
    x = random.standard_normal((n_rows, depth)).astype(np.float32)
    weights = list(random.standard_normal((1 + seed % 3, outputs, depth)).astype(np.float32))
    bias = list(random.standard_normal((len(weights), outputs)).astype(np.float32))
    matrices = pack_matrices(weights, bias if seed % 2 else None, kind)
    which = len(weights) - 1
    out = multiply(x, matrices, kind, which=which, cuts=(int(columns_of(matrices)) // COLUMNS // 2,))
    assert not out[:, outputs:].any()
    out = out[:, :outputs]
    expected = twin.multiply(x, matrices, which, kind, COLUMNS)
    exact = x.astype(np.float64) @ weights[which].T + (bias[which] if matrices.bias.size else 0)
    if kind in ("int8", "int16"):
        assert out.tolist() == expected.tolist()
        # each factor is wrong by at most half a step, which is 1/254 of the largest, or 1/65534 and 1/4094
        rows, columns = abs(x), abs(weights[which])
        parts = zip((rows, columns), (253, 253) if kind == "int8" else (65500, 4090), strict=True)
        half = [part.max(axis=1) / steps for part, steps in parts]
        wrong = half[0][:, None] * columns.sum(axis=1) + rows.sum(axis=1)[:, None] * half[1]
        wrong += depth * half[0][:, None] * half[1]
        assert (abs(out - exact) <= wrong + 1e-5).all()
        return
    scale = abs(x).astype(np.float64) @ abs(weights[which]).T + (abs(bias[which]) if matrices.bias.size else 0)
    assert (abs(out - expected) <= CLOSE * (scale + 1e-30)).all()
    # and of the matrix itself, as near as the kind keeps it
    nearest = {"float32": 1e-6, "float16": 2**-11, "bfloat16": 2**-8}[kind]
    assert (abs(out - exact) <= nearest * scale + 1e-5).all()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_not_finite_do_not_touch_others(kind):
    random = np.random.default_rng(3)
    weights = random.standard_normal((40, 24)).astype(np.float32)
    matrices = pack_matrices([weights], None, kind)
    x = random.standard_normal((5, 24)).astype(np.float32)
    x[1, 20], x[3, 3] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        out = multiply(x, matrices, kind)[:, :40]
    assert np.isnan(out[1]).all()
    assert not np.isfinite(out[3]).any()
    rows = [0, 2, 4]
    assert out[rows].tolist() == multiply(x[rows], matrices, kind)[:, :40].tolist()


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_every_16_bit_weight_has_its_value(kind):
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = weight_values(bits, kind)
    bits = bits[np.isfinite(values)]
    bits = bits[: bits.size // COLUMNS * COLUMNS]
    if not row_blocks.VECTOR:
        bits = bits.reshape(-1, COLUMNS)[::16].reshape(-1)
    no = np.zeros(0, np.float32)
    matrices = Matrices(bits, no, np.zeros(0, np.int32), no, bits.size, 1)
    assert (multiply(np.ones((1, 1), np.float32), matrices, kind)[0] == weight_values(bits, kind)).all()


def test_weights_of_half_a_checkpoint_are_kept_exactly():
    random = np.random.default_rng(0)
    weights = random.standard_normal((40, 8)).astype(np.float32)
    half = weights.astype(np.float16).astype(np.float32)
    brain = (weights.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    for kind, exact in (("float16", half), ("bfloat16", brain)):
        packed = pack_matrices([exact], None, kind)
        assert (weight_values(twin.stored_weights(packed, 0, COLUMNS), kind) == exact).all()
        assert not packed.panels.reshape(-1, 8, COLUMNS)[-1, :, 40 % COLUMNS :].any()


def test_bfloat16_rounds_as_torch():
    torch = pytest.importorskip("torch", reason="needs torch")
    weights = np.random.default_rng(1).standard_normal((64, 16)).astype(np.float32)
    weights[0, :4] = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x00000001], np.uint32).view(np.float32)
    values = weight_values(twin.stored_weights(pack_matrices([weights], None, "bfloat16"), 0, COLUMNS), "bfloat16")
    assert (values == torch.from_numpy(weights).bfloat16().double().numpy()).all()


@pytest.mark.parametrize(
    ("weights", "kind", "message"),
    [
        ([np.zeros((2, 2), np.float32)], "int4", "`kind` must be one of 'float32', .*, got 'int4'"),
        ([], "int8", "at least one matrix, got none"),
        ([np.zeros(4, np.float32)], "int8", r"must be matrices of float32, got float32 \[4\]"),
        ([np.zeros((2, 2))], "int8", r"got float64 \[2, 2\]"),
        ([np.zeros((0, 2), np.float32)], "int8", r"got float32 \[0, 2\]"),
        ([np.zeros((1, 2), np.float32), np.zeros((2, 1), np.float32)], "int8", r"matrices of \[1, 2\] and \[2, 1\]"),
        ([np.zeros((1, 70000), np.float32)], "int8", "sums of at most 66311 products, the matrix has 70000 columns"),
        ([np.array([[1], [np.nan]], np.float32)], "float32", "output 1 has a weight of magnitude nan"),
        ([np.array([[1], [1e5]], np.float32)], "float16", "output 1 has .* 100000.0, which float16"),
        ([np.array([[3.4e38]], np.float32)], "bfloat16", r"output 0 has .* 3.39.*e\+38, which bfloat16"),
    ],
)
def test_what_cannot_be_packed(weights, kind, message):
    with pytest.raises(ValueError, match=message):
        pack_matrices(weights, None, kind)


@pytest.mark.parametrize("biases", [[], [np.zeros(3, np.float32)], [np.zeros(2)]])
def test_biases_that_do_not_fit(biases):
    with pytest.raises(
        ValueError, match=r"`biases` must be 1 of float32 \[2\], got (none|float32 \[3\]|float64 \[2\])"
    ):
        pack_matrices([np.ones((2, 2), np.float32)], biases)


@pytest.mark.parametrize("kind", ["int8", "int16"])
def test_an_output_of_zeros_is_zero_in_integers(kind):
    packed = pack_matrices([np.full((3, 4), 1e-40, np.float32)], None, kind)
    assert not multiply(np.ones((2, 4), np.float32), packed, kind).any()


@pytest.mark.parametrize("kind", KINDS)
def test_small_weights_are_rounded_whatever_numpy_raises(kind):
    small = np.array([[1e-40, 0.0], [1.0, 1e-38], [1e-7, 1e-9]], np.float32)
    expected = pack_matrices([small], None, kind)
    with np.errstate(all="raise"):
        packed = pack_matrices([small], None, kind)
        with pytest.raises(ValueError, match="weight of magnitude inf"):
            pack_matrices([np.full((1, 1), np.inf, np.float32)], None, kind)
    assert packed.panels.tobytes() == expected.panels.tobytes()


def test_the_largest_sums_are_exact_in_int8():
    depth = 66311
    assert 255 * 127 * depth < 2**31 <= 255 * 127 * (depth + 1)
    packed = pack_matrices([np.ones((1, depth), np.float32)], None, "int8")
    out = multiply(np.ones((1, depth), np.float32), packed, "int8")
    step = np.float32(1) / np.float32(127)
    assert out[0, 0] == np.float32(127 * 127 * depth) * step * step


@pytest.mark.parametrize("depth", [64, 65, 1000])
def test_the_largest_sums_are_exact_in_int16(depth):
    # the twin refuses sums of more than 32 bits
    random = np.random.default_rng(depth)
    weights = np.stack([np.ones(depth), random.standard_normal(depth), np.eye(1, depth)[0]]).astype(np.float32)
    packed = pack_matrices([weights], None, "int16")
    codes = abs(twin.stored_weights(packed, 0, COLUMNS).astype(np.int64))
    assert 64 * 1024 * 32767 < 2**31 <= 64 * 1025 * 32767
    runs = np.add.reduceat(codes, np.arange(0, depth, 64), axis=1)
    assert runs.max() * 32767 < 2**31
    assert codes.max(axis=1).tolist() == [1024, codes[1].max(), 32767]
    assert codes[1].max() > 3000
    for x in (weights, -weights, np.ones((1, depth), np.float32)):
        assert multiply(x, packed, "int16")[:, :3].tolist() == twin.multiply(x, packed, 0, "int16", COLUMNS).tolist()
