"""Blocks of 64 float32 of a row, each worked on as four vectors: the largest, and the sum of exponentials.

A loop that reduces floating-point numbers is not vectorised unless their sums may be reordered and NaN ignored
everywhere, which logits do not allow: minus infinity stands for what is forbidden. So the order is written down here,
in plain LLVM vector IR as in :mod:`numba_nlp.kernels.lanes`, with a plain form beside it. The sums of the two forms
differ in their last bits.

Twin: ``numba_nlp.reference.float_lanes``.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import VECTOR, _element_pointer

#: Values of a block.
BLOCK = 64
#: Blocks of a part, and values of one.
PART_BLOCKS = 16
PART = BLOCK * PART_BLOCKS
#: Smaller numbers count as this one, whose exponential, 2e-38, is nearly the smallest normal number: it does not change
#: a sum that has a one in it.
_LOWEST = -87.0
#: Added to a number of small magnitude, it leaves the nearest integer in the low bits.
_ROUND = 12582912.0  # 1.5 * 2**23
_LOG2_E = math.log2(math.e)
_LN2 = math.log(2.0)
#: Polynomial for the exponential within ln(2)/2 of zero, from the highest power on: of those of its degree that are 1
#: at 0, the one of least relative error, 9e-8, which is less than what rounding its steps to float32 adds (found by
#: Lawson's iteration of weighted least squares). The steps share the units that multiply with all others, so there are
#: no more than are needed.
_POLYNOMIAL = (
    0.008290307436995173,
    0.0418979788001598,
    0.16667636588721488,
    0.49999149167758683,
    0.9999997070054472,
    1.0,
)


@kernel
def exponential(value, top):
    """``exp(value - top)`` of one value, in float64; both are float32."""
    # Compiled, float() keeps float32; with numpy's scalars, infinity less infinity is a warning.
    return math.exp(float(np.float64(value)) - float(np.float64(top)))


if VECTOR:
    _LANES = 16
    _f32, _i32, _i8 = ir.FloatType(), ir.IntType(32), ir.IntType(8)
    _floats = ir.VectorType(_f32, _LANES)
    _words = ir.VectorType(_i32, _LANES)

    def _all(value):
        """A vector of one number, rounded to float32 as LLVM wants its constants."""
        return ir.Constant(_floats, [ir.Constant(_f32, float(np.float32(value)))] * _LANES)

    def _all_words(value):
        return ir.Constant(_words, [ir.Constant(_i32, value)] * _LANES)

    def _spread(builder, value):
        """A vector of one number that is known when the code runs."""
        undefined = ir.Constant(_floats, ir.Undefined)
        one = builder.insert_element(undefined, value, ir.Constant(_i32, 0))
        return builder.shuffle_vector(one, undefined, _all_words(0))

    def _address(context, builder, array_type, array, first, part):
        place = builder.add(first, ir.Constant(ir.IntType(64), part * _LANES))
        pointer = _element_pointer(context, builder, array_type, array, place)
        return builder.bitcast(pointer, _floats.as_pointer())

    def _load(context, builder, array_type, array, first, part):
        loaded = builder.load(_address(context, builder, array_type, array, first, part))
        loaded.align = 4
        return loaded

    def _ask_for(context, builder, array_type, array, first, part):
        """Prefetch values that are looked at soon, or lie behind the array."""
        pointer = builder.bitcast(_address(context, builder, array_type, array, first, part), _i8.as_pointer())
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer.type, _i32, _i32, _i32]), "llvm.prefetch.p0"
        )
        builder.call(function, [pointer, *(ir.Constant(_i32, number) for number in (0, 3, 1))])

    def _multiply_add(builder, a, b, c):
        """``a * b + c``, fused where the processor can."""
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_floats, [_floats] * 3), f"llvm.fmuladd.v{_LANES}f32"
        )
        return builder.call(function, [a, b, c])

    def _exponential(builder, x):
        """``exp(x)`` for ``x <= 0``, or ``exp(-87)`` if that is larger; NaN stays."""
        x = builder.select(builder.fcmp_ordered("<", x, _all(_LOWEST)), _all(_LOWEST), x)
        rounded = _multiply_add(builder, x, _all(_LOG2_E), _all(_ROUND))
        power = builder.fsub(rounded, _all(_ROUND))
        rest = _multiply_add(builder, power, _all(-_LN2), x)
        value = _all(_POLYNOMIAL[0])
        for factor in _POLYNOMIAL[1:]:
            value = _multiply_add(builder, value, rest, _all(factor))
        # times a power of two: added to the exponent
        exponent = builder.shl(builder.bitcast(rounded, _words), _all_words(23))
        return builder.bitcast(builder.add(builder.bitcast(value, _words), exponent), _floats)

    def _larger(builder, a, b):
        """The larger of each two lanes; where ``a`` is NaN, ``b``."""
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    def _smaller(builder, a, b):
        """The smaller of each two lanes."""
        return builder.select(builder.fcmp_ordered("<", a, b), a, b)

    def _fold(builder, vector, combine):
        """Combine all lanes, halves first."""
        half = _LANES // 2
        while half:
            picks = [ir.Constant(_i32, (lane + half) % _LANES) for lane in range(_LANES)]
            upper = builder.shuffle_vector(vector, vector, ir.Constant(_words, picks))
            vector = combine(builder, vector, upper)
            half //= 2
        return builder.extract_element(vector, ir.Constant(_i32, 0))

    @intrinsic
    def largest_of_block(typingctx, row, first):
        """Largest of ``row[first:first + 64]`` (float32); NaN is left out, so of NaN alone it is minus infinity."""

        def codegen(context, builder, signature, args):
            best = _all(-math.inf)
            for part in range(BLOCK // _LANES):
                best = _larger(builder, _load(context, builder, signature.args[0], *args, part), best)
            return _fold(builder, best, _larger)

        return types.float32(row, types.int64), codegen

    def _largest_by_lanes(builder, vectors):
        """The largest lane of each of sixteen vectors, in one vector: halves of two are combined, then of two such."""
        step = _LANES // 2
        while step:
            # lanes of the first vector at places without the bit `step`, those of the second at the others
            same = [lane if not lane & step else _LANES + lane for lane in range(_LANES)]
            other = [lane + step if not lane & step else _LANES + lane - step for lane in range(_LANES)]
            combined = []
            for a, b in zip(vectors[: len(vectors) // 2], vectors[len(vectors) // 2 :], strict=True):
                parts = [
                    builder.shuffle_vector(a, b, ir.Constant(_words, [ir.Constant(_i32, pick) for pick in picks]))
                    for picks in (same, other)
                ]
                combined.append(_larger(builder, *parts))
            vectors = combined
            step //= 2
        return vectors[0]

    @intrinsic
    def largest_of_part(typingctx, row, first, maxima, place):
        """Write the largest of each of 16 blocks from ``row[first]`` on to ``maxima[place:]``; the largest of them.

        As of :func:`largest_of_block`.
        """

        def codegen(context, builder, signature, args):
            array, first, maxima, place = args
            blocks = []
            for block in range(PART_BLOCKS):
                best = _all(-math.inf)
                for part in range(BLOCK // _LANES):
                    values = _load(context, builder, signature.args[0], array, first, block * (BLOCK // _LANES) + part)
                    best = _larger(builder, values, best)
                blocks.append(best)
            each = _largest_by_lanes(builder, blocks)
            stored = builder.store(each, _address(context, builder, signature.args[2], maxima, place, 0))
            stored.align = 4
            return _fold(builder, each, _larger)

        return types.float32(row, types.int64, maxima, types.int64), codegen

    @intrinsic
    def largest_of_sixteen(typingctx, row, first):
        """Largest of ``row[first:first + 16]`` (float32), without NaN."""

        def codegen(context, builder, signature, args):
            return _fold(builder, _load(context, builder, signature.args[0], *args, 0), _larger)

        return types.float32(row, types.int64), codegen

    @intrinsic
    def exponentials_of_part(typingctx, row, first, top):
        """Sum of ``exp(row[first:first + 1024] - top)`` (float32), as of :func:`exponentials_of_block`.

        The 1024 values behind them are prefetched meanwhile, which else would wait for each page anew.
        """

        def codegen(context, builder, signature, args):
            array, first, top = args
            tops = _spread(builder, top)
            sums = [cgutils.alloca_once_value(builder, _all(0.0)) for _ in range(BLOCK // _LANES)]
            with cgutils.for_range(builder, ir.Constant(ir.IntType(64), PART_BLOCKS)) as loop:
                begin = builder.add(first, builder.mul(loop.index, ir.Constant(ir.IntType(64), BLOCK)))
                for part, total in enumerate(sums):
                    _ask_for(context, builder, signature.args[0], array, begin, PART // _LANES + part)
                    values = _load(context, builder, signature.args[0], array, begin, part)
                    weights = _exponential(builder, builder.fsub(values, tops))
                    builder.store(builder.fadd(builder.load(total), weights), total)
            parts = [builder.load(total) for total in sums]
            while len(parts) > 1:
                parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
            return _fold(builder, parts[0], lambda builder, a, b: builder.fadd(a, b))

        return types.float32(row, types.int64, types.float32), codegen

    @intrinsic
    def smallest_of_block(typingctx, row, first):
        """Smallest of ``row[first:first + 64]`` (float32), without NaN."""

        def codegen(context, builder, signature, args):
            best = _all(math.inf)
            for part in range(BLOCK // _LANES):
                best = _smaller(builder, _load(context, builder, signature.args[0], *args, part), best)
            return _fold(builder, best, _smaller)

        return types.float32(row, types.int64), codegen

    def _sum_of_exponentials(context, builder, array_type, array, first, top, n):
        """Of ``n`` vectors, a power of two of them."""
        tops = _spread(builder, top)
        parts = [
            _exponential(builder, builder.fsub(_load(context, builder, array_type, array, first, part), tops))
            for part in range(n)
        ]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return _fold(builder, parts[0], lambda builder, a, b: builder.fadd(a, b))

    @intrinsic
    def exponentials_of_block(typingctx, row, first, top):
        """Sum of ``exp(row[first:first + 64] - top)`` (float32), for values up to ``top``; NaN if one of them is."""

        def codegen(context, builder, signature, args):
            return _sum_of_exponentials(context, builder, signature.args[0], *args, BLOCK // _LANES)

        return types.float32(row, types.int64, types.float32), codegen

    @intrinsic
    def exponentials_of_sixteen(typingctx, row, first, top):
        """Sum of ``exp(row[first:first + 16] - top)`` (float32), as of :func:`exponentials_of_block`."""

        def codegen(context, builder, signature, args):
            return _sum_of_exponentials(context, builder, signature.args[0], *args, 1)

        return types.float32(row, types.int64, types.float32), codegen

    @intrinsic
    def write_exponentials(typingctx, row, first, top, result):
        """Write ``exp(row[first:first + 64] - top)`` to the same places of ``result`` (float32)."""

        def codegen(context, builder, signature, args):
            array, first, top, result = args
            tops = _spread(builder, top)
            for part in range(BLOCK // _LANES):
                values = _load(context, builder, signature.args[0], array, first, part)
                values = _exponential(builder, builder.fsub(values, tops))
                stored = builder.store(values, _address(context, builder, signature.args[3], result, first, part))
                stored.align = 4
            return context.get_dummy_value()

        return types.void(row, types.int64, types.float32, result), codegen

else:

    @kernel
    def largest_of_block(row, first):
        """Largest of ``row[first:first + 64]`` (float32); NaN is left out, so of NaN alone it is minus infinity."""
        best = np.float32(-np.inf)
        for i in range(first, first + BLOCK):
            if row[i] > best:
                best = row[i]
        return best

    @kernel
    def largest_of_part(row, first, maxima, place):
        """Write the largest of each of 16 blocks from ``row[first]`` on to ``maxima[place:]``; the largest of them.

        As of :func:`largest_of_block`.
        """
        best = np.float32(-np.inf)
        for block in range(PART_BLOCKS):
            here = largest_of_block(row, first + block * BLOCK)
            maxima[place + block] = here
            if here > best:
                best = here
        return best

    @kernel
    def largest_of_sixteen(row, first):
        """Largest of ``row[first:first + 16]`` (float32), without NaN."""
        best = np.float32(-np.inf)
        for i in range(first, first + 16):
            if row[i] > best:
                best = row[i]
        return best

    @kernel
    def exponentials_of_sixteen(row, first, top):
        """Sum of ``exp(row[first:first + 16] - top)`` (float32), as of :func:`exponentials_of_block`."""
        total = 0.0
        for i in range(first, first + 16):
            total += exponential(row[i], top)
        return np.float32(total)

    @kernel
    def exponentials_of_part(row, first, top):
        """Sum of ``exp(row[first:first + 1024] - top)`` (float32), as of :func:`exponentials_of_block`."""
        total = 0.0
        for i in range(first, first + PART):
            total += exponential(row[i], top)
        return np.float32(total)

    @kernel
    def smallest_of_block(row, first):
        """Smallest of ``row[first:first + 64]`` (float32), without NaN."""
        best = np.float32(np.inf)
        for i in range(first, first + BLOCK):
            if row[i] < best:
                best = row[i]
        return best

    @kernel
    def exponentials_of_block(row, first, top):
        """Sum of ``exp(row[first:first + 64] - top)`` (float32), for values up to ``top``; NaN if one of them is."""
        total = 0.0
        for i in range(first, first + BLOCK):
            total += exponential(row[i], top)
        return np.float32(total)

    @kernel
    def write_exponentials(row, first, top, result):
        """Write ``exp(row[first:first + 64] - top)`` to the same places of ``result`` (float32)."""
        for i in range(first, first + BLOCK):
            result[i] = np.float32(exponential(row[i], top))
