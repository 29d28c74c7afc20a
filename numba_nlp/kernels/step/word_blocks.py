"""A few rows times one panel of weights, both integers of 16 bits: half the instructions of float32.

Two weights of a column stand side by side, ``panel[(k // 2 * COLUMNS + column) * 2 + k % 2]``, so that a 32-bit lane of
a vector holds both, and one instruction multiplies them with two numbers of a row and adds the products to a 32-bit
sum (``vpdpwssd`` of VNNI); two instructions do so elsewhere. The products of `RUN` pairs are added up so, which is
exact because magnitudes of so many weights sum up to `MOST_WEIGHT` at most; then they are added to float32 sums. The
same happens in the same order on every processor.

Twin: ``numba_nlp.reference.step.word_blocks``.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import kernel
from numba_nlp.kernels.processor import FEATURES
from numba_nlp.kernels.step import row_blocks
from numba_nlp.kernels.step.row_blocks import COLUMNS, LANES
from numba_nlp.kernels.words import VECTOR, _element_pointer

__all__ = ["HIGHEST", "MOST_WEIGHT", "PAIR", "RUN", "multiply_words"]

#: Numbers of a row, or weights of a column, that stand side by side.
PAIR = 2
#: Pairs whose products are added up as integers.
RUN = 32
#: Largest magnitude of a number.
HIGHEST = 2**15 - 1
#: Largest sum of the magnitudes of ``2 * RUN`` weights, so that sums of products have 32 bits.
MOST_WEIGHT = (2**31 - 1) // HIGHEST

if VECTOR:
    _i16, _i32, _i64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
    _f32 = ir.FloatType()
    _sums = ir.VectorType(_i32, LANES)
    _words = ir.VectorType(_i16, LANES * PAIR)
    _floats = ir.VectorType(_f32, LANES)
    _zeros = ir.Constant(_sums, [ir.Constant(_i32, 0)] * LANES)
    _nothing = ir.Constant(_floats, [ir.Constant(_f32, 0.0)] * LANES)

    def _number(value):
        return ir.Constant(_i64, value)

    def _load(builder, pointer, vector, align=4):
        loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
        loaded.align = align
        return loaded

    def _spread(builder, value, vector):
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, value, ir.Constant(_i32, 0))
        return builder.shuffle_vector(one, undefined, _zeros)

    def _add_at_once(builder, sums, row, weights):
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_sums, [_sums] * 3), f"llvm.x86.avx512.vpdpwssd.{LANES * 32}"
        )
        return builder.call(function, [sums, row, weights])

    _PAIRS = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}

    def _add_pairs(builder, sums, row, weights):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_sums, [_words] * 2), _PAIRS[LANES])
        both = [builder.bitcast(each, _words) for each in (row, weights)]
        return builder.add(sums, builder.call(function, both))

    def _add_each(builder, sums, row, weights):
        sixteen = ir.Constant(_sums, [ir.Constant(_i32, 16)] * LANES)
        high = [builder.ashr(each, sixteen) for each in (row, weights)]
        low = [builder.ashr(builder.shl(each, sixteen), sixteen) for each in (row, weights)]
        return builder.add(builder.add(sums, builder.mul(*high)), builder.mul(*low))

    if ("avx512vnni" in FEATURES and (LANES == 16 or "avx512vl" in FEATURES)) or ("avxvnni" in FEATURES and LANES == 8):
        _add = _add_at_once
    elif ("avx512bw" if LANES == 16 else "avx2") in FEATURES:
        _add = _add_pairs
    else:
        _add = _add_each

    def _emit_block(builder, n_rows, words, steps, weights, n_pairs, scales, bias, out, stride, ahead, ahead_step):
        """The product of ``n_rows`` rows, packed side by side, with a panel."""
        exact = [[cgutils.alloca_once(builder, _sums) for _ in range(2)] for _ in range(n_rows)]
        sums = [[cgutils.alloca_once(builder, _floats) for _ in range(2)] for _ in range(n_rows)]
        for halves in sums:
            for place in halves:
                builder.store(_nothing, place)
        with cgutils.for_range_slice(builder, _number(0), n_pairs, _number(RUN)) as (begin, _):
            for halves in exact:
                for place in halves:
                    builder.store(_zeros, place)
            end = builder.add(begin, _number(RUN))
            end = builder.select(builder.icmp_signed("<", end, n_pairs), end, n_pairs)
            with cgutils.for_range_slice(builder, begin, end, _number(1)) as (index, _):
                row_blocks._prefetch(builder, builder.gep(ahead, [builder.mul(index, ahead_step)]))
                at = builder.gep(weights, [builder.mul(index, _number(COLUMNS * PAIR))])
                halves = [_load(builder, builder.gep(at, [_number(half * LANES * PAIR)]), _sums) for half in range(2)]
                first = builder.mul(index, _number(n_rows))
                for row in range(n_rows):
                    pair = builder.load(builder.gep(words, [builder.add(first, _number(row))]))
                    pair.align = 1
                    spread = _spread(builder, pair, _sums)
                    for half, place in zip(halves, exact[row], strict=True):
                        builder.store(_add(builder, builder.load(place), spread, half), place)
            for row in range(n_rows):
                for part, place in zip(exact[row], sums[row], strict=True):
                    added = builder.sitofp(builder.load(part), _floats)
                    builder.store(builder.fadd(builder.load(place), added), place)
        for half in range(2):
            scale, added = (
                _load(builder, builder.gep(pointer, [_number(half * LANES)]), _floats) for pointer in (scales, bias)
            )
            for row in range(n_rows):
                step = _spread(builder, builder.load(builder.gep(steps, [_number(row)])), _floats)
                at = builder.gep(out, [builder.add(builder.mul(stride, _number(row)), _number(half * LANES))])
                scaled = builder.fmul(builder.fmul(builder.load(sums[row][half]), step), scale)
                builder.store(builder.fadd(scaled, added), builder.bitcast(at, _floats.as_pointer())).align = 4

    @intrinsic
    def multiply_words(  # noqa: D103  as the plain form below
        typingctx, words, words_first, steps, steps_first, n_rows, panels, panels_first, n_pairs, scales, bias,
        columns_first, out, out_first, stride, ahead, ahead_step
    ):  # fmt: skip
        def codegen(context, builder, signature, args):
            def pointer(array, first):
                return _element_pointer(context, builder, signature.args[array], args[array], args[first])

            words_at = builder.bitcast(pointer(0, 1), _i32.as_pointer())
            steps_at, weights, scales_at, out_at = pointer(2, 3), pointer(5, 6), pointer(8, 10), pointer(11, 12)
            bias_at = row_blocks._bias_pointer(context, builder, signature.args[9], args[9], args[10])
            given = words_at, steps_at, weights, args[7], scales_at, bias_at, out_at, args[13], pointer(5, 14), args[15]
            row_blocks._for_each_size(builder, args[4], lambda size: _emit_block(builder, size, *given))
            return context.get_dummy_value()

        n = types.int64
        return types.void(words, n, steps, n, n, panels, n, n, scales, bias, n, out, n, n, n, n), codegen

else:

    @kernel
    def multiply_words(
        words, words_first, steps, steps_first, n_rows, panels, panels_first, n_pairs, scales, bias, columns_first,
        out, out_first, stride, ahead, ahead_step,
    ):  # fmt: skip
        """Multiply a few rows with one panel.

        Parameters
        ----------
        words : int16[k]
            Rows side by side from ``words_first`` on: number ``2 * q + j`` of row ``r`` is element
            ``(q * n_rows + r) * 2 + j``.
        words_first : int64
        steps : float32[m]
            Those of the rows begin at ``steps_first``.
        steps_first, n_rows : int64
        panels : int16[p]
            The panel begins at ``panels_first``.
        panels_first, n_pairs : int64
            There are so many pairs of weights of a column.
        scales : float32[columns]
            What each column's weights are multiples of; those of the panel begin at ``columns_first``.
        bias : float32[columns] or float32[0]
            Added; nothing is when the array is empty.
        columns_first : int64
        out : float32[m]
            Written: ``COLUMNS`` products of each row, those of row ``r`` from ``out_first + r * stride`` on.
        out_first, stride : int64
        ahead, ahead_step : int64
            The memory of weights ``ahead``, ``ahead + ahead_step`` and so on is asked for, one each pair.
        """
        for row in range(n_rows):
            for column in range(COLUMNS):
                total = np.float32(0)
                for begin in range(0, n_pairs, RUN):
                    exact = np.int64(0)
                    for pair in range(begin, min(begin + RUN, n_pairs)):
                        for j in range(PAIR):
                            number = np.int64(words[words_first + (pair * n_rows + row) * PAIR + j])
                            exact += number * panels[panels_first + (pair * COLUMNS + column) * PAIR + j]
                    total += np.float32(exact)
                scaled = total * steps[steps_first + row] * scales[columns_first + column]
                if bias.size:
                    scaled += bias[columns_first + column]
                out[out_first + row * stride + column] = scaled
