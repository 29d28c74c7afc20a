"""The control block: everything that one thread needs to encode, as addresses in one int64 array.

A :class:`Family` says what the tables and the scratch of an algorithm are; it makes the C functions that read them from
a block.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._fastcall.layout import defined, enter, make_reader, n_words
from numba_nlp._fastcall.values import array_at, call9, load
from numba_nlp._jit import NativeFunction, inlined, native
from numba_nlp.kernels.segment.cached_rows import rows_function
from numba_nlp.kernels.tables.word_cache import SPARE_IDS, WordCache
from numba_nlp.kernels.words import VECTOR

if VECTOR:
    from numba_nlp.kernels.words import address_of

if TYPE_CHECKING:
    from numba_nlp._fastcall.strings import Watched

__all__ = ["ControlBlock", "Family"]

#: Longest text, in UTF-8 bytes, that ``encode_one`` takes.
SINGLE_LIMIT = 1 << 14

# Addresses of functions and objects, then address and length of each array of the tables, the cache and the scratch.
ENCODE_ROWS, ENCODE_UNSEEN, AS_UTF8, CLEAR_ERROR, NEW_REFERENCE, NONE, TUPLE_ITEM = range(7)
NEW_ARRAY, ARRAY_TYPE, SINGLE_IDS, SINGLE_PLACES, SINGLE_SHAPE, SINGLE_ROOM = range(7, 13)
MODEL_ROWS, TEXT, ID_TABLE, LEFT_ALONE = range(13, 17)
WATCHED, N_WATCHED, WATCHED_TABLE, WATCHED_PAIRS, WATCHED_BYTES, WATCHED_OFFSETS, N_TOKENS = range(17, 24)
IS_COUNTED, FEW_IDS, FEW_ROOM, FEW_ENDS, ENCODE_NAME, COUNT_NAME = range(24, 30)
TABLES = 30

#: The methods in Python that methods in C leave calls to. Interned, as the interpreter looks for such names at once.
_METHOD_NAMES = sys.intern("_encode"), sys.intern("_count")
#: Places of PyArray_Type and PyArray_New in numpy's table of C functions; fixed by numpy's binary interface.
NUMPY_ARRAY_TYPE, NUMPY_NEW_ARRAY = 2, 93


def numpy_functions() -> Any:
    """Table of numpy's C functions, as an array of addresses."""
    from numpy._core import multiarray

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(multiarray._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def python_function_address(name: str) -> int:
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


class Family:
    """C functions that encode with the tables of one algorithm.

    Parameters
    ----------
    name : str
        Identifier; part of the names of the compiled functions.
    tables, scratch : type
        Named tuples of arrays whose fields are annotated ``NDArray[np.<dtype>]``.
    unseen : callable
        See :func:`numba_nlp.kernels.segment.cached_rows.unseen_function`; compiled once, called through its address by
        the row encoders: the hot loops stay small, and nothing is compiled twice.
    fills : mapping of str to callable
        What cuts text, by the name of the pattern (:func:`numba_nlp.kernels.segment.cached_rows.rows_function`).
    hooks : mapping of str to mapping, optional
        Keyword arguments of that function, by the name of the pattern.
    segment : callable, optional
        ``(tables, text, start, stop, scratch, ids, token_ends, out) -> place after the last id``: segments a piece of
        text outside of the word cache.
    solve : callable, optional
        ``(tables, text, start, n, scratch, ids, first) -> number of ids``: the same for a short piece, without ends.

    Attributes
    ----------
    segment : NativeFunction or None
        ``(block, text, size, start, stop, ids, room, token_ends, ends_room, out) -> place after the last id``, arrays
        as addresses.
    solve : NativeFunction or None
        ``(block, text, size, ids, room) -> number of ids`` of a whole text; negative when the scratch is too small.
    rows : dict of str to NativeFunction
        C functions ``(block, data, size, starts, ends, fixed, n_fixed, first_row, last_row, ids, room, offsets, out) ->
        place after the last id, or a negative status``, arrays as addresses; see
        :func:`numba_nlp.kernels.segment.cached_rows.encode_rows`.
    """

    def __init__(
        self,
        name: str,
        tables: Any,
        scratch: Any,
        unseen: Any,
        fills: Mapping[str, Any],
        hooks: Mapping[str, Mapping[str, Any]] | None = None,
        segment: Any = None,
        solve: Any = None,
    ) -> None:
        self.name = name
        self.cache_at = TABLES + n_words(tables)
        self.scratch_at = self.cache_at + n_words(WordCache)
        self.size = self.scratch_at + n_words(scratch)
        readers = {
            "read_tables": make_reader(tables, TABLES, f"read_tables_{name}"),
            "read_cache": make_reader(WordCache, self.cache_at, f"read_cache_{name}"),
            "read_scratch": make_reader(scratch, self.scratch_at, f"read_scratch_{name}"),
        }
        self.unseen = native("int64(" + ", ".join(["int64"] * 9) + ")")(
            defined(
                f"""def encode_unseen_{name}(block, data_address, data_size, start, n, low, high, home, ids_address):
    return encode_unseen(
        read_tables(block), read_cache(block), array_at(data_address, data_size, np.uint8), start, n,
        np.uint64(low), np.uint64(high), home, read_scratch(block), array_at(ids_address, n + {SPARE_IDS}, np.int32), 0,
    )
""",
                f"encode_unseen_{name}",
                {**readers, "encode_unseen": unseen, "array_at": array_at, "np": np},
                __name__,
            )
        )
        self.segment: NativeFunction | None = None
        if segment is not None:
            self.segment = native("int64(" + ", ".join(["int64"] * 10) + ")")(
                defined(
                    f"""def segment_{name}(block, text, size, start, stop, ids, room, token_ends, ends_room, out):
    return np.int64(segment(
        read_tables(block), array_at(text, size, np.uint8), start, stop, read_scratch(block),
        array_at(ids, room, np.int32), array_at(token_ends, ends_room, np.int64), out,
    ))
""",
                    f"segment_{name}",
                    {**readers, "segment": segment, "array_at": array_at, "np": np},
                    __name__,
                )
            )
        self.solve: NativeFunction | None = None
        if solve is not None:
            self.solve = native("int64(" + ", ".join(["int64"] * 5) + ")")(
                defined(
                    f"""def solve_{name}(block, text, size, ids, room):
    return np.int64(solve(
        read_tables(block), array_at(text, size, np.uint8), 0, size, read_scratch(block),
        array_at(ids, room, np.int32), 0,
    ))
""",
                    f"solve_{name}",
                    {**readers, "solve": solve, "array_at": array_at, "np": np},
                    __name__,
                )
            )
        given = hooks or {}
        self.rows = {
            pattern: self._make_rows(pattern, fill, readers, given.get(pattern, {})) for pattern, fill in fills.items()
        }

    def _make_rows(self, pattern: str, fill: Any, readers: dict[str, Any], hooks: Mapping[str, Any]) -> Any:
        """The row encoder of one pattern as a C function."""
        rows = rows_function(fill, inlined, f"encode_rows_by_address_{self.name}_{pattern}", call_unseen, **hooks)
        name = f"rows_{self.name}_{pattern}"
        source = f"""def {name}(
    block, data, size, starts, ends, fixed, n_fixed, first_row, last_row, ids, room, offsets, out
):
    scratch = read_scratch(block)
    scratch.progress[2] = block
    return rows(
        read_tables(block), read_cache(block), array_at(data, size, np.uint8),
        array_at(starts, last_row, np.int64), array_at(ends, last_row, np.int64),
        array_at(fixed, n_fixed, np.int32), first_row, last_row, scratch,
        array_at(ids, room, np.int32), array_at(offsets, last_row + 1, np.int64), out,
    )
"""
        namespace = {**readers, "rows": rows, "np": np, "array_at": array_at}
        return native("int64(" + ", ".join(["int64"] * 13) + ")")(defined(source, name, namespace, __name__))


@inlined
def call_unseen(tables, cache, data, start, n, low, high, home, scratch, ids, first):
    """Stand-in for ``encode_unseen`` inside the row encoders: calls ``Family.unseen`` through its address."""
    block = scratch.progress[2]
    return call9(
        load(block + 8 * ENCODE_UNSEEN), block, address_of(data, 0), data.size, start, n, np.int64(low),
        np.int64(high), home, address_of(ids, first),
    )  # fmt: skip


class ControlBlock:
    """Addresses of everything that one thread needs to encode; keeps the arrays alive.

    Parameters
    ----------
    family : Family
    pattern : str
        Key of ``family.rows``.
    tables, cache, scratch : tuple of arrays
    watched : Watched
        Tokens that leave a text to the plain way.
    ids_per_byte : int
        Most ids that a byte of text can make.
    id_table : int32[m], optional
        Makes ids of what the row encoder gives to a single text.
    left_alone : int
        What of it leaves the text to the plain way, -1 for nothing.
    """

    __slots__ = ("_family", "_few", "_kept", "_scratch", "_stages", "block", "call_rows")

    def __init__(
        self,
        family: Family,
        pattern: str,
        tables: Any,
        cache: WordCache,
        scratch: Any,
        watched: Watched,
        ids_per_byte: int = 1,
        id_table: NDArray[np.int32] | None = None,
        left_alone: int = -1,
    ) -> None:
        self._family = family
        self.call_rows: Callable[..., int] = family.rows[pattern].call
        block = np.zeros(family.size, np.int64)
        single_ids = np.zeros(SINGLE_LIMIT * ids_per_byte + SPARE_IDS, np.int32)
        single_places = np.zeros(4, np.int64)
        functions = numpy_functions()
        block[ENCODE_ROWS] = block[MODEL_ROWS] = family.rows[pattern].address
        block[ENCODE_UNSEEN] = family.unseen.address
        block[AS_UTF8] = python_function_address("PyUnicode_AsUTF8AndSize")
        block[CLEAR_ERROR] = python_function_address("PyErr_Clear")
        block[NEW_REFERENCE] = python_function_address("Py_IncRef")
        block[NONE] = id(None)
        block[ENCODE_NAME], block[COUNT_NAME] = map(id, _METHOD_NAMES)
        block[NEW_ARRAY] = functions[NUMPY_NEW_ARRAY]
        block[ARRAY_TYPE] = functions[NUMPY_ARRAY_TYPE]
        watched_table = np.zeros(256, np.uint8)
        watched_table[watched.first_bytes] = 1
        block[WATCHED_TABLE] = watched_table.ctypes.data
        block[WATCHED], block[N_WATCHED] = watched.first_bytes.ctypes.data, watched.first_bytes.size
        block[WATCHED_PAIRS] = watched.pairs.ctypes.data
        block[WATCHED_BYTES] = watched.token_bytes.ctypes.data
        block[WATCHED_OFFSETS], block[N_TOKENS] = watched.token_offsets.ctypes.data, watched.token_offsets.size - 1
        block[SINGLE_IDS] = single_ids.ctypes.data
        block[SINGLE_PLACES] = single_places.ctypes.data
        block[SINGLE_ROOM] = single_ids.size
        block[ID_TABLE] = 0 if id_table is None else id_table.ctypes.data
        block[LEFT_ALONE] = left_alone
        self._stages: tuple[Any, ...] = ()
        self._few: tuple[Any, ...] = ()
        self.block = block
        self._kept = (watched, watched_table, single_ids, single_places, tables, cache, id_table)
        enter(block, TABLES, tables)
        enter(block, family.cache_at, cache)
        self.set_scratch(scratch)

    def set_scratch(self, scratch: Any) -> None:
        """Use other scratch memory from now on; what was used before may be freed."""
        enter(self.block, self._family.scratch_at, scratch)
        self._scratch = scratch

    def put_before(self, function: NativeFunction, stages: Any, capacity: int, ids_per_byte: int) -> None:
        """Let single texts pass through stages before they come to the row encoder.

        Parameters
        ----------
        function : NativeFunction
            Takes the place of the row encoder, which it calls.
        stages : object
            With the ``address`` of what the function reads.
        capacity : int
            Most bytes that stages leave.
        ids_per_byte : int
        """
        single_ids = np.zeros(capacity * ids_per_byte + SPARE_IDS, np.int32)
        self.block[ENCODE_ROWS] = function.address
        self.block[TEXT] = stages.address
        self.block[SINGLE_IDS] = single_ids.ctypes.data
        self.block[SINGLE_ROOM] = single_ids.size
        self._stages = (stages, single_ids)

    def make_room(self, n_texts: int) -> None:
        """Memory for the ids of that many texts, which together are no longer than one may be."""
        ids, ends = np.zeros(int(self.block[SINGLE_ROOM]), np.int32), np.zeros(n_texts, np.int64)
        self.block[FEW_IDS], self.block[FEW_ROOM] = ids.ctypes.data, ids.size
        self.block[FEW_ENDS] = ends.ctypes.data
        self._few = (ids, ends)

    def may_count(self, yes: bool) -> None:
        """Whether the ids of the texts are those that a method ``encode`` gives, and may be counted in its place."""
        self.block[IS_COUNTED] = yes

    @property
    def address(self) -> int:
        """Address of the block, which ``encode_one`` takes."""
        return int(self.block.ctypes.data)
