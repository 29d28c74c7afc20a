"""Intrinsics: memory at an address as an array, C functions at an address, Python objects as pointers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import OpaqueModel
from numba.extending import NativeValue, box, intrinsic, register_model, unbox
from numba.np.arrayobj import populate_array

__all__ = [
    "FIRST",
    "array_at",
    "c_text",
    "call1",
    "call2",
    "call5",
    "call6",
    "call9",
    "call10",
    "call11",
    "call13",
    "call14",
    "call15",
    "load",
    "object_address",
    "object_at",
    "python_call",
    "python_object",
]

#: Where objects have what is theirs, behind a reference count and a type: arrays the address of their data, others
#: their first slot.
FIRST = 16


@intrinsic
def array_at(typingctx, address, size, dtype):
    """One-dimensional array over ``size`` elements at an address; borrows the memory."""
    array_type = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, signature, args):
        item = context.get_data_type(array_type.dtype)
        item_size = context.get_abi_sizeof(item)
        array = context.make_array(array_type)(context, builder)
        populate_array(
            array,
            data=builder.inttoptr(args[0], array.data.type),
            shape=cgutils.pack_array(builder, [args[1]]),
            strides=cgutils.pack_array(builder, [context.get_constant(types.intp, item_size)]),
            itemsize=context.get_constant(types.intp, item_size),
            meminfo=None,
        )
        return array._getvalue()

    return array_type(types.int64, types.int64, dtype), codegen


@intrinsic
def load(typingctx, address):
    """The int64 at an address."""

    def codegen(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), codegen


def _make_call(n: int) -> Any:
    """Make an intrinsic that calls the C function at an address with ``n`` int64 arguments and an int64 result."""

    def codegen(context, builder, signature, args):
        i64 = ir.IntType(64)
        function_type = ir.FunctionType(i64, [i64] * n)
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), list(args[1:]))

    # Numba reads the number of arguments off the function, so it is written out.
    names = ", ".join(f"a{i}" for i in range(n))
    namespace: dict[str, Any] = {"types": types, "codegen": codegen}
    exec(  # noqa: S102
        f"def call(typingctx, address, {names}):\n    return types.int64(*[types.int64] * {n + 1}), codegen\n",
        namespace,
    )
    return intrinsic(namespace["call"])


call1 = _make_call(1)
call2 = _make_call(2)
call5 = _make_call(5)
call6 = _make_call(6)
call9 = _make_call(9)
call10 = _make_call(10)
call11 = _make_call(11)
call13 = _make_call(13)
call14 = _make_call(14)
call15 = _make_call(15)


class ObjectType(types.Type):
    """A Python object as a bare pointer: borrowed on the way in, a new reference on the way out."""

    def __init__(self) -> None:
        super().__init__(name="numba_nlp_object")


python_object = ObjectType()
register_model(ObjectType)(OpaqueModel)


@unbox(ObjectType)
def _unbox_object(typ, obj, c):
    return NativeValue(obj)


@box(ObjectType)
def _box_object(typ, value, c):
    return value


@intrinsic
def object_address(typingctx, value):
    def codegen(context, builder, signature, args):
        return builder.ptrtoint(args[0], ir.IntType(64))

    return types.int64(value), codegen


@intrinsic
def object_at(typingctx, address):
    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(python_object))

    return python_object(types.int64), codegen


def python_call(name: str, n: int) -> Any:
    """Make an intrinsic that calls a C function of the interpreter by its name.

    Parameters
    ----------
    name : str
    n : int
        Arguments that it takes, addresses and sizes all, as is the result.
    """

    def codegen(context, builder, signature, args):
        i64 = ir.IntType(64)
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(i64, [i64] * n), name)
        return builder.call(function, list(args))

    names = ", ".join(f"a{i}" for i in range(n))
    namespace: dict[str, Any] = {"types": types, "codegen": codegen}
    exec(  # noqa: S102
        f"def call(typingctx, {names}):\n    return types.int64(*[types.int64] * {n}), codegen\n", namespace
    )
    return intrinsic(namespace["call"])


def c_text(text: str) -> Any:
    """Make an intrinsic that gives the address of a text that ends with a zero."""

    @intrinsic
    def address(typingctx):
        def codegen(context, builder, signature, args):
            return builder.ptrtoint(context.insert_const_string(builder.module, text), ir.IntType(64))

        return types.int64(), codegen

    return address
