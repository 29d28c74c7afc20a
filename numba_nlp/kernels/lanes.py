"""Small arrays of pair keys that are worked on as one vector: 16 or 64 lanes of uint32.

The keys stay in memory between calls, since a Numba variable cannot be a vector. They are always written and read
whole, so a load finds the store before it in the store buffer; writing single keys and loading all of them would wait
until the writes have reached the cache (measured: 12 ns a merge).

Plain LLVM vector IR as in :mod:`numba_nlp.kernels.words`, and the plain forms beside it for the same cases.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL
from numba_nlp.kernels.words import VECTOR, _element_pointer

#: Lanes of the two kinds of key arrays.
FEW, MANY = 16, 64
#: Elements of a row of symbols; places 64 to 127 take what is written beyond the ends.
ROW = 128
#: A key that no merge has.
NO_KEY = np.uint32(0xFFFFFFFF)

if VECTOR:
    _i8, _i32, _i64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)

    def _word(value):
        return ir.Constant(_i64, value)

    def _vector(lanes):
        return ir.VectorType(_i32, lanes)

    def _constant(lanes, value):
        return ir.Constant(_vector(lanes), [ir.Constant(_i32, value)] * lanes)

    def _numbers(lanes):
        return ir.Constant(_vector(lanes), [ir.Constant(_i32, lane) for lane in range(lanes)])

    def _spread(builder, lanes, value):
        """All lanes hold ``value``, an i32 or wider."""
        if value.type.width > 32:
            value = builder.trunc(value, _i32)
        undefined = ir.Constant(_vector(lanes), ir.Undefined)
        one = builder.insert_element(undefined, value, ir.Constant(_i32, 0))
        return builder.shuffle_vector(one, undefined, _constant(lanes, 0))

    def _pointer(context, builder, array_type, array, first, lanes):
        pointer = _element_pointer(context, builder, array_type, array, first)
        return builder.bitcast(pointer, _vector(lanes).as_pointer())

    def _load(context, builder, array_type, array, first, lanes):
        loaded = builder.load(_pointer(context, builder, array_type, array, first, lanes))
        loaded.align = 4
        return loaded

    def _store(context, builder, array_type, array, first, lanes, value):
        stored = builder.store(value, _pointer(context, builder, array_type, array, first, lanes))
        stored.align = 4

    def _smallest(builder, lanes, vector):
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_i32, [_vector(lanes)]), f"llvm.vector.reduce.umin.v{lanes}i32"
        )
        return builder.call(function, [vector])

    def _drop_of(lanes):
        @intrinsic
        def drop(typingctx, keys, first, a, b, c):
            def codegen(context, builder, signature, args):
                vector = _load(context, builder, signature.args[0], *args[:2], lanes)
                for lane in args[2:]:
                    here = builder.icmp_unsigned("==", _numbers(lanes), _spread(builder, lanes, lane))
                    vector = builder.select(here, _constant(lanes, -1), vector)
                _store(context, builder, signature.args[0], *args[:2], lanes, vector)
                return _smallest(builder, lanes, vector)

            return types.uint32(keys, types.int64, types.int64, types.int64, types.int64), codegen

        return drop

    def _put_of(lanes):
        @intrinsic
        def put(typingctx, keys, first, a, key_a, b, key_b):
            def codegen(context, builder, signature, args):
                vector = _load(context, builder, signature.args[0], *args[:2], lanes)
                for lane, key in (args[2:4], args[4:]):
                    here = builder.icmp_unsigned("==", _numbers(lanes), _spread(builder, lanes, lane))
                    vector = builder.select(here, _spread(builder, lanes, key), vector)
                _store(context, builder, signature.args[0], *args[:2], lanes, vector)
                return context.get_dummy_value()

            signature = types.void(keys, types.int64, types.int64, types.uint32, types.int64, types.uint32)
            return signature, codegen

        return put

    _drop_few, _drop_many = _drop_of(FEW), _drop_of(MANY)
    _put_few, _put_many = _put_of(FEW), _put_of(MANY)

    @inlined
    def drop_lanes(keys, first, n, a, b, c):
        """Set three keys to ``NO_KEY`` and give the smallest of the others.

        Parameters
        ----------
        keys : uint32[first + 64]
        first : int64
            Place of lane 0.
        n : int64
            Lanes in use: 16 are looked at when ``n <= 16``, else 64.
        a, b, c : int64
            Lanes; those outside are left out.

        Returns
        -------
        uint32
        """
        if n <= FEW:
            return _drop_few(keys, first, a, b, c)
        return _drop_many(keys, first, a, b, c)

    @inlined
    def put_lanes(keys, first, n, a, key_a, b, key_b):
        """Write two keys.

        Parameters
        ----------
        keys, first, n : uint32[first + 64], int64, int64
            As in :func:`drop_lanes`.
        a, key_a, b, key_b : int64, uint32, int64, uint32
            Lanes and their keys; lanes outside are left out.
        """
        if n <= FEW:
            _put_few(keys, first, a, key_a, b, key_b)
        else:
            _put_many(keys, first, a, key_a, b, key_b)

    @intrinsic
    def start_few(typingctx, pair_merges, low, high, n, symbols, first_symbol, keys, first_key):
        """Symbols, their neighbours and keys of up to 16 bytes.

        Parameters
        ----------
        pair_merges : int32[65536]
        low, high : uint64
            The bytes, little-endian, zero-padded.
        n : int64
        symbols, first_symbol : int32[first_symbol + 3 * ROW], int64
            Three rows are written: symbol, symbol after the pair that starts here, symbol before.
        keys, first_key : uint32[first_key + 16], int64
            Written: ``merge number << 6 | lane``, or a number above all of those.

        Returns
        -------
        uint32
            The smallest key.
        """

        def codegen(context, builder, signature, args):
            table, low, high, count, symbols, first_symbol, keys, first_key = args
            merges_type, symbols_type, keys_type = signature.args[0], signature.args[4], signature.args[6]
            words = ir.Constant(ir.VectorType(_i64, 2), ir.Undefined)
            words = builder.insert_element(words, low, ir.Constant(_i32, 0))
            words = builder.insert_element(words, high, ir.Constant(_i32, 1))
            here = builder.zext(builder.bitcast(words, ir.VectorType(_i8, FEW)), _vector(FEW))
            zeros = _constant(FEW, 0)

            def shifted(by):
                picks = [ir.Constant(_i32, lane + by if 0 <= lane + by < FEW else FEW) for lane in range(FEW)]
                return builder.shuffle_vector(here, zeros, ir.Constant(_vector(FEW), picks))

            numbers, nothing = _numbers(FEW), _constant(FEW, NO_SYMBOL)
            length = _spread(builder, FEW, count)
            has_after = builder.icmp_signed("<", numbers, builder.sub(length, _constant(FEW, 2)))
            has_before = builder.icmp_signed(">", numbers, zeros)
            after = builder.select(has_after, shifted(2), nothing)
            before = builder.select(has_before, shifted(-1), nothing)
            for row, vector in enumerate((here, after, before)):
                place = builder.add(first_symbol, _word(row * ROW))
                _store(context, builder, symbols_type, symbols, place, FEW, vector)

            swapped = [
                builder.bswap(word)
                for word in (low, builder.or_(builder.lshr(low, _word(56)), builder.shl(high, _word(8))), high)
            ]
            merges = ir.Constant(_vector(FEW), ir.Undefined)
            for lane in range(FEW - 1):
                # two neighbouring bytes, the first one above: from bytes 0-7, 7-14 or 8-15
                word, place = divmod(lane, 7) if lane < 14 else (2, 6)
                at = builder.and_(builder.lshr(swapped[word], _word(48 - 8 * place)), _word(0xFFFF))
                merge = builder.load(_element_pointer(context, builder, merges_type, table, at))
                merges = builder.insert_element(merges, merge, ir.Constant(_i32, lane))
            is_pair = builder.icmp_signed("<", numbers, builder.sub(length, _constant(FEW, 1)))
            found = builder.or_(builder.shl(merges, _constant(FEW, 6)), numbers)
            found = builder.select(is_pair, found, _constant(FEW, -1))
            _store(context, builder, keys_type, keys, first_key, FEW, found)
            return _smallest(builder, FEW, found)

        signature = types.uint32(
            pair_merges, types.uint64, types.uint64, types.int64, symbols, types.int64, keys, types.int64
        )
        return signature, codegen

else:

    @kernel
    def drop_lanes(keys, first, n, a, b, c):
        """Set the keys of lanes ``a``, ``b``, ``c`` to ``NO_KEY`` and give the smallest of the others.

        Lane 0 is ``keys[first]``; 16 lanes are looked at when ``n <= 16``, else 64.
        """
        best = NO_KEY
        for lane in range(FEW if n <= FEW else MANY):
            if lane in (a, b, c):
                keys[first + lane] = NO_KEY
            best = min(best, keys[first + lane])
        return best

    @kernel
    def put_lanes(keys, first, n, a, key_a, b, key_b):
        """Write ``key_a`` to lane ``a`` and ``key_b`` to lane ``b``; lanes outside are left out.

        Lane 0 is ``keys[first]``; ``n`` lanes are in use, and the others may be written too.
        """
        if 0 <= a < MANY:
            keys[first + a] = key_a
        if 0 <= b < MANY:
            keys[first + b] = key_b
