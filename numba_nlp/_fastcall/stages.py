"""Normalizers and pre-tokenizers called by address: for blocks of rows, and for single texts.

What a program runs is compiled one operation at a time, when a program first asks for it. Each operation is a C
function of its own, so all programs share it, and nobody waits for the normal forms who only puts a character before a
text.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._fastcall.layout import defined, enter, make_reader, n_words
from numba_nlp._fastcall.values import array_at, call10, call15
from numba_nlp._jit import NativeFunction, inlined, kernel, native
from numba_nlp.kernels.segment import cut_program, normalize_program
from numba_nlp.kernels.segment.cut_program import (
    CUT_METASPACE,
    CUT_STEP,
    CUT_STRING,
    ITEM_KERNELS,
    CutScratch,
    CutTables,
)
from numba_nlp.kernels.segment.normalize_program import (
    STEP,
    STEP_KERNELS,
    NormalizerScratch,
    NormalizerTables,
)
from numba_nlp.kernels.segment.normalize_text import Aligned
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.words import VECTOR

if VECTOR:
    from numba_nlp.kernels.words import address_of

__all__ = ["CutterProgram", "Memory", "NormalizerProgram", "make_functions"]


class Memory(NamedTuple):
    """What one program works in, one call at a time.

    Attributes
    ----------
    block : int64[n]
        Addresses of the arrays.
    kept : tuple
        The arrays.
    """

    block: NDArray[np.int64]
    kept: tuple[Any, ...]

    @property
    def address(self) -> int:
        """Address of the block."""
        return int(self.block.ctypes.data)


class _Items(NamedTuple):
    """What the kernels that find items write to."""

    item_ends: NDArray[np.int64]
    item_flags: NDArray[np.uint8]


def _memory(*tuples: tuple[Any, ...]) -> Memory:
    block = np.zeros(sum(n_words(type(one)) for one in tuples), np.int64)
    first = 0
    for one in tuples:
        first = enter(block, first, one)
    return Memory(block, tuples)


def _python(kernel: Any) -> Any:
    """The function that a kernel was compiled from."""
    return kernel.py_func


# --- normalizers -------------------------------------------------------------------------------------------------


@inlined
def call_step(tables, operation, first, second, third, here, n, scratch, there):
    """Stand-in for ``run_step``: calls the operation through its address."""
    calls = scratch.calls
    return call15(
        calls[2 + operation], calls[0], calls[1], first, second, third, address_of(here.text, 0),
        address_of(here.starts, 0), address_of(here.ends, 0), here.text.size, here.starts.size, n,
        address_of(there.text, 0), address_of(there.starts, 0), address_of(there.ends, 0), there.text.size,
    )  # fmt: skip


class _NormalizerFunctions(NamedTuple):
    """C functions of normalizers: all rows, and each operation."""

    rows: NativeFunction
    steps: tuple[NativeFunction, ...]


@cache
def _normalizer_functions() -> _NormalizerFunctions:
    """Made on first use; they compile when their addresses are asked for."""
    read_tables = make_reader(NormalizerTables, 0, "read_normalizer_tables")
    read_scratch = make_reader(NormalizerScratch, 0, "read_normalizer_scratch")
    read_target = make_reader(Aligned, n_words(NormalizerScratch), "read_normalizer_target")
    given = {"read_tables": read_tables, "read_scratch": read_scratch, "Aligned": Aligned, "array_at": array_at}
    steps = []
    for step in STEP_KERNELS:
        name = f"normalize{step.__name__}"
        source = f"""def {name}(
    tables, memory, first, second, third, text, starts, ends, room, places, n, to_text, to_starts, to_ends, to_room
):
    here = Aligned(array_at(text, room, np.uint8), array_at(starts, places, np.int32), array_at(ends, places, np.int32))
    there = Aligned(
        array_at(to_text, to_room, np.uint8), array_at(to_starts, places, np.int32), array_at(to_ends, places, np.int32)
    )
    return np.int64(step(read_tables(tables), first, second, third, here, n, read_scratch(memory), there))
"""
        steps.append(_native(source, name, 15, {**given, "step": step}))
    one = kernel(specialise(_python(normalize_program.normalize), "normalize_by_address", run_step=call_step))
    rows = specialise(_python(normalize_program.normalize_rows), "normalize_rows_by_address", normalize=one)
    source = """def normalize_all(tables, memory, data, size, starts, ends, n, first, at, out_starts, out_ends):
    return np.int64(normalize(
        read_tables(tables), array_at(data, size, np.uint8), array_at(starts, n, np.int64),
        array_at(ends, n, np.int64), first, read_scratch(memory), read_target(memory), at,
        array_at(out_starts, n, np.int64), array_at(out_ends, n, np.int64),
    ))
"""
    all_rows = _native(source, "normalize_all", 11, {**given, "read_target": read_target, "normalize": kernel(rows)})
    return _NormalizerFunctions(all_rows, tuple(steps))


class NormalizerProgram:
    """An array program of a normalizer (:mod:`numba_nlp.kernels.segment.normalize_program`), called by address.

    Parameters
    ----------
    tables : NormalizerTables
    """

    def __init__(self, tables: NormalizerTables) -> None:
        self._tables = _memory(tables)
        functions = _normalizer_functions()
        self._calls = np.zeros(2 + len(functions.steps), np.int64)
        self._calls[0] = self._tables.address
        for operation in set(tables.program[::STEP].tolist()):
            self._calls[2 + operation] = functions.steps[operation].address
        #: Address of the C function for rows, and of the tables.
        self.function = functions.rows.address
        self.tables = self._tables.address
        self._call = functions.rows.call

    def new_memory(self, scratch: NormalizerScratch, target: Aligned) -> Memory:
        """Memory for :meth:`run` over some arrays."""
        memory = _memory(scratch, target)
        scratch.calls[:] = self._calls
        scratch.calls[1] = memory.address
        return memory

    def run(
        self,
        data: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        first: int,
        scratch: NormalizerScratch,
        target: Aligned,
        at: int,
        out_starts: NDArray[np.int64],
        out_ends: NDArray[np.int64],
    ) -> int:
        """:func:`numba_nlp.kernels.segment.normalize_program.normalize_rows` with the tables of this program."""
        memory = self.new_memory(scratch, target)
        return self._call(
            self.tables, memory.address, data.ctypes.data, data.size, starts.ctypes.data, ends.ctypes.data,
            starts.size, first, at, out_starts.ctypes.data, out_ends.ctypes.data,
        )  # fmt: skip


# --- pre-tokenizers ----------------------------------------------------------------------------------------------


@inlined
def call_items(tables, operation, first, third, text, begin, end, scratch):
    """Stand-in for ``find_items``: calls the operation through its address."""
    calls = scratch.calls
    return call10(
        calls[1 + operation], calls[0], first, third, address_of(text, 0), text.size, begin, end,
        address_of(scratch.item_ends, 0), address_of(scratch.item_flags, 0), scratch.item_ends.size,
    )  # fmt: skip


class _CutterFunctions(NamedTuple):
    """C functions of pre-tokenizers: all rows, and each operation that finds items."""

    rows: NativeFunction
    items: tuple[NativeFunction, ...]


@cache
def _cutter_functions() -> _CutterFunctions:
    """Made on first use; they compile when their addresses are asked for."""
    read_tables = make_reader(CutTables, 0, "read_cut_tables")
    given = {"read_tables": read_tables, "array_at": array_at}
    items = []
    for find in ITEM_KERNELS:
        name = f"cut{find.__name__}"
        source = f"""def {name}(tables, first, third, text, size, begin, end, item_ends, item_flags, room):
    items = Items(array_at(item_ends, room, np.int64), array_at(item_flags, room, np.uint8))
    return np.int64(find(read_tables(tables), first, third, array_at(text, size, np.uint8), begin, end, items))
"""
        items.append(_native(source, name, 10, {**given, "find": find, "Items": _Items}))
    one = kernel(specialise(_python(cut_program.cut), "cut_by_address", find_items=call_items))
    rows = specialise(_python(cut_program.cut_rows), "cut_rows_by_address", cut=one)
    source = """def cut_all(
    tables, memory, starts, ends, n, bases, n_bases, first, at, piece_starts, piece_ends, room, out, first_pieces
):
    return np.int64(cut(
        read_tables(tables), read_source(memory), array_at(starts, n, np.int64), array_at(ends, n, np.int64),
        array_at(bases, n_bases, np.int64), first, read_scratch(memory), read_target(memory), at,
        array_at(piece_starts, room, np.int64), array_at(piece_ends, room, np.int64), out,
        array_at(first_pieces, n + 1, np.int64),
    ))
"""
    behind = n_words(CutScratch)
    readers = {
        "read_scratch": make_reader(CutScratch, 0, "read_cut_scratch"),
        "read_source": make_reader(Aligned, behind, "read_cut_source"),
        "read_target": make_reader(Aligned, behind + n_words(Aligned), "read_cut_target"),
    }
    return _CutterFunctions(_native(source, "cut_all", 14, {**given, **readers, "cut": kernel(rows)}), tuple(items))


class CutterProgram:
    """An array program of a pre-tokenizer (:mod:`numba_nlp.kernels.segment.cut_program`), called by address.

    Parameters
    ----------
    tables : CutTables
    """

    def __init__(self, tables: CutTables) -> None:
        self._tables = _memory(tables)
        functions = _cutter_functions()
        self._calls = np.zeros(2 + len(functions.items), np.int64)
        self._calls[0] = self._tables.address
        steps = tables.program.reshape(-1, CUT_STEP)
        operations = set(steps[:, 0].tolist())
        if CUT_METASPACE in operations:
            # it cuts before its character, if it does
            operations.remove(CUT_METASPACE)
            operations.add(CUT_STRING)
        for operation in operations:
            self._calls[1 + operation] = functions.items[operation].address
        #: Address of the C function for rows, and of the tables.
        self.function = functions.rows.address
        self.tables = self._tables.address
        self._call = functions.rows.call

    def new_memory(self, scratch: CutScratch, source: Aligned, target: Aligned) -> Memory:
        """Memory for :meth:`run` over some arrays."""
        scratch.calls[:] = self._calls
        return _memory(scratch, source, target)

    def run(
        self,
        source: Aligned,
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        bases: NDArray[np.int64],
        first: int,
        scratch: CutScratch,
        target: Aligned,
        at: int,
        piece_starts: NDArray[np.int64],
        piece_ends: NDArray[np.int64],
        out: int,
        first_pieces: NDArray[np.int64],
    ) -> int:
        """:func:`numba_nlp.kernels.segment.cut_program.cut_rows` with the tables of this program."""
        memory = self.new_memory(scratch, source, target)
        return self._call(
            self.tables, memory.address, starts.ctypes.data, ends.ctypes.data, starts.size, bases.ctypes.data,
            bases.size, first, at, piece_starts.ctypes.data, piece_ends.ctypes.data, piece_starts.size, out,
            first_pieces.ctypes.data,
        )  # fmt: skip


def _native(source: str, name: str, n: int, namespace: dict[str, Any]) -> NativeFunction:
    """A C function with ``n`` arguments from its source."""
    signature = "int64(" + ", ".join(["int64"] * n) + ")"
    return native(signature)(defined(source, name, {**namespace, "np": np}, __name__))


def make_functions() -> None:
    """Make the C functions known to :func:`numba_nlp.warmup`; they compile when first used."""
    _normalizer_functions()
    _cutter_functions()
