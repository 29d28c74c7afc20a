"""The UTF-8 form of many ``str``: where it lies, or copied into one buffer."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from numba_nlp._fastcall.control import (
    AS_UTF8,
    CLEAR_ERROR,
    SINGLE_SHAPE,
    TABLES,
    TUPLE_ITEM,
    python_function_address,
)
from numba_nlp._fastcall.values import array_at, call1, call2, load, object_address, python_object
from numba_nlp._jit import inlined, native, python_function
from numba_nlp.kernels.words import (
    ALL_ONES,
    VECTOR,
    is_readable,
    shift_left,
    shift_right,
    trailing_zeros,
    unlikely,
)

if VECTOR:
    from numba_nlp.kernels.words import equal_mask

__all__ = [
    "MANY_WATCHED",
    "NOTHING_WATCHED",
    "Watched",
    "bytes_at",
    "gather_strings",
    "holds_any",
    "locate_strings",
    "token_at",
    "watch_tokens",
]


#: Most bytes, with which tokens start, that are looked for one after the other.
MANY_WATCHED = 4


def bytes_at(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Copy what lies between addresses.

    Parameters
    ----------
    starts, ends : int64[k]
        Addresses, as :func:`locate_strings` writes them; the objects there must be kept.

    Returns
    -------
    data, offsets : uint8[n], int64[k + 1]
    """
    lengths = ends - starts
    texts = [ctypes.string_at(start, n) for start, n in zip(starts.tolist(), lengths.tolist(), strict=True)]
    return np.frombuffer(b"".join(texts), np.uint8), np.concatenate(([0], np.cumsum(lengths)))


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


@inlined
def token_at(text, size, k, n_tokens, token_bytes, token_offsets):
    """Whether one of some tokens stands at place ``k`` of a text."""
    for token in range(n_tokens):
        start = token_offsets[token]
        n = token_offsets[token + 1] - start
        if n <= size - k:
            same = np.int64(0)
            while same < n and token_bytes[start + same] == text[k + same]:
                same += 1
            if same == n:
                return True
    return False


@inlined
def _may_begin(pairs, text, size, k):
    """Whether some token begins with the two bytes at place ``k``, or with the last byte of the text."""
    if k + 1 >= size:
        return True
    pair = np.int64(text[k]) << 8 | np.int64(text[k + 1])
    return shift_right(pairs[pair >> 6], pair & 63) & np.uint64(1) != np.uint64(0)


@inlined
def holds_any(text, size, first, pairs, n_tokens, token_bytes, token_offsets):
    """Whether one of some tokens stands in a text; ``first`` is the byte that it is to start with."""
    for block in range(0, size, 64):
        n = min(size - block, 64)
        if is_readable(text, block, 64):
            hits = equal_mask(text, block, first) & shift_right(ALL_ONES, 64 - n)
        else:
            hits = np.uint64(0)
            for k in range(n):
                hits |= shift_left(np.uint64(text[block + k] == first), k)
        while unlikely(hits != np.uint64(0)):
            place = block + trailing_zeros(hits)
            if _may_begin(pairs, text, size, place) and token_at(
                text, size, place, n_tokens, token_bytes, token_offsets
            ):
                return True
            hits &= hits - np.uint64(1)
    return False


@python_function(types.int64(types.int64, python_object, *[types.int64] * 11))
def _locate(
    block, items, first, n, limit, starts_address, ends_address, watched_address, n_watched, pairs_address, tokens,
    offsets, n_tokens,
):  # fmt: skip
    """Address of each ``str`` of a tuple in UTF-8 and of its end, from the one with number ``first`` on.

    Gives the number of those that were located: all, or as many as have ``limit`` bytes, at least one. ``-1 - i`` when
    the one with number ``i`` has no such form or holds a token.
    """
    starts = array_at(starts_address, n, np.int64)
    ends = array_at(ends_address, n, np.int64)
    watched = array_at(watched_address, n_watched, np.uint8)
    pairs = array_at(pairs_address, 1024, np.uint64)
    token_offsets = array_at(offsets, n_tokens + 1, np.int64)
    token_bytes = array_at(tokens, token_offsets[n_tokens], np.uint8)
    total = 0
    for i in range(n):
        item = call2(load(block + 8 * TUPLE_ITEM), object_address(items), first + i)
        address = call2(load(block + 8 * AS_UTF8), item, block + 8 * SINGLE_SHAPE)
        if address == 0:
            call1(load(block + 8 * CLEAR_ERROR), 0)
            return -1 - i
        size = load(block + 8 * SINGLE_SHAPE)
        total += size
        if i > 0 and total > limit:
            return i
        text = array_at(address, size, np.uint8)
        for w in range(n_watched):
            if holds_any(text, size, watched[w], pairs, n_tokens, token_bytes, token_offsets):
                return -1 - i
        starts[i] = address
        ends[i] = address + size
    return n


class Watched(NamedTuple):
    """Tokens that no text may hold.

    Parameters
    ----------
    first_bytes : uint8[m]
        The bytes that they start with.
    pairs : uint64[1024]
        A bit for each pair of bytes, set when some token may begin with it: tokens are looked for only there.
    token_bytes, token_offsets : uint8[n], int64[K + 1]
        The tokens.
    """

    first_bytes: NDArray[np.uint8]
    pairs: NDArray[np.uint64]
    token_bytes: NDArray[np.uint8]
    token_offsets: NDArray[np.int64]


def watch_tokens(first_bytes: set[int], contents: list[bytes]) -> Watched:
    """What looks for some tokens.

    Parameters
    ----------
    first_bytes : set of int
        Bytes that they, or others, start with.
    contents : list of bytes
        The tokens, of which none is empty.
    """
    begins = np.zeros((256, 256), bool)
    for content in contents:
        begins[content[0], content[1] if len(content) > 1 else slice(None)] = True
    return Watched(
        np.array(sorted(first_bytes), np.uint8),
        np.packbits(begins.reshape(-1), bitorder="little").view("<u8").astype(np.uint64),
        np.frombuffer(b"".join(contents), np.uint8),
        np.cumsum([0, *map(len, contents)], dtype=np.int64),
    )


#: No tokens.
NOTHING_WATCHED = watch_tokens(set(), [])


def locate_strings(
    items: tuple[Any, ...],
    first: int,
    watched: Watched,
    limit: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Where CPython keeps the UTF-8 form of each ``str``, so that rows can be encoded without copying them.

    Parameters
    ----------
    items : tuple
        Must be kept alive as long as the addresses are used.
    first : int
        Where to begin.
    watched : Watched
    limit : int
        Bytes after which to stop.
    starts, ends : int64[n], int64[n]
        Written: addresses, of up to ``n`` items.

    Returns
    -------
    int
        How many were located, at least one if there are any; -1 when an item is no ``str``, is not valid Unicode, or
        holds one of the tokens.
    """
    block = _gather_block()
    found = _locate.call(
        block.ctypes.data, items, first, starts.size, limit, starts.ctypes.data, ends.ctypes.data,
        watched.first_bytes.ctypes.data, watched.first_bytes.size, watched.pairs.ctypes.data,
        watched.token_bytes.ctypes.data, watched.token_offsets.ctypes.data, watched.token_offsets.size - 1,
    )  # fmt: skip
    return max(found, -1)


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
