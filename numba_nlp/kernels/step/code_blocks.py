"""A few rows of 8-bit codes times one panel of int8 weights: exact integers, then scaled.

Four weights of a column stand side by side, ``panel[(k // 4 * COLUMNS + column) * 4 + k % 4]``, so that a 32-bit lane
of a vector holds four of them. Where the processor has it, one instruction multiplies them with four codes and adds all
to a 32-bit sum (``vpdpbusd`` of VNNI); else two instructions multiply pairs of 16-bit numbers (AVX2, AVX-512), or
vectors of integers are multiplied as LLVM sees fit. Nothing saturates and nothing is rounded: the sums are the same
everywhere.

Codes are 128 more than what they stand for, which adds 128 times the sum of the weights; it is taken away at the end.

Twin: ``numba_nlp.reference.step.code_blocks``.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.processor import FEATURES
from numba_nlp.kernels.step import row_blocks
from numba_nlp.kernels.step.packed_rows import GROUP
from numba_nlp.kernels.step.row_blocks import COLUMNS, LANES
from numba_nlp.kernels.words import VECTOR, _element_pointer

__all__ = ["multiply_codes"]

if VECTOR:
    _i8, _i16, _i32, _i64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
    _f32 = ir.FloatType()
    _sums = ir.VectorType(_i32, LANES)
    _bytes = ir.VectorType(_i8, LANES * GROUP)
    _halves = ir.VectorType(_i16, LANES * 2)
    _floats = ir.VectorType(_f32, LANES)
    _zeros = ir.Constant(_sums, [ir.Constant(_i32, 0)] * LANES)

    def _number(value):
        return ir.Constant(_i64, value)

    def _all(value):
        return ir.Constant(_sums, [ir.Constant(_i32, value)] * LANES)

    def _load(builder, pointer, vector, align=4):
        loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        loaded.align = align
        return loaded

    def _spread(builder, value, vector):
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, value, ir.Constant(_i32, 0))
        return builder.shuffle_vector(one, undefined, _zeros)

    class _OneInstruction:
        """Four products and their sum in one instruction."""

        @staticmethod
        def weights(builder, weights):
            return weights

        codes = weights

        @staticmethod
        def add(builder, sums, codes, weights):
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_sums, [_sums] * 3), f"llvm.x86.avx512.vpdpbusd.{LANES * 32}"
            )
            return builder.call(function, [sums, codes, weights])

    _PAIRS = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}

    class _Pairs:
        """Bytes 0 and 2 of each four as 16-bit numbers, and bytes 1 and 3; two instructions multiply and add pairs."""

        @staticmethod
        def weights(builder, weights):
            eight = ir.Constant(_halves, [ir.Constant(_i16, 8)] * _halves.count)
            pairs = builder.bitcast(weights, _halves)
            return builder.ashr(builder.shl(pairs, eight), eight), builder.ashr(pairs, eight)

        @staticmethod
        def codes(builder, codes):
            mask = _all(0x00FF00FF)
            return builder.and_(codes, mask), builder.and_(builder.lshr(codes, _all(8)), mask)

        @staticmethod
        def add(builder, sums, codes, weights):
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_sums, [_halves] * 2), _PAIRS[LANES]
            )
            for code, weight in zip(codes, weights, strict=True):
                sums = builder.add(sums, builder.call(function, [builder.bitcast(code, _halves), weight]))
            return sums

    class _AnyTarget:
        """Each byte of the four as a 32-bit number."""

        @staticmethod
        def weights(builder, weights):
            left = [builder.shl(weights, _all(24 - 8 * j)) for j in range(GROUP)]
            return [builder.ashr(shifted, _all(24)) for shifted in left]

        @staticmethod
        def codes(builder, codes):
            return [builder.and_(builder.lshr(codes, _all(8 * j)), _all(0xFF)) for j in range(GROUP)]

        @staticmethod
        def add(builder, sums, codes, weights):
            for code, weight in zip(codes, weights, strict=True):
                sums = builder.add(sums, builder.mul(code, weight))
            return sums

    if "avx512vnni" in FEATURES and (LANES == 16 or "avx512vl" in FEATURES):
        _way: type = _OneInstruction
    elif "avxvnni" in FEATURES and LANES == 8:
        _way = _OneInstruction
    elif ("avx512bw" if LANES == 16 else "avx2") in FEATURES:
        _way = _Pairs
    else:
        _way = _AnyTarget

    def _emit_block(
        builder, n_rows, codes, steps, weights, n_groups, corrections, scales, bias, out, stride, ahead, ahead_step
    ):
        """The product of ``n_rows`` rows of codes, packed side by side, with a panel."""
        sums = [[cgutils.alloca_once_value(builder, _zeros) for _ in range(2)] for _ in range(n_rows)]
        for halves in sums:
            for place in halves:
                builder.store(_zeros, place)
        with cgutils.for_range(builder, n_groups) as loop:
            row_blocks._prefetch(builder, builder.gep(ahead, [builder.mul(loop.index, ahead_step)]))
            at = builder.gep(weights, [builder.mul(loop.index, _number(COLUMNS * GROUP))])
            halves = [
                _way.weights(builder, _load(builder, builder.gep(at, [_number(half * LANES * GROUP)]), _sums))
                for half in range(2)
            ]
            first = builder.mul(loop.index, _number(n_rows))
            for row in range(n_rows):
                four = builder.load(builder.gep(codes, [builder.add(first, _number(row))]))
                four.align = 1
                spread = _way.codes(builder, _spread(builder, four, _sums))
                for half, place in zip(halves, sums[row], strict=True):
                    builder.store(_way.add(builder, builder.load(place), spread, half), place)
        for half in range(2):
            correction, scale, added = (
                _load(builder, builder.gep(pointer, [_number(half * LANES)]), vector)
                for pointer, vector in ((corrections, _sums), (scales, _floats), (bias, _floats))
            )
            for row in range(n_rows):
                step = _spread(builder, builder.load(builder.gep(steps, [_number(row)])), _floats)
                exact = builder.sitofp(builder.sub(builder.load(sums[row][half]), correction), _floats)
                at = builder.gep(out, [builder.add(builder.mul(stride, _number(row)), _number(half * LANES))])
                scaled = builder.fadd(builder.fmul(builder.fmul(exact, step), scale), added)
                builder.store(scaled, builder.bitcast(at, _floats.as_pointer())).align = 4

    @intrinsic
    def multiply_codes(  # noqa: D103  as the plain form below
        typingctx, codes, codes_first, steps, steps_first, n_rows, panels, panels_first, n_groups, sums, scales,
        bias, columns_first, out, out_first, stride, ahead, ahead_step
    ):  # fmt: skip
        def codegen(context, builder, signature, args):
            def pointer(array, first):
                return _element_pointer(context, builder, signature.args[array], args[array], args[first])

            codes_at = builder.bitcast(pointer(0, 1), _i32.as_pointer())
            steps_at, weights = pointer(2, 3), pointer(5, 6)
            sums_at, scales_at, out_at = pointer(8, 11), pointer(9, 11), pointer(12, 13)
            bias_at = row_blocks._bias_pointer(context, builder, signature.args[10], args[10], args[11])
            ahead_at = pointer(5, 15)
            given = (
                codes_at, steps_at, weights, args[7], sums_at, scales_at, bias_at, out_at, args[14], ahead_at, args[16],
            )  # fmt: skip
            row_blocks._for_each_size(builder, args[4], lambda size: _emit_block(builder, size, *given))
            return context.get_dummy_value()

        whole = types.int64
        return types.void(
            codes,
            whole,
            steps,
            whole,
            whole,
            panels,
            whole,
            whole,
            sums,
            scales,
            bias,
            whole,
            out,
            whole,
            whole,
            whole,
            whole,
        ), codegen

else:

    @kernel
    def multiply_codes(
        codes, codes_first, steps, steps_first, n_rows, panels, panels_first, n_groups, sums, scales, bias,
        columns_first, out, out_first, stride, ahead, ahead_step,
    ):  # fmt: skip
        """Multiply a few rows with one panel.

        Parameters
        ----------
        codes : uint8[k]
            Rows side by side from ``codes_first`` on: code ``4 * q + j`` of row ``r`` is element
            ``(q * n_rows + r) * 4 + j``.
        codes_first : int64
        steps : float32[m]
            Those of the rows begin at ``steps_first``.
        steps_first, n_rows : int64
        panels : int8[p]
            The panel begins at ``panels_first``.
        panels_first, n_groups : int64
            There are so many groups of four weights of a column.
        sums : int32[columns]
            128 times the sum of each column's weights; those of the panel begin at ``columns_first``.
        scales : float32[columns]
            What each column's weights are multiples of.
        bias : float32[columns] or float32[0]
            Added; nothing is when the array is empty.
        columns_first : int64
        out : float32[m]
            Written: ``COLUMNS`` products of each row, those of row ``r`` from ``out_first + r * stride`` on.
        out_first, stride : int64
        ahead, ahead_step : int64
            The memory of weights ``ahead``, ``ahead + ahead_step`` and so on is asked for, one each group.
        """
        for row in range(n_rows):
            for column in range(COLUMNS):
                total = np.int64(0)
                for group in range(n_groups):
                    for j in range(GROUP):
                        code = np.int64(codes[codes_first + (group * n_rows + row) * GROUP + j])
                        total += code * panels[panels_first + (group * COLUMNS + column) * GROUP + j]
                exact = np.float32(total - sums[columns_first + column])
                scaled = exact * steps[steps_first + row] * scales[columns_first + column]
                if bias.size:
                    scaled += bias[columns_first + column]
                out[out_first + row * stride + column] = scaled
