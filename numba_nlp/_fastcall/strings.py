"""The UTF-8 form of many ``str``: where it lies, or copied into one buffer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from numba_nlp._fastcall.control import AS_UTF8, CLEAR_ERROR, SINGLE_SHAPE, TABLES, TUPLE_ITEM, python_function_address
from numba_nlp._fastcall.values import array_at, call1, call2, load, object_address, python_object
from numba_nlp._jit import native, python_function

__all__ = ["gather_strings", "locate_strings"]


@python_function(types.int64(types.int64, python_object, types.int64, types.int64, types.int64))
def _measure(block, items, n, pointers, offsets):
    """Address and end of the UTF-8 form of each ``str`` of a tuple; -1, or the number of the first that has none."""
    addresses = array_at(pointers, n, np.int64)
    ends = array_at(offsets, n + 1, np.int64)
    total = 0
    ends[0] = 0
    for i in range(n):
        item = call2(load(block + 8 * TUPLE_ITEM), object_address(items), i)
        address = call2(load(block + 8 * AS_UTF8), item, block + 8 * SINGLE_SHAPE)
        if address == 0:
            call1(load(block + 8 * CLEAR_ERROR), 0)
            return i
        addresses[i] = address
        total += load(block + 8 * SINGLE_SHAPE)
        ends[i + 1] = total
    return -1


@native("void(int64, int64, int64, int64)")
def _copy(pointers, offsets, n, out):
    """Copy the measured strings into one buffer."""
    addresses = array_at(pointers, n, np.int64)
    ends = array_at(offsets, n + 1, np.int64)
    for i in range(n):
        size = ends[i + 1] - ends[i]
        source = array_at(addresses[i], size, np.uint8)
        target = array_at(out + ends[i], size, np.uint8)
        for k in range(size):
            target[k] = source[k]


@python_function(
    types.int64(types.int64, python_object, types.int64, types.int64, types.int64, types.int64, types.int64)
)
def _locate(block, items, n, starts_address, ends_address, watched_address, n_watched):
    """Address of each ``str`` of a tuple in UTF-8 and of its end; -1, or the first that has none or a watched byte."""
    starts = array_at(starts_address, n, np.int64)
    ends = array_at(ends_address, n, np.int64)
    watched = array_at(watched_address, n_watched, np.uint8)
    for i in range(n):
        item = call2(load(block + 8 * TUPLE_ITEM), object_address(items), i)
        address = call2(load(block + 8 * AS_UTF8), item, block + 8 * SINGLE_SHAPE)
        if address == 0:
            call1(load(block + 8 * CLEAR_ERROR), 0)
            return i
        size = load(block + 8 * SINGLE_SHAPE)
        text = array_at(address, size, np.uint8)
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
    if _locate.call(_gather_block().ctypes.data, items, n, *places, len(watched)) >= 0:
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
    if _measure.call(_gather_block().ctypes.data, items, n, pointers.ctypes.data, offsets.ctypes.data) >= 0:
        return None
    data = np.empty(int(offsets[n]), np.uint8)
    _copy.call(pointers.ctypes.data, offsets.ctypes.data, n, data.ctypes.data)
    data.flags.writeable = False
    offsets.flags.writeable = False
    return data, offsets


@cache
def _gather_block() -> NDArray[np.int64]:
    """A control block with what is needed here."""
    block = np.zeros(TABLES, np.int64)
    block[AS_UTF8] = python_function_address("PyUnicode_AsUTF8AndSize")
    block[CLEAR_ERROR] = python_function_address("PyErr_Clear")
    block[TUPLE_ITEM] = python_function_address("PyTuple_GetItem")
    return block
