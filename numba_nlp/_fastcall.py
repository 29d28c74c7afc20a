"""The one room that goes around Numba's dispatcher: addresses, Python objects, numpy's C interface.

Why: a kernel call through the dispatcher costs about 4 us with a tuple of arrays and more with a ``str``, which is
ten times what encoding a short sentence takes. Here

* the arrays of a tokenizer are reached through one *control block*, an int64 array of addresses and lengths;
* :data:`ROWS` encodes rows with the GIL released, called through ``ctypes`` with that block;
* :func:`encode_one` takes a ``str`` object and gives back a numpy array, made by numpy's own C function;
* a pre-token that is not in the cache is encoded by :data:`encode_unseen_at`, which is compiled once and called through
  its address by the row encoders of all patterns: the hot loops stay small, and nothing is compiled twice.

Everything here has a plain way beside it (``numba_nlp/_encoder.py``) with the same results; ``AVAILABLE`` says
whether this room works on the running interpreter, tested once on import. It does not with the JIT disabled, under
``NUMBA_BOUNDSCHECK=1`` or ``NUMBA_NLP_PLAIN=1``, on interpreters other than CPython, and without a GIL.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import OpaqueModel
from numba.extending import NativeValue, box, intrinsic, register_model, unbox
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from numba_nlp._jit import inlined, native, python_function
from numba_nlp.kernels.segment.bpe import FILLS, encode_unseen, rows_function
from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables, Scratch
from numba_nlp.kernels.tables.word_cache import WordCache
from numba_nlp.kernels.words import VECTOR

__all__ = ["AVAILABLE", "ROWS", "SINGLE_LIMIT", "ControlBlock", "encode_one", "gather_strings", "locate_strings"]

#: Longest text, in UTF-8 bytes, that :func:`encode_one` takes.
SINGLE_LIMIT = 1 << 14

# --- the control block -----------------------------------------------------------------------------------------
# Addresses of functions and objects, then address and length of each array of the tables, the cache and the scratch.
_ENCODE_ROWS, _ENCODE_UNSEEN, _AS_UTF8, _CLEAR_ERROR, _NEW_REFERENCE, _NONE, _TUPLE_ITEM = range(7)
_NEW_ARRAY, _ARRAY_TYPE, _SPECIAL_FIRST, _SINGLE_IDS, _SINGLE_PLACES, _SINGLE_SHAPE = range(7, 13)
_TABLES = 16
_CACHE = _TABLES + 2 * len(ByteBpeTables._fields)
_SCRATCH = _CACHE + 2 * len(WordCache._fields)
_SIZE = _SCRATCH + 2 * len(Scratch._fields)

#: Places of PyArray_Type and PyArray_New in numpy's table of C functions; fixed by numpy's binary interface.
_NUMPY_ARRAY_TYPE, _NUMPY_NEW_ARRAY = 2, 93
_NUMPY_INT32 = np.dtype(np.int32).num


def _numpy_functions() -> Any:
    """Table of numpy's C functions, as an array of addresses."""
    from numpy._core import multiarray

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def _python_function_address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


class ControlBlock:
    """Addresses of everything that one thread needs to encode; keeps the arrays alive.

    Parameters
    ----------
    pattern : str
        Key of :data:`ROWS`.
    tables, cache, scratch : ByteBpeTables, WordCache, Scratch
    special_first : uint8[256]
        Nonzero for the bytes that a special token may start with; a text with such a byte is left to the plain way.
    """

    __slots__ = ("_kept", "_scratch", "block", "call_rows")

    def __init__(
        self, pattern: str, tables: ByteBpeTables, cache: WordCache, scratch: Scratch, special_first: NDArray[np.uint8]
    ) -> None:
        self.call_rows = ROWS[pattern].call
        block = np.zeros(_SIZE, np.int64)
        single_ids = np.zeros(SINGLE_LIMIT + 8, np.int32)
        single_places = np.zeros(4, np.int64)
        numpy_functions = _numpy_functions()
        block[_ENCODE_ROWS] = ROWS[pattern].address
        block[_ENCODE_UNSEEN] = encode_unseen_at.address
        block[_AS_UTF8] = _python_function_address("PyUnicode_AsUTF8AndSize")
        block[_CLEAR_ERROR] = _python_function_address("PyErr_Clear")
        block[_NEW_REFERENCE] = _python_function_address("Py_IncRef")
        block[_TUPLE_ITEM] = _python_function_address("PyTuple_GetItem")
        block[_NONE] = id(None)
        block[_NEW_ARRAY] = numpy_functions[_NUMPY_NEW_ARRAY]
        block[_ARRAY_TYPE] = numpy_functions[_NUMPY_ARRAY_TYPE]
        block[_SPECIAL_FIRST] = special_first.ctypes.data
        block[_SINGLE_IDS] = single_ids.ctypes.data
        block[_SINGLE_PLACES] = single_places.ctypes.data
        self.block = block
        self._kept = (special_first, single_ids, single_places, tables, cache)
        self._enter(_TABLES, tables)
        self._enter(_CACHE, cache)
        self.set_scratch(scratch)

    def _enter(self, first: int, arrays: tuple[Any, ...]) -> None:
        for i, array in enumerate(arrays):
            self.block[first + 2 * i] = array.ctypes.data
            self.block[first + 2 * i + 1] = array.size

    def set_scratch(self, scratch: Scratch) -> None:
        """Use other scratch memory from now on; what was used before may be freed."""
        self._enter(_SCRATCH, scratch)
        self._scratch = scratch

    @property
    def address(self) -> int:
        """Address of the block, which :func:`encode_one` takes."""
        return int(self.block.ctypes.data)


# --- intrinsics ------------------------------------------------------------------------------------------------


@intrinsic
def _array_at(typingctx, address, size, dtype):
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
def _load(typingctx, address):
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


_call1 = _make_call(1)
_call2 = _make_call(2)
_call9 = _make_call(9)
_call12 = _make_call(12)


class _ObjectType(types.Type):
    """A Python object as a bare pointer: borrowed on the way in, a new reference on the way out."""

    def __init__(self) -> None:
        super().__init__(name="numba_nlp_object")


_object = _ObjectType()
register_model(_ObjectType)(OpaqueModel)


@unbox(_ObjectType)
def _unbox_object(typ, obj, c):
    return NativeValue(obj)


@box(_ObjectType)
def _box_object(typ, value, c):
    return value


@intrinsic
def _object_address(typingctx, value):
    def codegen(context, builder, signature, args):
        return builder.ptrtoint(args[0], ir.IntType(64))

    return types.int64(value), codegen


@intrinsic
def _object_at(typingctx, address):
    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], context.get_value_type(_object))

    return _object(types.int64), codegen


# --- the arrays behind a control block -------------------------------------------------------------------------


def _reader(cls: Any, first: int) -> Any:
    """Compile ``block address -> cls`` for a named tuple of arrays whose fields have the dtypes of its comments."""
    dtypes = _FIELD_TYPES[cls.__name__]
    parts = ", ".join(
        f"_array_at(_load(block + {8 * (first + 2 * i)}), _load(block + {8 * (first + 2 * i) + 8}), {dtype})"
        for i, dtype in enumerate(dtypes)
    )
    namespace: dict[str, Any] = {"cls": cls, "_array_at": _array_at, "_load": _load}
    namespace.update({name: getattr(np, name) for name in set(dtypes)})
    name = f"_read_{cls.__name__}"
    exec(f"def {name}(block):\n    return cls({parts})\n", namespace)  # noqa: S102
    namespace[name].__module__ = __name__
    return inlined(namespace[name])


_FIELD_TYPES = {
    "ByteBpeTables": [
        "uint16",
        "uint8",
        "int32",
        "uint32",
        "uint64",
        "int32",
        "int32",
        "int32",
        "uint8",
        "int64",
        "int64",
    ],
    "WordCache": ["uint64", "uint64", "uint8", "int32", "int64"],
    "Scratch": ["int64", "int64", "uint64", "uint64", "int64", "int64", "uint64", "int64", "int32", "uint32"]
    + ["int32"] * 7
    + ["uint64"] * 2,
}
_read_tables = _reader(ByteBpeTables, _TABLES)
_read_cache = _reader(WordCache, _CACHE)
_read_scratch = _reader(Scratch, _SCRATCH)


# --- encoding --------------------------------------------------------------------------------------------------


@native("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64)")
def encode_unseen_at(block, data_address, data_size, start, n, low, high, home, ids_address):
    """C form of :func:`numba_nlp.kernels.segment.bpe.encode_unseen`; ``ids_address`` is where the ids go."""
    return encode_unseen(
        _read_tables(block),
        _read_cache(block),
        _array_at(data_address, data_size, np.uint8),
        start,
        n,
        np.uint64(low),
        np.uint64(high),
        home,
        _read_scratch(block),
        _array_at(ids_address, n + 4, np.int32),
        0,
    )


@intrinsic
def _address(typingctx, array, position):
    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(builder.gep(data, [args[1]]), ir.IntType(64))

    return types.int64(array, types.int64), codegen


@inlined
def _call_unseen(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Stand-in for ``encode_unseen`` inside the row encoders: calls :data:`encode_unseen_at` through its address."""
    block = scratch.progress[2]
    return _call9(
        _load(block + 8 * _ENCODE_UNSEEN), block, _address(data, 0), data.size, start, n, np.int64(low),
        np.int64(high), home, _address(ids, first),
    )  # fmt: skip


def _make_rows(pattern: str) -> Any:
    """The row encoder of one pattern as a C function."""
    rows = rows_function(pattern, inlined, f"encode_rows_by_address_{pattern}", _call_unseen)
    namespace = {"rows": rows, "np": np, "_array_at": _array_at, "_read_tables": _read_tables}
    namespace |= {"_read_cache": _read_cache, "_read_scratch": _read_scratch}
    name = f"rows_{pattern}"
    exec(  # noqa: S102
        f"""def {name}(block, data, size, starts, ends, fixed, n_fixed, first_row, last_row, ids, offsets, out):
    scratch = _read_scratch(block)
    scratch.progress[2] = block
    return rows(
        _read_tables(block), _read_cache(block), _array_at(data, size, np.uint8),
        _array_at(starts, last_row, np.int64), _array_at(ends, last_row, np.int64),
        _array_at(fixed, n_fixed, np.int32), first_row, last_row, scratch,
        _array_at(ids, size + 4, np.int32), _array_at(offsets, last_row + 1, np.int64), out,
    )
""",
        namespace,
    )
    namespace[name].__module__ = __name__
    return native("int64(" + ", ".join(["int64"] * 12) + ")")(namespace[name])


#: Row encoders by pattern: C functions ``(block, data, size, starts, ends, fixed, n_fixed, first_row, last_row, ids,
#: offsets, out) -> place after the last id, or a negative status``, arrays as addresses;
#: see :func:`numba_nlp.kernels.segment.bpe.encode_rows`.
ROWS: dict[str, Any] = {}


@python_function(_object(types.int64, _object))
def encode_one(block, text):
    """Encode one ``str`` of up to ``SINGLE_LIMIT`` bytes with no special token in it.

    Parameters
    ----------
    block : int
        ``ControlBlock.address``; the caller holds the GIL, so one block serves all threads.
    text : object

    Returns
    -------
    int32[n] or None
        None leaves the text to the plain way: it is not a ``str``, not valid Unicode, too long, or holds a byte that
        starts a special token.
    """
    places = _load(block + 8 * _SINGLE_PLACES)
    data_address = _call2(_load(block + 8 * _AS_UTF8), _object_address(text), places)
    if data_address == 0:
        _call1(_load(block + 8 * _CLEAR_ERROR), 0)
        return _none(block)
    size = _load(places)
    if size > SINGLE_LIMIT:
        return _none(block)
    data = _array_at(data_address, size, np.uint8)
    special = _array_at(_load(block + 8 * _SPECIAL_FIRST), 256, np.uint8)
    found = np.uint8(0)
    for i in range(size):
        found |= special[data[i]]
    if found != 0:
        return _none(block)
    slots = _array_at(places, 4, np.int64)
    slots[1] = 0  # start of the only row
    slots[0] = size
    slots[2] = 0
    ids = _load(block + 8 * _SINGLE_IDS)
    n = _call12(
        _load(block + 8 * _ENCODE_ROWS), block, data_address, size, places + 8, places, 0, 0, 0, 1, ids, places + 16, 0
    )
    if n < 0:
        return _none(block)
    slots[0] = n
    made = _call9(_load(block + 8 * _NEW_ARRAY), _load(block + 8 * _ARRAY_TYPE), 1, places, _NUMPY_INT32, 0, 0, 0, 0, 0)
    if made != 0:
        # the data pointer follows the object header (reference count and type)
        source = _array_at(ids, n, np.int32)
        target = _array_at(_load(made + 16), n, np.int32)
        for i in range(n):
            target[i] = source[i]
    return _object_at(made)


@inlined
def _none(block):
    """A new reference to None."""
    _call1(_load(block + 8 * _NEW_REFERENCE), _load(block + 8 * _NONE))
    return _object_at(_load(block + 8 * _NONE))


# --- gathering -------------------------------------------------------------------------------------------------


@python_function(types.int64(types.int64, _object, types.int64, types.int64, types.int64))
def _measure(block, items, n, pointers, offsets):
    """Address and end of the UTF-8 form of each ``str`` of a tuple; -1, or the number of the first that has none."""
    addresses = _array_at(pointers, n, np.int64)
    ends = _array_at(offsets, n + 1, np.int64)
    total = 0
    ends[0] = 0
    for i in range(n):
        item = _call2(_load(block + 8 * _TUPLE_ITEM), _object_address(items), i)
        address = _call2(_load(block + 8 * _AS_UTF8), item, block + 8 * _SINGLE_SHAPE)
        if address == 0:
            _call1(_load(block + 8 * _CLEAR_ERROR), 0)
            return i
        addresses[i] = address
        total += _load(block + 8 * _SINGLE_SHAPE)
        ends[i + 1] = total
    return -1


@native("void(int64, int64, int64, int64)")
def _copy(pointers, offsets, n, out):
    """Copy the measured strings into one buffer."""
    addresses = _array_at(pointers, n, np.int64)
    ends = _array_at(offsets, n + 1, np.int64)
    for i in range(n):
        size = ends[i + 1] - ends[i]
        source = _array_at(addresses[i], size, np.uint8)
        target = _array_at(out + ends[i], size, np.uint8)
        for k in range(size):
            target[k] = source[k]


@python_function(types.int64(types.int64, _object, types.int64, types.int64, types.int64, types.int64, types.int64))
def _locate(block, items, n, starts_address, ends_address, watched_address, n_watched):
    """Address of each ``str`` of a tuple in UTF-8 and of its end; -1, or the first that has none or a watched byte."""
    starts = _array_at(starts_address, n, np.int64)
    ends = _array_at(ends_address, n, np.int64)
    watched = _array_at(watched_address, n_watched, np.uint8)
    for i in range(n):
        item = _call2(_load(block + 8 * _TUPLE_ITEM), _object_address(items), i)
        address = _call2(_load(block + 8 * _AS_UTF8), item, block + 8 * _SINGLE_SHAPE)
        if address == 0:
            _call1(_load(block + 8 * _CLEAR_ERROR), 0)
            return i
        size = _load(block + 8 * _SINGLE_SHAPE)
        text = _array_at(address, size, np.uint8)
        for w in range(n_watched):
            wanted = watched[w]
            found = np.uint8(0)
            for k in range(size):
                found |= np.uint8(text[k] == wanted)
            if found != 0:
                return i
        starts[i] = address
        ends[i] = address + size
    return -1


def locate_strings(items: tuple[Any, ...], watched: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Where CPython keeps the UTF-8 form of each ``str``, so that rows can be encoded without copying them.

    Parameters
    ----------
    items : tuple
        Must be kept alive as long as the addresses are used.
    watched : bytes
        A row with one of these bytes gives None.

    Returns
    -------
    starts, ends : int64[rows], int64[rows], or None
        Addresses. None when an item is no ``str``, is not valid Unicode, or holds a watched byte.
    """
    n = len(items)
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    bytes_watched = np.frombuffer(watched + b"\0", np.uint8)
    places = starts.ctypes.data, ends.ctypes.data, bytes_watched.ctypes.data
    if _locate.call(_GATHER.ctypes.data, items, n, *places, len(watched)) >= 0:
        return None
    return starts, ends


def gather_strings(items: tuple[Any, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
    """Copy the UTF-8 form of each ``str`` into one buffer.

    Parameters
    ----------
    items : tuple
        A tuple, which nobody can change meanwhile.

    Returns
    -------
    data, offsets : uint8[n], int64[rows + 1], or None
        None when an item is no ``str`` or not valid Unicode.

    Notes
    -----
    CPython keeps the UTF-8 form that it makes of a string beyond ASCII, as it does for every C extension that asks.
    """
    n = len(items)
    pointers = np.empty(n, np.int64)
    offsets = np.empty(n + 1, np.int64)
    if _measure.call(_GATHER.ctypes.data, items, n, pointers.ctypes.data, offsets.ctypes.data) >= 0:
        return None
    data = np.empty(int(offsets[n]), np.uint8)
    _copy.call(pointers.ctypes.data, offsets.ctypes.data, n, data.ctypes.data)
    data.flags.writeable = False
    offsets.flags.writeable = False
    return data, offsets


def _gather_block() -> NDArray[np.int64]:
    block = np.zeros(_TABLES, np.int64)
    block[_AS_UTF8] = _python_function_address("PyUnicode_AsUTF8AndSize")
    block[_CLEAR_ERROR] = _python_function_address("PyErr_Clear")
    block[_TUPLE_ITEM] = _python_function_address("PyTuple_GetItem")
    return block


def _is_available() -> bool:
    """Whether this interpreter is laid out as the code above expects."""
    if not VECTOR or sys.implementation.name != "cpython" or sys.byteorder != "little":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    try:
        functions = _numpy_functions()
        new = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 2, *[ctypes.c_void_p] * 7)(
            functions[_NUMPY_NEW_ARRAY]
        )
        shape = (ctypes.c_int64 * 1)(3)
        made = new(functions[_NUMPY_ARRAY_TYPE], 1, ctypes.addressof(shape), _NUMPY_INT32, 0, 0, 0, 0, 0)
        ok = type(made) is np.ndarray and made.shape == (3,) and made.dtype == np.int32
        ok = ok and ctypes.c_void_p.from_address(id(made) + 16).value == made.ctypes.data
    except Exception as error:
        logging.getLogger(__name__).debug("the fast call path is off: %r", error)
        return False
    if not ok:
        logging.getLogger(__name__).debug("the fast call path is off: numpy's objects have another layout")
    return ok


AVAILABLE = _is_available()
if AVAILABLE:
    _GATHER = _gather_block()
    ROWS.update({pattern: _make_rows(pattern) for pattern in FILLS})
