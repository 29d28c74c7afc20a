"""Run a program, and tell ``perf`` the names of the functions that Numba compiled in it.

::

    perf record -F 999 -g python -m tools.jit_symbols SCRIPT [ARGUMENTS]
    perf report --sort symbol

Writes ``/tmp/perf-<process>.map``, which ``perf report`` looks for, when the program ends: address, size and name of
each compiled function, from a kernel cache or not. ``NUMBA_ENABLE_PROFILING=1`` is meant for that, but the LLVM of
llvmlite's wheels is built without what writes such files. It does tell gdb what it loads, by a list in memory, and
this is what is read here.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import runpy
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.kernel_assembly import dotted_name

__all__ = ["compiled_functions", "function_symbols", "main"]

_SYMBOL_TABLE, _FUNCTION, _OBJECT = 2, 2, 1
_Symbol = tuple[str, int, int, int]


class _Entry(ctypes.Structure):
    """``jit_code_entry`` of gdb's JIT interface: one loaded object file."""


_Entry._fields_ = [
    ("next", ctypes.POINTER(_Entry)),
    ("previous", ctypes.POINTER(_Entry)),
    ("content", ctypes.c_void_p),
    ("size", ctypes.c_uint64),
]


class _Descriptor(ctypes.Structure):
    """``jit_descriptor`` of gdb's JIT interface."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.POINTER(_Entry)),
        ("first", ctypes.POINTER(_Entry)),
    )


def _symbols(content: bytes) -> Iterator[_Symbol]:
    """Name, kind, address and size of what a 64-bit ELF file defines.

    In a file that is loaded already, as those of the list, sections have addresses, to which symbols are relative.
    """
    if content[:5] != b"\x7fELF\x02":
        raise ValueError(f"this is no 64-bit ELF file: it begins with {content[:5]!r}")
    is_object = struct.unpack_from("<H", content, 0x10)[0] == 1
    at, (width, n) = struct.unpack_from("<Q", content, 0x28)[0], struct.unpack_from("<HH", content, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", content, at + width * place) for place in range(n)]
    for _, kind, _, _, begin, size, link, _, _, _ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        names = sections[link][4]
        for name, info, _, section, value, length in struct.iter_unpack("<IBBHQQ", content[begin : begin + size]):
            if 0 < section < n and info & 15 in (_FUNCTION, _OBJECT):
                start = names + name
                text = content[start : content.index(b"\0", start)].decode()
                yield text, info & 15, value + (sections[section][3] if is_object else 0), length


def function_symbols(content: bytes) -> list[tuple[str, int, int]]:
    """Name, address and size of each function of an ELF file."""
    return [(name, at, size) for name, kind, at, size in _symbols(content) if kind == _FUNCTION and size]


def _descriptor() -> _Descriptor:
    begin, path = _library()
    name = "__jit_debug_descriptor"
    offset = next((at for symbol, _, at, _ in _symbols(path.read_bytes()) if symbol == name), None)
    if offset is None:
        raise ValueError(f"{path} has no symbol {name}: it was stripped, so nothing says where compiled code is")
    return _Descriptor.from_address(begin + offset)


def _library() -> tuple[int, Path]:
    """Address and path of the library that holds LLVM, among those that the process has loaded."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        if "libllvmlite" in line:
            return int(line.split("-")[0], 16), Path(line.split(maxsplit=5)[5])
    raise ValueError("llvmlite's library is not loaded; import numba first")


def compiled_functions() -> list[tuple[str, int, int]]:
    """Name, address and size of every function that LLVM has loaded into this process."""
    found, entry = [], _descriptor().first
    while entry:
        found += function_symbols(ctypes.string_at(entry.contents.content, entry.contents.size))
        entry = entry.contents.next
    return [(dotted_name(name), at, size) for name, at, size in found]


def _write_map() -> None:
    lines = [f"{at:x} {size:x} {name}\n" for name, at, size in compiled_functions()]
    Path(f"/tmp/perf-{os.getpid()}.map").write_text("".join(lines), encoding="utf-8")


def main(arguments: list[str]) -> int:
    if sys.platform != "linux" or not arguments:
        print("usage (Linux): python -m tools.jit_symbols SCRIPT [ARGUMENTS]", file=sys.stderr)
        return 2
    atexit.register(_write_map)
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
