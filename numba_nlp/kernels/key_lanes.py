"""Keys of eight short chunks at a time, from the sixteen bytes at each of them.

Where the processor multiplies eight words at once (AVX-512DQ); elsewhere keys are made one by one.
See :func:`numba_nlp.kernels.segment.cached_loops.make_keys`.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp.kernels.processor import FEATURES
from numba_nlp.kernels.words import VECTOR

__all__ = ["KEY_LANES", "make_eight_keys"]

#: Whether there is :func:`make_eight_keys`.
KEY_LANES = VECTOR and "avx512dq" in FEATURES

if KEY_LANES:
    _i1, _i8, _i32, _i64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
    _eight = ir.VectorType(_i64, 8)

    def _spread(builder, value):
        none, zero = ir.Constant(_eight, ir.Undefined), ir.Constant(_i32, 0)
        zeros = ir.Constant(ir.VectorType(_i32, 8), [zero] * 8)
        return builder.shuffle_vector(builder.insert_element(none, value, zero), none, zeros)

    def _same(value):
        return ir.Constant(_eight, [ir.Constant(_i64, value)] * 8)

    def _minimum(builder, left, right):
        return builder.select(builder.icmp_signed("<", left, right), left, right)

    def _first_bytes(builder, n):
        """Masks of the first ``n`` bytes of words, for ``0 <= n <= 7``."""
        return builder.sub(builder.shl(_same(1), builder.shl(n, _same(3))), _same(1))


def make_eight_keys(ends, low, high, homes, multiplier, short_limit):
    """Make an intrinsic for arrays that lie so many bytes behind the starts.

    Parameters
    ----------
    ends, low, high, homes : int
        Distances of the arrays from that of the starts, in bytes.
    multiplier : int
        Of the hash.
    short_limit : int
        Longest short chunk.

    Returns
    -------
    intrinsic
        ``(at, entries, shift) -> uint64``: ``at`` is the address of eight starts; the words at the chunks lie in
        the arrays of the keys, where keys take their place. ``entries`` is the address of the word cache, whose
        lines are asked for, ``shift`` what leaves a home of a hash. Bit ``k`` of what is given says that chunk
        ``k`` is long and has no right key yet.
    """

    @intrinsic
    def eight_keys(typingctx, at, entries, shift):
        def codegen(context, builder, signature, args):
            at, entries, shift = args

            def place(distance):
                address = builder.add(at, ir.Constant(_i64, distance))
                return builder.inttoptr(address, _eight.as_pointer())

            def load(distance):
                loaded = builder.load(place(distance))
                loaded.align = 8
                return loaded

            def store(distance, value):
                builder.store(value, place(distance)).align = 8

            length = builder.sub(load(ends), load(0))
            long = builder.icmp_signed(">", length, _same(short_limit))
            some = _first_bytes(builder, _minimum(builder, length, _same(7)))
            all_of_low = builder.icmp_signed(">=", length, _same(8))
            low_mask = builder.select(all_of_low, _same(-1), some)
            behind = _minimum(builder, builder.sub(length, _same(8)), _same(7))
            behind = builder.select(all_of_low, behind, _same(0))
            low_word = builder.and_(load(low), low_mask)
            high_word = builder.and_(load(high), _first_bytes(builder, behind))
            high_word = builder.or_(high_word, builder.shl(length, _same(56)))
            code = builder.mul(builder.xor(low_word, high_word), _same(multiplier))
            home = builder.lshr(code, _spread(builder, shift))
            store(low, low_word)
            store(high, high_word)
            store(homes, home)
            pointer_type = _i8.as_pointer()
            prefetch = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [pointer_type, _i32, _i32, _i32]), "llvm.prefetch.p0"
            )
            distances = builder.shl(home, _same(5))
            how = [ir.Constant(_i32, 0), ir.Constant(_i32, 3), ir.Constant(_i32, 1)]
            for lane in range(8):
                distance = builder.extract_element(distances, ir.Constant(_i32, lane))
                builder.call(prefetch, [builder.inttoptr(builder.add(entries, distance), pointer_type), *how])
            return builder.zext(builder.bitcast(long, _i8), _i64)

        return types.uint64(types.int64, types.int64, types.int64), codegen

    return eight_keys
