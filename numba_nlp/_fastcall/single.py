"""One ``str`` to one numpy array, without anything of Python in between."""

from __future__ import annotations

import numpy as np
from numba.core import types

from numba_nlp._fastcall.control import (
    ARRAY_TYPE,
    AS_UTF8,
    CLEAR_ERROR,
    ENCODE_ROWS,
    ID_TABLE,
    LEFT_ALONE,
    NEW_ARRAY,
    NEW_REFERENCE,
    NONE,
    SINGLE_IDS,
    SINGLE_LIMIT,
    SINGLE_PLACES,
    SINGLE_ROOM,
    SPECIAL_FIRST,
)
from numba_nlp._fastcall.values import (
    array_at,
    call1,
    call2,
    call9,
    call13,
    load,
    object_address,
    object_at,
    python_object,
)
from numba_nlp._jit import inlined, python_function

__all__ = ["encode_one"]

NUMPY_INT32 = np.dtype(np.int32).num


@python_function(python_object(types.int64, python_object))
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
        None leaves the text to the plain way: it is not a ``str``, not valid Unicode, too long, holds a byte that
        starts a special token, or gives the number ``LEFT_ALONE``.
    """
    places = load(block + 8 * SINGLE_PLACES)
    data_address = call2(load(block + 8 * AS_UTF8), object_address(text), places)
    if data_address == 0:
        call1(load(block + 8 * CLEAR_ERROR), 0)
        return _none(block)
    size = load(places)
    if size > SINGLE_LIMIT:
        return _none(block)
    data = array_at(data_address, size, np.uint8)
    special = array_at(load(block + 8 * SPECIAL_FIRST), 256, np.uint8)
    found = np.uint8(0)
    for i in range(size):
        found |= special[data[i]]
    if found != 0:
        return _none(block)
    slots = array_at(places, 4, np.int64)
    slots[1] = 0  # start of the only row
    slots[0] = size
    slots[2] = 0
    ids = load(block + 8 * SINGLE_IDS)
    n = call13(
        load(block + 8 * ENCODE_ROWS), block, data_address, size, places + 8, places, 0, 0, 0, 1, ids,
        load(block + 8 * SINGLE_ROOM), places + 16, 0,
    )  # fmt: skip
    if n < 0:
        return _none(block)
    source = array_at(ids, n, np.int32)
    left_alone = load(block + 8 * LEFT_ALONE)
    if left_alone >= 0:
        is_there = np.int64(0)
        for i in range(n):
            is_there |= np.int64(source[i] == left_alone)
        if is_there != 0:
            return _none(block)
    slots[0] = n
    made = call9(load(block + 8 * NEW_ARRAY), load(block + 8 * ARRAY_TYPE), 1, places, NUMPY_INT32, 0, 0, 0, 0, 0)
    if made != 0:
        # the data pointer follows the object header (reference count and type)
        target = array_at(load(made + 16), n, np.int32)
        table_address = load(block + 8 * ID_TABLE)
        if table_address == 0:
            for i in range(n):
                target[i] = source[i]
        else:
            # longer than any number, which is all that is known here
            table = array_at(table_address, 1 << 31, np.int32)
            for i in range(n):
                target[i] = table[source[i]]
    return object_at(made)


@inlined
def _none(block):
    """A new reference to None."""
    call1(load(block + 8 * NEW_REFERENCE), load(block + 8 * NONE))
    return object_at(load(block + 8 * NONE))
