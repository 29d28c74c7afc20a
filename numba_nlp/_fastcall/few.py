"""A few short texts in one call: what a batch of them costs is mostly its call.

Threads, chunks and locks cost 40 us, in which hundreds of words are encoded. So a short list of short texts is encoded
text by text as single ones are, while the interpreter waits as it does for one of them.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._fastcall.control import FEW_ENDS, FEW_IDS, FEW_ROOM, SINGLE_LIMIT, SINGLE_PLACES
from numba_nlp._fastcall.single import (
    NUMPY_INT32,
    block_of,
    copy_found,
    empty_array,
    encode_located,
    locate,
    none,
)
from numba_nlp._fastcall.values import FIRST, array_at, load, python_call
from numba_nlp._jit import native

__all__ = ["MOST_FEW", "encode_few"]

#: Most texts of a call.
MOST_FEW = 256
NUMPY_INT64 = np.dtype(np.int64).num

_tuple_size = python_call("PyTuple_Size", 1)
_tuple_item = python_call("PyTuple_GetItem", 2)
_new_tuple = python_call("PyTuple_New", 1)
_enter = python_call("PyTuple_SetItem", 3)
_let_go = python_call("Py_DecRef", 1)


@native("int64(int64, int64)")
def encode_few(holder, texts):
    """Encode up to ``MOST_FEW`` texts: a C function of the interpreter, one behind ``METH_O``.

    Parameters
    ----------
    holder : int
        Address of a :class:`numba_nlp._fastcall.interpreter.Holder`.
    texts : int
        Address of a tuple.

    Returns
    -------
    int
        Address of a new tuple: ids int32[m] and offsets int64[texts + 1], or of None, which leaves the texts to the
        plain way: one of them as :func:`numba_nlp._fastcall.single.find_ids` does, or all together are too long. 0 with
        an error set.
    """
    block = block_of(holder)
    n = _tuple_size(texts)
    if n > MOST_FEW:
        return none(block)
    size = np.int64(0)
    for i in range(n):
        if locate(block, _tuple_item(texts, i)) == 0:
            return none(block)
        size += load(load(block + 8 * SINGLE_PLACES))
    if size > SINGLE_LIMIT:
        return none(block)
    ends = array_at(load(block + 8 * FEW_ENDS), MOST_FEW, np.int64)
    room = load(block + 8 * FEW_ROOM)
    ids = array_at(load(block + 8 * FEW_IDS), room, np.int32)
    filled = np.int64(0)
    for i in range(n):
        found = encode_located(block, locate(block, _tuple_item(texts, i)))
        if found < 0 or filled + found > room:
            return none(block)
        copy_found(block, found, ids[filled:])
        filled += found
        ends[i] = filled
    values = empty_array(block, filled, NUMPY_INT32)
    if values == 0:
        return np.int64(0)
    offsets = empty_array(block, n + 1, NUMPY_INT64)
    if offsets == 0:
        _let_go(values)
        return np.int64(0)
    target = array_at(load(values + FIRST), filled, np.int32)
    for i in range(filled):
        target[i] = ids[i]
    bounds = array_at(load(offsets + FIRST), n + 1, np.int64)
    bounds[0] = 0
    for i in range(n):
        bounds[i + 1] = ends[i]
    made = _new_tuple(2)
    if made == 0:
        _let_go(values)
        _let_go(offsets)
        return np.int64(0)
    _enter(made, 0, values)
    _enter(made, 1, offsets)
    return made
