"""64-bit words: unaligned loads and stores, wrapping arithmetic, bit counts, prefetch, 64-byte window masks.

Everything that needs an LLVM intrinsic lives in this file, in ``lanes.py``, ``float_lanes.py``, ``key_lanes.py``,
``bit_places.py`` and, in ``step``, in ``row_blocks.py``, ``code_blocks.py``, ``word_blocks.py``, ``packed_rows.py`` and
``team.py``, each beside a plain form with the same result. The plain forms serve when the JIT is disabled (Python
integers do not wrap, numpy scalars warn), under ``NUMBA_BOUNDSCHECK=1`` (raw loads would escape the check) and when
``NUMBA_NLP_PLAIN=1`` asks for them.

Twin: ``numba_nlp.reference.words``.
"""

from __future__ import annotations

import os

import numpy as np
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from numba_nlp._jit import kernel

#: True when raw loads, prefetch and window masks are compiled in; False selects the plain forms everywhere.
VECTOR = not (config.DISABLE_JIT or config.BOUNDSCHECK or os.environ.get("NUMBA_NLP_PLAIN", "0") == "1")

_ALL = 0xFFFFFFFFFFFFFFFF
#: Smallest page of the supported processors.
PAGE = 4096
ALL_ONES = np.uint64(_ALL)

if config.DISABLE_JIT:

    def multiply(a, b):
        """``a * b`` of two uint64 modulo 2^64."""
        return np.uint64((int(a) * int(b)) & _ALL)

    def add(a, b):
        """``a + b`` of two uint64 modulo 2^64."""
        return np.uint64((int(a) + int(b)) & _ALL)

    def unlikely(condition):
        """``condition``."""
        return condition

    def all_ones_if_nonzero(a):
        """2^64 - 1 for a uint64 ``a`` other than zero, else 0."""
        return ALL_ONES if a else np.uint64(0)

    def shift_left(a, n):
        """``a << n`` of a uint64 modulo 2^64, for ``0 <= n <= 63``."""
        return np.uint64((int(a) << int(n)) & _ALL)

    def shift_right(a, n):
        """``a >> n`` of a uint64 for ``0 <= n <= 63``."""
        return np.uint64(int(a) >> int(n))

    def trailing_zeros(a):
        """Number of trailing zero bits of the uint64 ``a``; 64 for zero."""
        value = int(a)
        return (value & -value).bit_length() - 1 if value else 64

    def leading_zeros(a):
        """Number of leading zero bits of the uint64 ``a``; 64 for zero."""
        return 64 - int(a).bit_length()

    def popcount(a):
        """Number of set bits of the uint64 ``a``."""
        return int(a).bit_count()

    def load_word(data, position, n):
        """Little-endian word of ``data[position:position + n]``, ``0 <= n <= 8``, zero-padded."""
        return np.uint64(int.from_bytes(bytes(data[position : position + n]), "little"))

else:  # pragma: no cover - compiled only, the plain forms stand above

    @kernel
    def multiply(a, b):
        """``a * b`` of two uint64 modulo 2^64."""
        return np.uint64(a) * np.uint64(b)

    @kernel
    def add(a, b):
        """``a + b`` of two uint64 modulo 2^64."""
        return np.uint64(a) + np.uint64(b)

    @intrinsic
    def unlikely(typingctx, condition):
        """``condition``, and the word that it is rarely true: registers and code are laid out for the other case."""

        def codegen(context, builder, signature, args):
            boolean = ir.IntType(1)
            expect = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(boolean, [boolean, boolean]), "llvm.expect.i1"
            )
            return builder.call(expect, [args[0], ir.Constant(boolean, 0)])

        return types.boolean(types.boolean), codegen

    @intrinsic
    def _spread_nonzero(typingctx, a):
        def codegen(context, builder, signature, args):
            i64 = ir.IntType(64)
            nonzero = builder.icmp_unsigned("!=", args[0], ir.Constant(i64, 0))
            keep = ir.InlineAsm(ir.FunctionType(i64, [i64]), "", "=r,0", side_effect=False)
            return builder.call(keep, [builder.sext(nonzero, i64)])

        return types.uint64(types.uint64), codegen

    @kernel
    def all_ones_if_nonzero(a):
        """2^64 - 1 for a uint64 ``a`` other than zero, else 0; the optimiser cannot turn its uses into branches."""
        return _spread_nonzero(np.uint64(a))

    @kernel
    def shift_left(a, n):
        """``a << n`` of a uint64 modulo 2^64, for ``0 <= n <= 63``."""
        return np.uint64(a) << np.uint64(n)

    @kernel
    def shift_right(a, n):
        """``a >> n`` of a uint64 for ``0 <= n <= 63``."""
        return np.uint64(a) >> np.uint64(n)

    @intrinsic
    def _count_trailing(typingctx, a):
        def codegen(context, builder, signature, args):
            return builder.cttz(args[0], cgutils.false_bit)

        return types.uint64(types.uint64), codegen

    @intrinsic
    def _count_leading(typingctx, a):
        def codegen(context, builder, signature, args):
            return builder.ctlz(args[0], cgutils.false_bit)

        return types.uint64(types.uint64), codegen

    @intrinsic
    def _count_ones(typingctx, a):
        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), codegen

    @kernel
    def popcount(a):
        """Number of set bits of the uint64 ``a``."""
        return np.int64(_count_ones(np.uint64(a)))

    @kernel
    def trailing_zeros(a):
        """Number of trailing zero bits of the uint64 ``a``; 64 for zero."""
        return np.int64(_count_trailing(np.uint64(a)))

    @kernel
    def leading_zeros(a):
        """Number of leading zero bits of the uint64 ``a``; 64 for zero."""
        return np.int64(_count_leading(np.uint64(a)))


def _data_pointer(context, builder, array_type, array):
    if array_type.layout != "C":
        # what follows knows nothing of strides, and would read other elements than those asked for
        raise TypingError(f"kernels take C-contiguous arrays, got {array_type}; use numpy.ascontiguousarray")
    return context.make_array(array_type)(context, builder, array).data


def _element_pointer(context, builder, array_type, array, index):
    """Address of element ``index`` of a contiguous array, no wrap-around, no check."""
    return builder.gep(_data_pointer(context, builder, array_type, array), [index])


if VECTOR:

    @intrinsic
    def raw_load64(typingctx, data, position):
        """Eight bytes of ``uint8`` data at ``position`` as a little-endian uint64, unaligned and unchecked."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            loaded = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
            loaded.align = 1
            return loaded

        return types.uint64(data, types.int64), codegen

    @intrinsic
    def raw_store64(typingctx, ids, position, word):
        """Write a uint64 over elements ``position`` and ``position + 1`` of an int32 array, unchecked."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            stored = builder.store(args[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()))
            stored.align = 1
            return context.get_dummy_value()

        return types.void(ids, types.int64, types.uint64), codegen

    @intrinsic
    def peek(typingctx, array, position):
        """``array[position]`` without the test for a negative position."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            return context.unpack_value(builder, signature.return_type, pointer)

        return array.dtype(array, types.int64), codegen

    @intrinsic
    def poke(typingctx, array, position, value):
        """``array[position] = value`` without the test for a negative position; the types must agree."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            context.pack_value(builder, signature.args[0].dtype, args[2], pointer)
            return context.get_dummy_value()

        return types.void(array, types.int64, array.dtype), codegen

    @intrinsic
    def prefetch(typingctx, array, position):
        """Ask for the cache line of ``array[position]``."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            byte_pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
            i32 = ir.IntType(32)
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [byte_pointer.type, i32, i32, i32]),
                "llvm.prefetch.p0",
            )
            builder.call(function, [byte_pointer, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
            return context.get_dummy_value()

        return types.void(array, types.int64), codegen

    @intrinsic
    def address_of(typingctx, array, position):
        """Address of ``array[position]`` as an integer."""

        def codegen(context, builder, signature, args):
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            return builder.ptrtoint(pointer, ir.IntType(64))

        return types.int64(array, types.int64), codegen

    @intrinsic
    def load_at(typingctx, address):
        """The uint64 at an address."""

        def codegen(context, builder, signature, args):
            word = builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
            word.align = 1
            return word

        return types.uint64(types.int64), codegen

    @intrinsic
    def store_at(typingctx, address, word):
        """Write a uint64 at an address."""

        def codegen(context, builder, signature, args):
            stored = builder.store(args[1], builder.inttoptr(args[0], ir.IntType(64).as_pointer()))
            stored.align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), codegen

    @intrinsic
    def prefetch_at(typingctx, address):
        """Ask for the cache line at an address."""

        def codegen(context, builder, signature, args):
            i32 = ir.IntType(32)
            pointer = builder.inttoptr(args[0], ir.IntType(8).as_pointer())
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32]),
                "llvm.prefetch.p0",
            )
            builder.call(function, [pointer, ir.Constant(i32, 0), ir.Constant(i32, 3), ir.Constant(i32, 1)])
            return context.get_dummy_value()

        return types.void(types.int64), codegen

    @kernel
    def is_readable(data, position, n):
        """Whether ``n`` bytes from ``data[position]`` on can be loaded: they lie in the array or in its last page.

        Memory protection is by pages, so a load that stays inside the page of a byte of the array cannot fault; what
        it reads beyond the array is masked away by the callers.
        """
        return position + n <= data.size or (address_of(data, position) & (PAGE - 1)) <= PAGE - n

    @kernel
    def load_word(data, position, n):
        """Little-endian word of ``data[position:position + n]``, ``0 <= n <= 8``, zero-padded."""
        if n <= 0:
            return np.uint64(0)
        if is_readable(data, position, 8):
            return raw_load64(data, position) & (ALL_ONES >> np.uint64(64 - 8 * n))
        word = np.uint64(0)
        for i in range(n):
            word |= np.uint64(data[position + i]) << np.uint64(8 * i)
        return word

    def window_masks(*classes):
        """Make an intrinsic ``(data, position) -> tuple of uint64``: one bit a byte of a 64-byte window.

        Parameters
        ----------
        *classes : sequence of (low, high)
            Inclusive byte ranges; bit ``i`` of mask ``k`` says that byte ``position + i`` lies in one of the ranges
            of class ``k``.

        Notes
        -----
        Plain LLVM vector IR, so every target lowers it (one compare to a mask register on AVX-512, compare and
        movemask on AVX2 and SSE2). An empty inline-asm barrier holds each mask in a register: without it LLVM pushes
        the bit algebra back into the vector domain, where it is slower.
        """
        n = len(classes)

        @intrinsic
        def masks(typingctx, data, position):
            def codegen(context, builder, signature, args):
                i8, i64 = ir.IntType(8), ir.IntType(64)
                vector = ir.VectorType(i8, 64)
                pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
                window = builder.load(builder.bitcast(pointer, vector.as_pointer()))
                window.align = 1
                keep = ir.InlineAsm(ir.FunctionType(i64, [i64]), "", "=r,0", side_effect=False)

                def splat(value):
                    return ir.Constant(vector, [ir.Constant(i8, value)] * 64)

                words = []
                for ranges in classes:
                    bits = None
                    for low, high in ranges:
                        if low == high:
                            part = builder.icmp_unsigned("==", window, splat(low))
                        elif high == 255:
                            part = builder.icmp_unsigned(">=", window, splat(low))
                        else:
                            part = builder.icmp_unsigned("<=", builder.sub(window, splat(low)), splat(high - low))
                        bits = part if bits is None else builder.or_(bits, part)
                    words.append(builder.call(keep, [builder.bitcast(bits, i64)]))
                return context.make_tuple(builder, signature.return_type, words)

            return types.UniTuple(types.uint64, n)(data, types.int64), codegen

        return masks

    @intrinsic
    def equal_mask(typingctx, data, position, byte):
        """Bit ``i`` of the uint64: ``data[position + i]`` is a byte (uint8); for 64 bytes that can be loaded."""

        def codegen(context, builder, signature, args):
            vector = ir.VectorType(ir.IntType(8), 64)
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            window = builder.load(builder.bitcast(pointer, vector.as_pointer()))
            window.align = 1
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), args[2], ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), 64), [ir.Constant(ir.IntType(32), 0)] * 64)
            wanted = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), zeros)
            return builder.bitcast(builder.icmp_unsigned("==", window, wanted), ir.IntType(64))

        return types.uint64(data, types.int64, types.uint8), codegen

    @intrinsic
    def smallest_of_16(typingctx, keys, position):
        """Smallest of ``keys[position:position + 16]`` (uint32)."""

        def codegen(context, builder, signature, args):
            i32 = ir.IntType(32)
            vector = ir.VectorType(i32, 16)
            pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
            loaded = builder.load(builder.bitcast(pointer, vector.as_pointer()))
            loaded.align = 4
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(i32, [vector]), "llvm.vector.reduce.umin.v16i32"
            )
            return builder.call(function, [loaded])

        return types.uint32(keys, types.int64), codegen

else:
    if not config.DISABLE_JIT:  # pragma: no cover - compiled only, the form without the JIT stands above

        @kernel
        def load_word(data, position, n):
            """Little-endian word of ``data[position:position + n]``, ``0 <= n <= 8``, zero-padded."""
            word = np.uint64(0)
            for i in range(n):
                word |= np.uint64(data[position + i]) << np.uint64(8 * i)
            return word

    @kernel
    def raw_load64(data, position):
        """Eight bytes of ``data`` (uint8) at ``position`` as a little-endian uint64."""
        return load_word(data, position, 8)

    @kernel
    def raw_store64(ids, position, word):
        """Write the halves of ``word`` (uint64), both below 2^31, to ``ids[position:position + 2]`` (int32)."""
        ids[position] = np.int32(word & np.uint64(0xFFFFFFFF))
        ids[position + 1] = np.int32(shift_right(word, 32))

    @kernel
    def is_readable(data, position, n):
        """Whether ``n`` bytes from ``data[position]`` on lie in the array."""
        return position + n <= data.size

    @kernel
    def peek(array, position):
        """``array[position]``."""
        return array[position]

    @kernel
    def poke(array, position, value):
        """``array[position] = value``."""
        array[position] = value

    @kernel
    def prefetch(array, position):
        """Nothing: the plain form has no prefetch of ``array[position]``."""
        return

    @kernel
    def smallest_of_16(keys, position):
        """Smallest of ``keys[position:position + 16]`` (uint32)."""
        best = keys[position]
        for i in range(1, 16):
            if keys[position + i] < best:
                best = keys[position + i]
        return best
