"""Whether the running interpreter and numpy are laid out as the fast calls expect."""

from __future__ import annotations

import ctypes
import logging
import sys

import numpy as np
from numpy.typing import NDArray

from numba_nlp._fastcall.control import NUMPY_ARRAY_TYPE, NUMPY_NEW_ARRAY, numpy_functions
from numba_nlp._fastcall.values import FIRST
from numba_nlp.kernels.words import VECTOR

__all__ = ["Direct", "Holder", "has_vector_calls", "is_available"]

NUMPY_INT32 = np.dtype(np.int32).num


class Holder:
    """What owns the array of a control block, and all that the block has addresses of; ``block`` is its first slot."""

    __slots__ = ("block",)

    block: NDArray[np.int64] | None


class Direct:
    """What has methods in C; its first slot is the holder of what they work with, and empty before there is one."""

    __slots__ = ("_holder",)

    _holder: Holder


def has_vector_calls() -> bool:
    """Whether C functions can call methods in Python as the interpreter does: since CPython 3.11."""
    return hasattr(ctypes.pythonapi, "PyObject_Vectorcall")


def is_available() -> bool:
    """Whether this interpreter is laid out as the code above expects."""
    if not VECTOR or sys.implementation.name != "cpython" or sys.byteorder != "little":
        return False
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    try:
        functions = numpy_functions()
        new = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 2, *[ctypes.c_void_p] * 7)(
            functions[NUMPY_NEW_ARRAY]
        )
        shape = (ctypes.c_int64 * 1)(3)
        made = new(functions[NUMPY_ARRAY_TYPE], 1, ctypes.addressof(shape), NUMPY_INT32, 0, 0, 0, 0, 0)
        ok = type(made) is np.ndarray and made.shape == (3,) and made.dtype == np.int32
        ok = ok and ctypes.c_void_p.from_address(id(made) + FIRST).value == made.ctypes.data
        holder, direct = Holder(), Direct()
        holder.block, direct._holder = made, holder
        for one, first in ((holder, made), (direct, holder)):
            ok = ok and ctypes.c_void_p.from_address(id(one) + FIRST).value == id(first)
    except (AttributeError, ImportError, OSError, TypeError, ValueError) as error:
        logging.getLogger(__name__).debug("the fast call path is off: %r", error)
        return False
    if not ok:
        logging.getLogger(__name__).debug("the fast call path is off: objects have another layout")
    return ok
