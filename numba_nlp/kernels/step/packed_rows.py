"""Rows as products read them: those of a block side by side, as float32 or as integers of 8 or 16 bits.

The rows that are multiplied at once are a block. Number ``k`` of all its rows stands together, so that a product reads
one array from its beginning to its end. Blocks are as few as can be, and as even; the larger ones come first.

For int8 weights rows become int8 as well: multiples of a step, which is a row's largest magnitude divided by 127, kept
with 128 added because processors multiply unsigned with signed bytes. Four codes of a row stand side by side. For
weights of int16 they become int16, multiples of a finer step, two side by side.

Twin: ``numba_nlp.reference.step.packed_rows``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.row_blocks import MOST_ROWS
from numba_nlp.kernels.step.word_blocks import HIGHEST, PAIR
from numba_nlp.kernels.words import VECTOR, _element_pointer

__all__ = [
    "GROUP",
    "PACK",
    "PackedRows",
    "block_rows",
    "groups",
    "n_blocks",
    "new_packed_rows",
    "pack_codes",
    "pack_floats",
    "pack_words",
]

#: Codes of a row that stand side by side.
GROUP = 4
#: What is added to a code to make it a positive byte.
ZERO = 128
#: Rows of smaller numbers count as zeros: what is divided by them could be infinite.
_SMALLEST = np.float32(2.0**-100)
_LARGEST = np.finfo(np.float32).max
_HIGHEST = np.float32(127)
_HIGHEST_WORD = np.float32(HIGHEST)
#: Added to a number of small magnitude, it leaves the nearest integer, ties to even, in the low bits.
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23


class PackedRows(NamedTuple):
    """Rows packed by one of ``PACK``, read by the member of ``MULTIPLY`` of the same kind.

    Attributes
    ----------
    floats : float32[k]
        Number ``k`` of row ``r`` of a block of ``size`` rows is element ``k * size + r`` of the block. Not used by
        int8 and int16.
    codes : uint8[k]
        Code ``4 * q + j`` of row ``r`` of a block is element ``(q * size + r) * 4 + j`` of the block. Of int16, these
        are the bytes of an array of int16, of which number ``2 * q + j`` is element ``(q * size + r) * 2 + j``.
    steps : float32[m]
        What a row's integers, or codes less 128, are multiples of.
    """

    floats: np.ndarray
    codes: np.ndarray
    steps: np.ndarray


def new_packed_rows(n_rows: int, depth: int, kind: str) -> PackedRows:
    """Room for rows of up to a number of numbers.

    Parameters
    ----------
    n_rows : int
        Greatest number of rows.
    depth : int
        Greatest number of numbers in a row.
    kind : {"float32", "float16", "bfloat16", "int8", "int16"}
        Kind of the weights that rows are multiplied with.
    """
    if kind in ("int8", "int16"):
        bytes_of_row = groups(depth) * GROUP if kind == "int8" else pairs(depth) * PAIR * 2
        codes = np.zeros(n_rows * bytes_of_row, np.uint8)
        return PackedRows(np.zeros(0, np.float32), codes, np.zeros(n_rows, np.float32))
    return PackedRows(np.zeros(n_rows * depth, np.float32), np.zeros(0, np.uint8), np.zeros(0, np.float32))


@kernel
def groups(depth):
    """Groups of four codes that hold ``depth`` of them (int64)."""
    return (depth + GROUP - 1) // GROUP


@kernel
def pairs(depth):
    """Pairs of int16 that hold ``depth`` of them (int64)."""
    return (depth + PAIR - 1) // PAIR


@kernel
def n_blocks(n_rows):
    """Number of blocks that ``n_rows`` are divided into (int64)."""
    return (n_rows + MOST_ROWS - 1) // MOST_ROWS


@kernel
def block_rows(left, blocks):
    """Rows of the next block, when there are ``left`` rows and as many ``blocks`` to come (int64)."""
    return (left + blocks - 1) // blocks


if VECTOR:
    _LANES = 16
    _i8, _i32, _i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
    _f32 = ir.FloatType()
    _floats = ir.VectorType(_f32, _LANES)
    _words = ir.VectorType(_i32, _LANES)
    _bytes = ir.VectorType(_i8, _LANES)
    _vector_of_words = ir.VectorType(ir.IntType(16), _LANES)

    def _all(vector, value):
        return ir.Constant(vector, [ir.Constant(vector.element, value)] * _LANES)

    def _load(builder, pointer, vector):
        loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        loaded.align = 4
        return loaded

    @intrinsic
    def _transpose_four(typingctx, x, first, row_length, n, floats, place, stride):
        """Put four rows of ``n`` numbers, a multiple of 4, side by side.

        The first one begins at ``first`` of ``x``, each other one ``row_length`` later. The first four numbers go to
        ``place`` of ``floats``, the next ones ``stride`` later.
        """

        def codegen(context, builder, signature, args):
            array, first, row_length, n, floats, place, stride = args
            four = ir.VectorType(_f32, 4)

            def mixed(a, b, *picks):
                mask = ir.Constant(ir.VectorType(_i32, 4), [ir.Constant(_i32, pick) for pick in picks])
                return builder.shuffle_vector(a, b, mask)

            with cgutils.for_range_slice(builder, ir.Constant(_i64, 0), n, ir.Constant(_i64, 4)) as (k, _):
                at = builder.add(first, k)
                rows = []
                for _row in range(4):
                    rows.append(_load(builder, _element_pointer(context, builder, signature.args[0], array, at), four))
                    at = builder.add(at, row_length)
                a, b, c, d = rows
                pairs = [mixed(p, q, *picks) for picks in ((0, 4, 1, 5), (2, 6, 3, 7)) for p, q in ((a, b), (c, d))]
                to = builder.add(place, builder.mul(k, stride))
                for low, high in (pairs[:2], pairs[2:]):
                    for picks in ((0, 1, 4, 5), (2, 3, 6, 7)):
                        pointer = _element_pointer(context, builder, signature.args[4], floats, to)
                        stored = builder.store(mixed(low, high, *picks), builder.bitcast(pointer, four.as_pointer()))
                        stored.align = 4
                        to = builder.add(to, stride)
            return context.get_dummy_value()

        whole = types.int64
        return types.void(x, whole, whole, whole, floats, whole, whole), codegen

    @intrinsic
    def _largest_magnitude(typingctx, x, first, n):
        """Largest magnitude of ``x`` from element ``first`` on, of ``n`` numbers, a multiple of 16; NaN is larger."""

        def codegen(context, builder, signature, args):
            array, first, n = args
            # without their sign, floats are in the order of their bits
            best = cgutils.alloca_once_value(builder, _all(_words, 0))
            builder.store(_all(_words, 0), best)
            with cgutils.for_range_slice(builder, first, builder.add(first, n), ir.Constant(_i64, _LANES)) as (at, _):
                pointer = _element_pointer(context, builder, signature.args[0], array, at)
                bits = builder.and_(_load(builder, pointer, _words), _all(_words, 0x7FFFFFFF))
                held = builder.load(best)
                builder.store(builder.select(builder.icmp_signed(">", bits, held), bits, held), best)
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_i32, [_words]), f"llvm.vector.reduce.umax.v{_LANES}i32"
            )
            return builder.bitcast(builder.call(function, [builder.load(best)]), _f32)

        return types.float32(x, types.int64, types.int64), codegen

    def _write_integers(context, builder, signature, args, together, kept):
        """What :func:`_write_codes` does with its arguments; ``kept``: the integers, of the bits they end."""
        array, first, n, inverse, out, place, stride = args
        undefined = ir.Constant(_floats, ir.Undefined)
        one = builder.insert_element(undefined, inverse, ir.Constant(_i32, 0))
        factors = builder.shuffle_vector(one, undefined, _all(_words, 0))
        to = cgutils.alloca_once_value(builder, place)
        builder.store(place, to)
        with cgutils.for_range_slice(builder, first, builder.add(first, n), ir.Constant(_i64, _LANES)) as (at, _):
            values = _load(builder, _element_pointer(context, builder, signature.args[0], array, at), _floats)
            rounded = builder.fadd(builder.fmul(values, factors), _all(_floats, float(_ROUND)))
            integers = kept(builder.bitcast(rounded, _words))
            parts = builder.bitcast(integers, ir.VectorType(_i32, _LANES // together))
            for i in range(_LANES // together):
                here = builder.load(to)
                pointer = _element_pointer(context, builder, signature.args[4], out, here)
                part = builder.extract_element(parts, ir.Constant(_i32, i))
                builder.store(part, builder.bitcast(pointer, _i32.as_pointer())).align = 1
                builder.store(builder.add(here, stride), to)
        return context.get_dummy_value()

    @intrinsic
    def _write_codes(typingctx, x, first, n, inverse, codes, place, stride):
        """Codes of ``n`` numbers, a multiple of 16, from element ``first`` of ``x`` on.

        Four of them are written at ``place`` of ``codes``, the next four ``stride`` later.
        """

        def codegen(context, builder, signature, args):
            def turned(bits):
                # the low byte is the integer's, whose highest bit is turned by adding 128
                return builder.xor(builder.trunc(bits, _bytes), _all(_bytes, ZERO))

            return _write_integers(context, builder, signature, args, GROUP, turned)

        whole = types.int64
        return types.void(x, whole, whole, types.float32, codes, whole, whole), codegen

    @intrinsic
    def _write_words(typingctx, x, first, n, inverse, words, place, stride):
        """The same of int16, two of which are written at ``place``."""

        def codegen(context, builder, signature, args):
            return _write_integers(
                context, builder, signature, args, PAIR, lambda bits: builder.trunc(bits, _vector_of_words)
            )

        whole = types.int64
        return types.void(x, whole, whole, types.float32, words, whole, whole), codegen

    _AT_ONCE = _LANES
    _FOUR = 4

else:

    @kernel
    def _transpose_four(x, first, row_length, n, floats, place, stride):
        """Nothing is written: ``n`` is zero."""
        return

    @kernel
    def _largest_magnitude(x, first, n):
        """Nothing is looked at: ``n`` is zero."""
        return np.float32(0)

    @kernel
    def _write_codes(x, first, n, inverse, codes, place, stride):
        """Nothing is written: ``n`` is zero."""
        return

    _write_words = _write_codes
    # more than there can be, so that the loops over what is left do all
    _AT_ONCE = _FOUR = 1 << 62


@kernel
def pack_floats(x, n_rows, packed):
    """Put the rows of each block side by side.

    Parameters
    ----------
    x : float32[m, depth]
        C-contiguous.
    n_rows : int64
        Rows to take, at least one.
    packed : PackedRows
        ``floats`` are written.
    """
    depth = x.shape[1]
    floats = packed.floats
    first = np.int64(0)
    blocks = n_blocks(n_rows)
    while blocks:
        size = block_rows(n_rows - first, blocks)
        begin = first * depth
        fours = size // _FOUR * _FOUR
        many = depth // _FOUR * _FOUR
        for row in range(0, fours, 4):
            _transpose_four(x, (first + row) * depth, depth, many, floats, begin + row, size)
        for row in range(size):
            for k in range(many if row < fours else 0, depth):
                floats[begin + k * size + row] = x[first + row, k]
        first += size
        blocks -= 1


@kernel
def row_step(x, row, most):
    """Step of a row: its largest magnitude divided by how many steps that is to be.

    Parameters
    ----------
    x : float32[m, depth]
    row : int64
    most : float32

    Returns
    -------
    step : float32
        NaN when a number is not finite, zero when all are below ``2**-100``.
    inverse : float32
        What numbers are multiplied with before they are rounded; zero where ``step`` is zero or NaN.
    """
    depth = x.shape[1]
    many = depth // _AT_ONCE * _AT_ONCE
    largest = _largest_magnitude(x, row * depth, many)
    for k in range(many, depth):
        magnitude = abs(x[row, k])
        if magnitude > largest or not magnitude <= _LARGEST:
            largest = magnitude
        if not largest <= _LARGEST:  # as it was, or now: infinite or NaN
            break
    if not largest <= _LARGEST:
        return np.float32(np.nan), np.float32(0)
    if largest < _SMALLEST:
        return np.float32(0), np.float32(0)
    return largest / most, most / largest


@kernel
def pack_codes(x, n_rows, packed):
    """Round rows to multiples of their steps, and put the rows of each block side by side.

    Parameters
    ----------
    x : float32[m, depth]
        C-contiguous.
    n_rows : int64
        Rows to take, at least one.
    packed : PackedRows
        ``codes`` and ``steps`` are written. A row that is not finite has the step NaN, and codes of zeros.
    """
    depth = x.shape[1]
    n_groups = groups(depth)
    first = np.int64(0)
    blocks = n_blocks(n_rows)
    while blocks:
        size = block_rows(n_rows - first, blocks)
        stride = size * GROUP
        for row in range(size):
            step, inverse = row_step(x, first + row, _HIGHEST)
            packed.steps[first + row] = step
            place = first * n_groups * GROUP + row * GROUP
            many = depth // _AT_ONCE * _AT_ONCE
            if inverse == 0:  # zero times infinity is no zero
                many = np.int64(0)
            _write_codes(x, (first + row) * depth, many, inverse, packed.codes, place, stride)
            for k in range(many, n_groups * GROUP):
                code = np.int64(0)
                if k < depth and inverse != 0:
                    code = np.int64(np.rint(x[first + row, k] * inverse))
                packed.codes[place + k // GROUP * stride + k % GROUP] = np.uint8(code + ZERO)
        first += size
        blocks -= 1


@kernel
def pack_words(x, n_rows, packed):
    """Round rows to multiples of finer steps, of 16 bits; arguments as for :func:`pack_codes`."""
    depth = x.shape[1]
    n_pairs = pairs(depth)
    words = packed.codes.view(np.int16)
    first = np.int64(0)
    blocks = n_blocks(n_rows)
    while blocks:
        size = block_rows(n_rows - first, blocks)
        stride = size * PAIR
        for row in range(size):
            step, inverse = row_step(x, first + row, _HIGHEST_WORD)
            packed.steps[first + row] = step
            place = (first * n_pairs + row) * PAIR
            many = depth // _AT_ONCE * _AT_ONCE
            if inverse == 0:  # zero times infinity is no zero
                many = np.int64(0)
            _write_words(x, (first + row) * depth, many, inverse, words, place, stride)
            for k in range(many, n_pairs * PAIR):
                number = np.int64(0)
                if k < depth and inverse != 0:
                    number = np.int64(np.rint(x[first + row, k] * inverse))
                words[place + k // PAIR * stride + k % PAIR] = number
        first += size
        blocks -= 1


#: How rows are packed, by how the weights are kept that they are multiplied with.
PACK = {
    "float32": pack_floats,
    "float16": pack_floats,
    "bfloat16": pack_floats,
    "int8": pack_codes,
    "int16": pack_words,
}
