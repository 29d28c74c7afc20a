"""One ``str`` to one numpy array, without anything of Python in between."""

from __future__ import annotations

import numpy as np

from numba_nlp._fastcall.control import (
    ARRAY_TYPE,
    AS_UTF8,
    CLEAR_ERROR,
    ENCODE_ROWS,
    ID_TABLE,
    LEFT_ALONE,
    N_TOKENS,
    N_WATCHED,
    NEW_ARRAY,
    NEW_REFERENCE,
    NONE,
    SINGLE_IDS,
    SINGLE_LIMIT,
    SINGLE_PLACES,
    SINGLE_ROOM,
    WATCHED,
    WATCHED_BYTES,
    WATCHED_OFFSETS,
    WATCHED_PAIRS,
    WATCHED_TABLE,
)
from numba_nlp._fastcall.strings import MANY_WATCHED, holds_any, token_at
from numba_nlp._fastcall.values import (
    FIRST,
    array_at,
    call1,
    call2,
    call9,
    call13,
    load,
)
from numba_nlp._jit import inlined, kernel, native

__all__ = [
    "NUMPY_INT32",
    "block_of",
    "copy_found",
    "empty_array",
    "encode_located",
    "encode_one",
    "find_ids",
    "holds_token",
    "locate",
    "new_array",
    "none",
]

NUMPY_INT32 = np.dtype(np.int32).num


@inlined
def holds_token(block, data, size):
    """Whether a token that is watched for stands in a text.

    Parameters
    ----------
    block : int
        ``ControlBlock.address``.
    data : uint8[size]
    size : int
    """
    n_watched = load(block + 8 * N_WATCHED)
    if n_watched == 0:
        return False
    n_tokens = load(block + 8 * N_TOKENS)
    offsets = array_at(load(block + 8 * WATCHED_OFFSETS), n_tokens + 1, np.int64)
    contents = array_at(load(block + 8 * WATCHED_BYTES), offsets[n_tokens], np.uint8)
    if n_watched <= MANY_WATCHED:
        first_bytes = array_at(load(block + 8 * WATCHED), n_watched, np.uint8)
        pairs = array_at(load(block + 8 * WATCHED_PAIRS), 1024, np.uint64)
        for w in range(n_watched):  # noqa: SIM110  compiled
            if holds_any(data, size, first_bytes[w], pairs, n_tokens, contents, offsets):
                return True
        return False
    table = array_at(load(block + 8 * WATCHED_TABLE), 256, np.uint8)
    found = np.uint8(0)
    for i in range(size):
        found |= table[data[i]]
    if found != 0:
        for i in range(size):
            if table[data[i]] != 0 and token_at(data, size, i, n_tokens, contents, offsets):
                return True
    return False


@inlined
def none(block):
    """A new reference to None."""
    call1(load(block + 8 * NEW_REFERENCE), load(block + 8 * NONE))
    return load(block + 8 * NONE)


@inlined
def block_of(holder):
    """Address of the block that the object at an address holds."""
    return load(load(holder + FIRST) + FIRST)


@inlined
def locate(block, text):
    """Bytes of the UTF-8 form of an object, as :func:`find_ids` takes it, at ``SINGLE_PLACES``; gives its address.

    Parameters
    ----------
    block, text : int, int
        Addresses.

    Returns
    -------
    int64
        0 leaves the text to the plain way: it is not a ``str``, not valid Unicode, too long, or holds a special token.
    """
    places = load(block + 8 * SINGLE_PLACES)
    address = call2(load(block + 8 * AS_UTF8), text, places)
    if address == 0:
        call1(load(block + 8 * CLEAR_ERROR), 0)
        return np.int64(0)
    size = load(places)
    if size > SINGLE_LIMIT or holds_token(block, array_at(address, size, np.uint8), size):
        return np.int64(0)
    return address


@inlined
def encode_located(block, address):
    """Encode the text that :func:`locate` has just found; gives what :func:`find_ids` gives."""
    places = load(block + 8 * SINGLE_PLACES)
    slots = array_at(places, 4, np.int64)
    size = slots[0]
    slots[1] = 0  # start of the only row
    slots[2] = 0
    ids = load(block + 8 * SINGLE_IDS)
    n = call13(
        load(block + 8 * ENCODE_ROWS), block, address, size, places + 8, places, 0, 0, 0, 1, ids,
        load(block + 8 * SINGLE_ROOM), places + 16, 0,
    )  # fmt: skip
    left_alone = load(block + 8 * LEFT_ALONE)
    if n > 0 and left_alone >= 0:
        source = array_at(ids, n, np.int32)
        is_there = np.int64(0)
        for i in range(n):
            is_there |= np.int64(source[i] == left_alone)
        if is_there != 0:
            return np.int64(-1)
    return n


@kernel
def find_ids(block, text):
    """Ids of one ``str`` of up to ``SINGLE_LIMIT`` bytes with no special token in it.

    Parameters
    ----------
    block : int
        ``ControlBlock.address``; the caller holds the GIL, so one block serves all threads.
    text : int
        Address of an object.

    Returns
    -------
    int64
        Number of ids, which lie at ``SINGLE_IDS`` of the block. Negative leaves the text to the plain way: as of
        :func:`locate`, or because it gives the number ``LEFT_ALONE``.
    """
    address = locate(block, text)
    return np.int64(-1) if address == 0 else encode_located(block, address)


@inlined
def copy_found(block, n, target):
    """Write the ids that were found last.

    Parameters
    ----------
    block : int
        ``ControlBlock.address``.
    n : int
        What :func:`find_ids` gave.
    target : int32[n]
    """
    source = array_at(load(block + 8 * SINGLE_IDS), n, np.int32)
    table_address = load(block + 8 * ID_TABLE)
    if table_address == 0:
        for i in range(n):
            target[i] = source[i]
    else:
        # longer than any number, which is all that is known here
        table = array_at(table_address, 1 << 31, np.int32)
        for i in range(n):
            target[i] = table[source[i]]


@inlined
def empty_array(block, n, kind):
    """Address of a new array; 0 with an error set where there is no memory.

    Parameters
    ----------
    block : int
        ``ControlBlock.address``.
    n, kind : int, int
        Elements, and numpy's number of their type.
    """
    places = load(block + 8 * SINGLE_PLACES)
    shape = array_at(places, 4, np.int64)
    shape[0] = n
    return call9(load(block + 8 * NEW_ARRAY), load(block + 8 * ARRAY_TYPE), 1, places, kind, 0, 0, 0, 0, 0)


@inlined
def new_array(block, n):
    """Address of a new array of the ids that were found last; 0 with an error set where there is no memory.

    Parameters
    ----------
    block : int
        ``ControlBlock.address``.
    n : int
        What :func:`find_ids` gave.
    """
    made = empty_array(block, n, NUMPY_INT32)
    if made != 0:
        copy_found(block, n, array_at(load(made + FIRST), n, np.int32))
    return made


@native("int64(int64, int64)")
def encode_one(holder, text):
    """Encode one ``str``: a C function of the interpreter, one behind ``METH_O``.

    Parameters
    ----------
    holder : int
        Address of a :class:`numba_nlp._fastcall.interpreter.Holder`.
    text : int
        Address of an object.

    Returns
    -------
    int
        Address of a new array, or of None where :func:`find_ids` leaves the text to the plain way; 0 with an error set.
    """
    block = block_of(holder)
    n = find_ids(block, text)
    return new_array(block, n) if n >= 0 else none(block)
