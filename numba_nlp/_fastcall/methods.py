"""Methods of a class as C functions: a call with one text enters no Python frame.

A method of Python costs 0.2 us here before its first line is done: a frame, and seven arguments with defaults that are
looked at. So :func:`give_method` puts method descriptors into a class, which CPython makes of C functions
(``PyDescr_NewMethod``), in the place of methods in Python that give the same. A call with one argument, and nothing
else, is answered at once where :func:`numba_nlp._fastcall.single.find_ids` has an answer; every other call is one of
the method in Python, with its errors.
"""

from __future__ import annotations

import ctypes
import inspect
from functools import cache
from typing import Any

import numpy as np

from numba_nlp._fastcall.control import COUNT_NAME, ENCODE_NAME, IS_COUNTED
from numba_nlp._fastcall.interpreter import Direct, Holder, has_vector_calls
from numba_nlp._fastcall.single import block_of, encode_one, find_ids, new_array
from numba_nlp._fastcall.values import FIRST, c_text, load, python_call
from numba_nlp._jit import NativeFunction, inlined, native

__all__ = ["bound", "give_method", "text_function"]

#: Kinds of arguments of ``PyMethodDef``: a vector of positional ones, and names of the others; or one.
_METH_FASTCALL_KEYWORDS, _METH_O = 0x80 | 0x02, 0x08

_get = python_call("PyObject_GetAttr", 2)
_get_by_text = python_call("PyObject_GetAttrString", 2)
_call = python_call("PyObject_Vectorcall", 4)
_let_go = python_call("Py_DecRef", 1)
_new_int = python_call("PyLong_FromSsize_t", 1)
_ENCODE, _COUNT = c_text("_encode"), c_text("_count")


@inlined
def _leave(method, arguments, n, names):
    """Call a method in Python, to which the reference is given up; 0, with an error set, stands for none."""
    if method == 0:
        return np.int64(0)
    made = _call(method, arguments, n, names)
    _let_go(method)
    return made


@native("int64(int64, int64, int64, int64)")
def encode_method(owner, arguments, n, names):
    """``Tokenizer.encode`` as C functions take arguments: address of an array, one behind ``METH_FASTCALL``.

    Parameters
    ----------
    owner : int
        Address of a :class:`numba_nlp._fastcall.interpreter.Direct` whose method ``_encode`` does the same.
    arguments, n : int, int
        Address and number of positional arguments.
    names : int
        Address of the tuple of names of the further ones, or 0.

    Returns
    -------
    int
        Address of a new array; 0 with an error set.
    """
    holder = load(owner + FIRST)
    if holder == 0:
        return _leave(_get_by_text(owner, _ENCODE()), arguments, n, names)
    block = block_of(holder)
    if n == 1 and names == 0:
        n_ids = find_ids(block, load(arguments))
        if n_ids >= 0:
            return new_array(block, n_ids)
    return _leave(_get(owner, load(block + 8 * ENCODE_NAME)), arguments, n, names)


@native("int64(int64, int64, int64, int64)")
def count_method(owner, arguments, n, names):
    """``Tokenizer.count`` as :func:`encode_method`; its method in Python is ``_count``."""
    holder = load(owner + FIRST)
    if holder == 0:
        return _leave(_get_by_text(owner, _COUNT()), arguments, n, names)
    block = block_of(holder)
    if n == 1 and names == 0 and load(block + 8 * IS_COUNTED) != 0:
        n_ids = find_ids(block, load(arguments))
        if n_ids >= 0:
            return _new_int(n_ids)
    return _leave(_get(owner, load(block + 8 * COUNT_NAME)), arguments, n, names)


class _Definition(ctypes.Structure):
    """``PyMethodDef``, which is part of the stable interface of CPython."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


#: The interpreter keeps addresses of them.
_DEFINITIONS: list[_Definition] = []
_METHODS = {"encode": encode_method, "count": count_method}


def give_method(owner: type, name: str) -> None:
    """Put one of the methods into a class; compiles it, or loads it from the cache.

    Parameters
    ----------
    owner : type
        A subclass of :class:`numba_nlp._fastcall.interpreter.Direct`. A method that others have replaced stays.
    name : {"encode", "count"}
    """
    if owner.__dict__[name] is owner.__dict__[f"_{name}"]:
        setattr(owner, name, _descriptor(owner, name, _METHODS[name]))


class _Alone(Direct):
    """What has the method alone, without what answers where it has no answer."""

    __slots__ = ()

    def encode(self, text: Any) -> None:
        """Ids of one text, or None."""

    _encode = encode


def text_function(holder: Holder) -> Any:
    """A builtin function ``text -> int32[n] or None``; None leaves the text to the plain way.

    Parameters
    ----------
    holder : Holder
        Kept by the function.
    """
    if not has_vector_calls():
        return bound(encode_one, holder)
    give_method(_Alone, "encode")
    alone = _Alone()
    alone._holder = holder
    return alone.encode


def _descriptor(owner: type, name: str, function: NativeFunction) -> Any:
    method = owner.__dict__[f"_{name}"]
    signature = inspect.signature(method)
    # as C functions tell their signature: without annotations
    others = [each.replace(annotation=each.empty) for each in signature.parameters.values()][1:]
    shown = str(inspect.Signature(others)).replace("(", "($self, ", 1)
    text = f"{name}{shown}\n--\n\n{method.__doc__}"
    definition = _define(name, function, _METH_FASTCALL_KEYWORDS, text)
    new = ctypes.pythonapi.PyDescr_NewMethod
    new.restype, new.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.POINTER(_Definition)]
    return new(owner, ctypes.byref(definition))


def bound(function: NativeFunction, holder: Holder) -> Any:
    """A builtin function of one argument, from a C function behind ``METH_O``.

    Parameters
    ----------
    function : NativeFunction
    holder : Holder
        Its first argument, which the builtin function keeps.
    """
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.POINTER(_Definition), ctypes.py_object, ctypes.c_void_p]
    return new(ctypes.byref(_of_one_argument(function)), holder, None)


@cache
def _of_one_argument(function: NativeFunction) -> _Definition:
    return _define("encode", function, _METH_O, "What a tokenizer calls for text, or None.")


def _define(name: str, function: NativeFunction, flags: int, doc: str) -> _Definition:
    definition = _Definition(name.encode(), function.address, flags, doc.encode())
    _DEFINITIONS.append(definition)
    return definition
