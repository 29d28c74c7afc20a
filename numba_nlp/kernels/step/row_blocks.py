"""A few rows times one panel of weights: all sums stay in registers, each weight is read once.

A panel holds the weights of ``COLUMNS`` outputs, those of one input side by side: ``panel[k * COLUMNS + column]``. Two
vectors of them are multiplied with one number of each row, which gives two sums a row; with 32 vector registers 12 rows
fit, with 16 of them 6. This is the inner loop of Goto, van de Geijn 2008 ("Anatomy of High-Performance Matrix
Multiplication"), with weights that were packed when the model was loaded.

Weights are kept as float32, or as float16 or bfloat16 (their bits in uint16); sums are float32. LLVM vector IR as in
:mod:`numba_nlp.kernels.words`, and plain forms beside it for the same cases. int8:
:mod:`numba_nlp.kernels.step.code_blocks`.

Twin: ``numba_nlp.reference.step.row_blocks``.
"""

from __future__ import annotations

import math
import platform

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.processor import FEATURES
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.words import VECTOR, _element_pointer

#: Whether there are 32 registers of 16 numbers.
_WIDE = "avx512f" in FEATURES
#: Whether the processor converts float16.
_HALVES = bool({"f16c", "avx512f"} & FEATURES) or platform.machine().lower() in ("arm64", "aarch64")
#: Numbers of a vector.
LANES = 16 if _WIDE else 8
#: Outputs of a panel.
COLUMNS = 2 * LANES
#: Most rows that are multiplied at once.
MOST_ROWS = 12 if _WIDE else 6

if VECTOR:
    _i16, _i32, _i64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
    _f32 = ir.FloatType()
    _sums = ir.VectorType(_f32, LANES)

    def _number(value):
        return ir.Constant(_i64, value)

    def _vector(element):
        return ir.VectorType(element, LANES)

    def _loaded(builder, pointer, element):
        """A vector of elements that need not be aligned."""
        loaded = builder.load(builder.bitcast(pointer, _vector(element).as_pointer()))
        loaded.align = element.width // 8 if isinstance(element, ir.IntType) else 4
        return loaded

    def _read_float32(builder, pointer):
        return _loaded(builder, pointer, _f32)

    def _all(element, value):
        return ir.Constant(_vector(element), [ir.Constant(element, value)] * LANES)

    def _read_float16(builder, pointer):
        bits = _loaded(builder, pointer, _i16)
        if _HALVES:
            return builder.fpext(builder.bitcast(bits, _vector(ir.HalfType())), _sums)
        # LLVM would call a function of the compiler's library, which is not there
        wide = builder.zext(bits, _vector(_i32))
        sign = builder.shl(builder.and_(wide, _all(_i32, 0x8000)), _all(_i32, 16))
        magnitude = builder.shl(builder.and_(wide, _all(_i32, 0x7FFF)), _all(_i32, 13))
        # the exponent counts from 15, not from 127; numbers without a leading one get theirs by the product
        finite = builder.bitcast(builder.fmul(builder.bitcast(magnitude, _sums), _all(_f32, 2.0**112)), _vector(_i32))
        is_finite = builder.icmp_unsigned("<", magnitude, _all(_i32, 0x7C00 << 13))
        other = builder.or_(magnitude, _all(_i32, 0x7F800000))
        return builder.bitcast(builder.or_(sign, builder.select(is_finite, finite, other)), _sums)

    def _read_bfloat16(builder, pointer):
        bits = builder.zext(_loaded(builder, pointer, _i16), _vector(_i32))
        return builder.bitcast(builder.shl(bits, _all(_i32, 16)), _sums)

    def _spread(builder, value):
        undefined = ir.Constant(_sums, ir.Undefined)
        one = builder.insert_element(undefined, value, ir.Constant(_i32, 0))
        return builder.shuffle_vector(one, undefined, _all(_i32, 0))

    def _prefetch(builder, pointer):
        """Ask for the cache line of an address, which need not be one of the program, into the second cache.

        The first one is full with rows and the panel at hand; into that, it slowed float32 down.
        """
        pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [pointer.type, _i32, _i32, _i32]), "llvm.prefetch.p0"
        )
        builder.call(function, [pointer, *(ir.Constant(_i32, number) for number in (0, 2, 1))])

    def _bias_pointer(context, builder, array_type, array, first):
        """Address of the biases of a panel; of as many that change nothing when the array is empty."""
        none = cgutils.global_constant(
            builder.module, "no_bias", ir.Constant(ir.ArrayType(_f32, COLUMNS), [-0.0] * COLUMNS)
        )
        size = context.make_array(array_type)(context, builder, array).nitems
        there = builder.icmp_signed("!=", size, _number(0))
        pointer = _element_pointer(context, builder, array_type, array, first)
        return builder.select(there, pointer, builder.bitcast(none, pointer.type))

    def _for_each_size(builder, n_rows, emit):
        """Code for each number of rows that fits into registers, and a jump to that of ``n_rows``.

        ``emit`` is called with each number, and writes its code.
        """
        end = builder.append_basic_block("end")
        cases = builder.switch(n_rows, end)
        for size in range(1, MOST_ROWS + 1):
            block = builder.append_basic_block(f"rows_{size}")
            cases.add_case(_number(size), block)
            with builder.goto_block(block):
                emit(size)
                builder.branch(end)
        builder.position_at_end(end)

    def _emit_block(builder, n_rows, read, x, weights, depth, bias, out, stride, ahead, ahead_step):
        """The product of ``n_rows`` rows, packed side by side, with a panel."""
        # fused where the processor can; llvm.fma would call a slow function where it cannot
        multiply_add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_sums, [_sums] * 3), f"llvm.fmuladd.v{LANES}f32"
        )
        zero = _all(_f32, 0.0)
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(2)] for _ in range(n_rows)]
        for halves in sums:
            for place in halves:
                builder.store(zero, place)
        with cgutils.for_range(builder, depth) as loop:
            _prefetch(builder, builder.gep(ahead, [builder.mul(loop.index, ahead_step)]))
            at = builder.gep(weights, [builder.mul(loop.index, _number(COLUMNS))])
            halves = [read(builder, builder.gep(at, [_number(half * LANES)])) for half in range(2)]
            first = builder.mul(loop.index, _number(n_rows))
            for row in range(n_rows):
                value = _spread(builder, builder.load(builder.gep(x, [builder.add(first, _number(row))])))
                for half, place in zip(halves, sums[row], strict=True):
                    builder.store(builder.call(multiply_add, [value, half, builder.load(place)]), place)
        for half in range(2):
            added = _loaded(builder, builder.gep(bias, [_number(half * LANES)]), _f32)
            for row in range(n_rows):
                at = builder.gep(out, [builder.add(builder.mul(stride, _number(row)), _number(half * LANES))])
                value = builder.fadd(builder.load(sums[row][half]), added)
                builder.store(value, builder.bitcast(at, _sums.as_pointer())).align = 4

    def _block_function(read):
        @intrinsic
        def multiply_block(
            typingctx, x, x_first, n_rows, panels, panels_first, depth, bias, bias_first, out, out_first, stride,
            ahead, ahead_step,
        ):  # fmt: skip
            def codegen(context, builder, signature, args):
                def pointer(array, first):
                    return _element_pointer(context, builder, signature.args[array], args[array], args[first])

                x_at, weights, out_at, ahead_at = pointer(0, 1), pointer(3, 4), pointer(8, 9), pointer(3, 11)
                bias_at = _bias_pointer(context, builder, signature.args[6], args[6], args[7])
                given = x_at, weights, args[5], bias_at, out_at, args[10], ahead_at, args[12]
                _for_each_size(builder, args[2], lambda size: _emit_block(builder, size, read, *given))
                return context.get_dummy_value()

            whole = types.int64
            return types.void(
                x, whole, whole, panels, whole, whole, bias, whole, out, whole, whole, whole, whole
            ), codegen

        return multiply_block

    multiply_float32 = _block_function(_read_float32)
    multiply_float16 = _block_function(_read_float16)
    multiply_bfloat16 = _block_function(_read_bfloat16)

else:

    @kernel
    def float_value(bits, fraction_bits, exponent_bits):
        """Value of a number of 16 bits: sign, exponent, fraction, as IEEE 754 has them.

        Parameters
        ----------
        bits : uint16
        fraction_bits, exponent_bits : int64
            15 in sum.

        Returns
        -------
        float32
        """
        number = np.int64(bits)
        one, largest = 1 << fraction_bits, (1 << exponent_bits) - 1
        exponent, rest = (number >> fraction_bits) & largest, number & (one - 1)
        if exponent == largest:
            value = math.inf if rest == 0 else math.nan
        else:
            if exponent > 0:
                rest += one
            value = rest * 2.0 ** (max(exponent, 1) - (largest >> 1) - fraction_bits)
        return np.float32(-value if number >> 15 else value)

    @kernel
    def _half_value(bits):
        return float_value(bits, 10, 5)

    @kernel
    def _brain_value(bits):
        return float_value(bits, 7, 8)

    @kernel
    def _as_it_is(weight):
        return np.float32(weight)

    def _multiply_block(
        x, x_first, n_rows, panels, panels_first, depth, bias, bias_first, out, out_first, stride, ahead, ahead_step
    ):
        """Multiply a few rows with one panel.

        Parameters
        ----------
        x : float32[k]
            Rows side by side from ``x_first`` on: number ``k`` of row ``r`` is element ``k * n_rows + r``.
        x_first, n_rows : int64
        panels : float32[p] or uint16[p]
            The panel begins at ``panels_first``.
        panels_first, depth : int64
        bias : float32[columns] or float32[0]
            Added; that of the panel begins at ``bias_first``. Nothing is added when the array is empty.
        bias_first : int64
        out : float32[m]
            Written: ``COLUMNS`` sums of each row, those of row ``r`` from ``out_first + r * stride`` on.
        out_first, stride : int64
        ahead, ahead_step : int64
            The memory of weights ``ahead``, ``ahead + ahead_step`` and so on is asked for, one for each number.
        """
        for row in range(n_rows):
            for column in range(COLUMNS):
                total = np.float32(0)
                for k in range(depth):
                    weight = value_of(panels[panels_first + k * COLUMNS + column])  # noqa: F821  bound by `specialise`
                    total += x[x_first + k * n_rows + row] * weight
                if bias.size:
                    total += bias[bias_first + column]
                out[out_first + row * stride + column] = total

    multiply_float32 = kernel(specialise(_multiply_block, "multiply_float32", value_of=_as_it_is))
    multiply_float16 = kernel(specialise(_multiply_block, "multiply_float16", value_of=_half_value))
    multiply_bfloat16 = kernel(specialise(_multiply_block, "multiply_bfloat16", value_of=_brain_value))
