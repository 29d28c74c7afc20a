"""Sums over stretches of float32: of products, of numbers; and a multiple of one stretch added to another.

Loops that sum floating-point numbers are not vectorised, as their order would change. So the order is written down
here, in LLVM vector IR as in :mod:`numba_nlp.kernels.float_lanes`: two vectors of 16 sums, added at the end, then what
does not fill a vector one by one. Plain forms stand beside it; sums of the two forms differ in their last bits.

Twin: ``numba_nlp.reference.step.row_sums``.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import VECTOR, _element_pointer

__all__ = ["add_multiple", "dot", "total"]

if VECTOR:
    from numba_nlp.kernels.float_lanes import _LANES, _all, _f32, _floats, _fold, _multiply_add, _spread

    _i64 = ir.IntType(64)

    def _number(value):
        return ir.Constant(_i64, value)

    def _vector_at(builder, pointer, place):
        loaded = builder.load(builder.bitcast(builder.gep(pointer, [place]), _floats.as_pointer()))
        loaded.align = 4
        return loaded

    def _scalar_at(builder, pointer, place):
        return builder.load(builder.gep(pointer, [place]))

    def _fused(builder, a, b, c):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_f32, [_f32] * 3), "llvm.fmuladd.f32")
        return builder.call(function, [a, b, c])

    def _loop(builder, start, stop, step):
        return cgutils.for_range_slice(builder, start, stop, _number(step), _i64)

    def _sum(builder, n, vectors_of, scalar_of):
        """The sum of ``n`` terms: ``vectors_of(place, sums)`` adds 16 of them to ``sums``, ``scalar_of`` one."""
        whole = builder.and_(n, _number(~(2 * _LANES - 1)))
        half = builder.and_(n, _number(~(_LANES - 1)))
        places = [cgutils.alloca_once(builder, _floats) for _ in range(2)]
        for place in places:
            builder.store(_all(0.0), place)
        with _loop(builder, _number(0), whole, 2 * _LANES) as (index, _):
            for part, place in enumerate(places):
                at = builder.add(index, _number(part * _LANES))
                builder.store(vectors_of(at, builder.load(place)), place)
        with _loop(builder, whole, half, _LANES) as (index, _):
            builder.store(vectors_of(index, builder.load(places[0])), places[0])
        both = builder.fadd(builder.load(places[0]), builder.load(places[1]))
        result = cgutils.alloca_once(builder, _f32)
        builder.store(_fold(builder, both, lambda builder, a, b: builder.fadd(a, b)), result)
        with _loop(builder, half, n, 1) as (index, _):
            builder.store(scalar_of(index, builder.load(result)), result)
        return builder.load(result)

    @intrinsic
    def dot(typingctx, a, a_first, b, b_first, n):
        """Sum of the products of ``a[a_first + i]`` and ``b[b_first + i]`` for ``i < n``, all float32."""

        def codegen(context, builder, signature, args):
            left = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            right = _element_pointer(context, builder, signature.args[2], args[2], args[3])

            def vectors(place, sums):
                return _multiply_add(builder, _vector_at(builder, left, place), _vector_at(builder, right, place), sums)

            def scalar(place, total):
                return _fused(builder, _scalar_at(builder, left, place), _scalar_at(builder, right, place), total)

            return _sum(builder, args[4], vectors, scalar)

        return types.float32(a, types.int64, b, types.int64, types.int64), codegen

    @intrinsic
    def total(typingctx, a, a_first, n):
        """Sum of ``a[a_first:a_first + n]``, float32."""

        def codegen(context, builder, signature, args):
            left = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            return _sum(
                builder,
                args[2],
                lambda place, sums: builder.fadd(sums, _vector_at(builder, left, place)),
                lambda place, sum_: builder.fadd(sum_, _scalar_at(builder, left, place)),
            )

        return types.float32(a, types.int64, types.int64), codegen

    @intrinsic
    def add_multiple(typingctx, out, out_first, factor, a, a_first, n):
        """``out[out_first + i] += factor * a[a_first + i]`` for ``i < n``, all float32."""

        def codegen(context, builder, signature, args):
            to = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            factor = args[2]
            left = _element_pointer(context, builder, signature.args[3], args[3], args[4])
            n = args[5]
            factors = _spread(builder, factor)
            whole = builder.and_(n, _number(~(_LANES - 1)))
            with _loop(builder, _number(0), whole, _LANES) as (index, _):
                value = _multiply_add(
                    builder, factors, _vector_at(builder, left, index), _vector_at(builder, to, index)
                )
                stored = builder.store(value, builder.bitcast(builder.gep(to, [index]), _floats.as_pointer()))
                stored.align = 4
            with _loop(builder, whole, n, 1) as (index, _):
                value = _fused(builder, factor, _scalar_at(builder, left, index), _scalar_at(builder, to, index))
                builder.store(value, builder.gep(to, [index]))
            return context.get_dummy_value()

        whole = types.int64
        return types.void(out, whole, types.float32, a, whole, whole), codegen

else:

    @kernel
    def dot(a, a_first, b, b_first, n):
        """Sum of the products of ``a[a_first + i]`` and ``b[b_first + i]`` for ``i < n``, all float32."""
        result = np.float32(0)
        for i in range(n):
            result += a[a_first + i] * b[b_first + i]
        return result

    @kernel
    def total(a, a_first, n):
        """Sum of ``a[a_first:a_first + n]``, float32."""
        result = np.float32(0)
        for i in range(n):
            result += a[a_first + i]
        return result

    @kernel
    def add_multiple(out, out_first, factor, a, a_first, n):
        """``out[out_first + i] += factor * a[a_first + i]`` for ``i < n``, all float32."""
        for i in range(n):
            out[out_first + i] += factor * a[a_first + i]
