"""The machine code of a kernel: its inner loops, and how many instructions of each kind they have.

::

    python -m tools.kernel_assembly numba_nlp.kernels.generation.row_values:holds_numbers "(float32[::1],)"

The function, a kernel or a plain one, is compiled anew for the types given, without the kernel cache, with the options
of kernels; ``--set boundscheck=True`` changes one. ``docs/profiling.md`` reads what it prints.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
from typing import Any

from numba import njit
from numba.core import sigutils
from numba.core.errors import NumbaError

from numba_nlp._jit import _OPTIONS
from tools.assembly_text import Loop, count_kinds, functions, inner_loops

__all__ = ["assembly", "compiled", "dotted_name", "find", "llvm_ir", "loops", "main", "report"]

#: Without the entries from Python and C, which are functions of their own and no part of the kernel.
_ALONE = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def find(place: str) -> Any:
    """What ``module:name`` names.

    Raises
    ------
    ValueError
        The text has another form, or there is no such module or name.
    """
    module, _, name = place.partition(":")
    if not name:
        raise ValueError(f"{place!r} is not MODULE:NAME, such as numba_nlp.kernels.tables.rows:count_lines")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (AttributeError, ImportError) as error:
        raise ValueError(f"{place!r} is not there: {error}") from None
    return found


def compiled(function: Any, types: str | tuple[Any, ...], **options: Any) -> Any:
    """A dispatcher that holds ``function`` for these types and nothing else.

    A function that came from a cache has no assembly left, and a kernel has entry points beside it; so it is compiled
    anew, and without them.

    Parameters
    ----------
    function : callable
        A kernel, or any function that Numba can compile.
    types : str or tuple
        Numba's types of the arguments, ``"(float32[::1], int64)"``; tuples that have names have types that cannot be
        written down so, for which ``tuple(map(numba.typeof, arguments))`` serves.
    **options
        Options of ``njit`` in place of those of kernels.
    """
    python = getattr(function, "py_func", function)
    if not callable(python):
        raise ValueError(f"{function!r} is not a function")
    try:
        arguments, _ = sigutils.normalize_signature(types)
    except (NameError, SyntaxError, TypeError) as error:
        raise ValueError(f"{types!r} are no types of Numba ({error}); write them as '(float32[::1], int64)'") from None
    if not arguments:
        raise ValueError(f"{types!r} names no types of arguments; a function of one array is '(float32[::1],)'")
    own = getattr(function, "targetoptions", {})
    inline = {"forceinline": True} if own.get("forceinline") else {}
    dispatcher = njit(**{**_OPTIONS, **_ALONE, **inline, **options})(python)
    dispatcher.compile(arguments)
    return dispatcher


def assembly(function: Any, types: str | tuple[Any, ...], **options: Any) -> str:
    """Assembly of a function and of what it calls, as text; arguments as of :func:`compiled`."""
    dispatcher = compiled(function, types, **options)
    return str(dispatcher.inspect_asm(dispatcher.signatures[0]))


def llvm_ir(function: Any, types: str | tuple[Any, ...], **options: Any) -> str:
    """LLVM's own language after optimisation, the last step before assembly; arguments as of :func:`compiled`."""
    dispatcher = compiled(function, types, **options)
    return str(dispatcher.inspect_llvm(dispatcher.signatures[0]))


def loops(function: Any, types: str | tuple[Any, ...], **options: Any) -> list[Loop]:
    """Inner loops of a function and of what it calls; arguments as of :func:`compiled`."""
    return [loop for part in functions(assembly(function, types, **options)) for loop in inner_loops(part)]


def dotted_name(symbol: str) -> str:
    """The name in a symbol of Numba, ``numba_nlp.kernels.words.add`` of ``_ZN9numba_nlp7kernels5words3addB2v1B66c...``.

    Other symbols stay as they are.
    """
    rest, names = re.sub(r"^(?:cfunc\.)?_ZN", "", symbol), []
    while rest and rest[0].isdigit():
        digits = re.match(r"\d+", rest)
        assert digits is not None
        length = int(digits[0])
        names.append(rest[digits.end() : digits.end() + length])
        rest = rest[digits.end() + length :]
    return ".".join(names) if names else symbol


def report(text: str, *, whole: bool = False, only: int | None = None) -> str:
    """What the command prints of an assembly listing: each function, and its inner loops with their counts.

    Parameters
    ----------
    text : str
    whole : bool
        Every instruction instead of the loops.
    only : int, optional
        One of the loops of each function, counted from 1.
    """
    lines: list[str] = []
    for function in functions(text):
        counts = _said(count_kinds(function.instructions))
        lines.append(f"{dotted_name(function.name)}: {len(function.instructions)} instructions ({counts})")
        if whole:
            labels: dict[int, list[str]] = {}
            for label, at in function.labels.items():
                labels.setdefault(at, []).append(label)
            for at, instruction in enumerate(function.instructions):
                lines += [f"{label}:" for label in labels.get(at, ())]
                lines.append(f"    {instruction}")
            continue
        for number, loop in enumerate(inner_loops(function), start=1):
            if only not in (None, number):
                continue
            width = f"registers of {loop.bits} bits" if loop.bits else "no vector registers"
            counts = _said(count_kinds(loop.instructions))
            lines += ["", f"{loop.label}: {len(loop.instructions)} instructions ({counts}), {width}"]
            lines += [f"    {instruction}" for instruction in loop.instructions]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _said(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _option(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with a Python literal, as fastmath=True"
        ) from None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.kernel_assembly", description=__doc__.split("\n")[0])
    parser.add_argument("function", help="MODULE:NAME of a kernel or of a plain Python function")
    parser.add_argument("types", help="Numba's types of its arguments, as '(float32[::1], int64)'")
    parser.add_argument(
        "--set", type=_option, action="append", default=[], metavar="NAME=VALUE", help="another option of njit"
    )
    parser.add_argument("--whole", action="store_true", help="every instruction instead of the inner loops")
    parser.add_argument("--loop", type=int, metavar="N", help="only the N-th inner loop of each function")
    parser.add_argument("--ir", action="store_true", help="LLVM's optimised code instead of assembly")
    parser.add_argument("--remarks", action="store_true", help="on stderr: what LLVM says about vectorising loops")
    given = parser.parse_args(arguments)
    if given.remarks:
        from llvmlite import binding

        for kind in ("", "-missed", "-analysis"):
            binding.set_option("", f"--pass-remarks{kind}=loop-vectorize")
    try:
        function = find(given.function)
        options = dict(given.set)
        print(
            llvm_ir(function, given.types, **options)
            if given.ir
            else report(assembly(function, given.types, **options), whole=given.whole, only=given.loop),
            end="",
        )
    except (NumbaError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
