"""What ``docs/profiling.md`` shows: outputs of commands, counts of instructions, times. x86-64 and Linux.

:mod:`tools.profiling_page` calls this, and writes the page.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from tools.files import ROOT

__all__ = ["COMMANDS", "LOOPS", "NAMED", "SIZE", "WORK", "measure"]

#: Logits of a row of GPT-2.
SIZE = 50257
_KERNEL = "numba_nlp.kernels.generation.row_values:holds_numbers"
_ROW = "(float32[::1],)"


def _look(place: str, types: str, *options: str) -> list[str]:
    return ["python", "-m", "tools.kernel_assembly", place, types, *options]


#: Commands whose output the page shows, by the name of their part; `python` is the one that runs this.
COMMANDS: dict[str, list[str]] = {
    "kernel": _look(_KERNEL, _ROW, "--loop", "1", "--remarks"),
    "leaving": _look("tools.kernel_variants:holds_numbers_leaving", _ROW, "--remarks"),
    "stat": ["perf", "stat", "-e", "instructions:u,cycles:u,task-clock", "python", "-c", "pass"],
}
_SUM, _SUM_TYPES = "tools.kernel_variants:sum_until_empty", "(UniTuple(int64[::1], 2), int64[::1])"
_RENUMBER, _RENUMBER_TYPES = "numba_nlp.kernels.segment.renumber:renumber", "(int32[::1], int32[::1], int64)"
#: Functions, their types and options, whose last inner loops are compared: the ones without unrolling.
LOOPS: list[tuple[str, str, dict[str, Any]]] = [
    ("tools.kernel_variants:mixed", "(uint64[::1],)", {}),
    ("tools.kernel_variants:mixed_as_float", "(uint64[::1],)", {}),
    (_RENUMBER, _RENUMBER_TYPES, {}),
    (_RENUMBER, _RENUMBER_TYPES, {"boundscheck": True}),
    (_SUM, _SUM_TYPES, {}),
    (_SUM, _SUM_TYPES, {"_nrt": True}),
]
#: What perf gets, with and without the names of compiled functions.
WORK = ["tools/profiled_sampling.py"]
NAMED = ["-m", "tools.jit_symbols", *WORK]
_VALGRIND = """\
import sys, numpy as np
from numba_nlp.kernels.generation.row_values import holds_numbers
rows = np.zeros(65536, np.float32)
for _ in range(int(sys.argv[1])):
    holds_numbers(rows)
"""


_DEBUG_ONLY = f"""\
from llvmlite import binding
binding.set_option("", "--debug-only=loop-vectorize")
from tools.kernel_assembly import assembly, find
assembly(find({_KERNEL!r}), {_ROW!r})
"""


def _run(command: list[str], **environment: str) -> str:
    """What a command prints, stdout before stderr."""
    if shutil.which(command[0]) is None:
        return f"{command[0]}: not installed\n"
    words = [sys.executable if word == "python" else word for word in command]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    return done.stdout + done.stderr


def _tidy(text: str) -> str:
    """Without what is of no use to a reader: empty lines at the ends, the wide gaps and the heads of perf."""
    lines = [re.sub(r"\s+-\s+-\s*$", "", line).rstrip() for line in text.splitlines()]
    lines = [line for line in lines if not line.startswith("#")]
    lines = [line for line in lines if not re.search(r"\bseconds (?:time|user|sys)", line)]
    text = "\n".join(lines).replace(sys.executable, "python")
    return re.sub(r"\n{2,}", "\n\n", text).strip("\n")


def _perf(program: list[str], folder: Path) -> str:
    """The lines of ``perf report`` that hold more than 2 % of the samples."""
    data = str(folder / "perf.data")
    _run(["perf", "record", "-F", "999", "-D", "3000", "-o", data, "python", *program])
    found = _run(["perf", "report", "-i", data, "--stdio", "--sort", "symbol", "--percent-limit", "2"])
    for process in set(_run(["perf", "script", "-i", data, "-F", "pid"]).split()):
        Path(f"/tmp/perf-{process}.map").unlink(missing_ok=True)
    return "\n".join(line.strip() for line in _tidy(found).splitlines() if "%" in line)


def _by_valgrind(folder: Path) -> float | None:
    """Instructions a value of ``holds_numbers``, from two runs of Python as a whole; None without valgrind."""
    script = folder / "check.py"
    script.write_text(_VALGRIND, encoding="utf-8")
    counts = []
    for calls in (1, 200, 400):  # the first run compiles
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'out'}", "python", str(script)]
        text = _run([*command, str(calls)], PYTHONHASHSEED="0", PYTHONPATH=str(ROOT))
        total = re.search(r"Collected : (\d+)", text)
        if total is None:
            return None
        counts.append(int(total[1]))
    return (counts[2] - counts[1]) / (200 * 65536)


def _as_kernel(function: Callable[..., Any]) -> Any:
    from numba import njit

    from numba_nlp._jit import _OPTIONS

    return njit(nogil=True, **_OPTIONS)(function)


def _counts() -> dict[str, float]:
    """Instructions for each value, byte or word, by stepping."""
    from numba_nlp.kernels.generation.row_values import holds_numbers
    from numba_nlp.kernels.tables.rows import count_lines
    from tools import kernel_variants
    from tools.count_instructions import instructions_per_element

    def row(n: int) -> tuple[Any, ...]:
        return (np.ones(n, np.float32),)

    def text(n: int) -> tuple[Any, ...]:
        return (np.zeros(n, np.uint8),)

    return {
        "holds_numbers": instructions_per_element(holds_numbers, row, 16384),
        "holds_numbers_leaving": instructions_per_element(
            _as_kernel(kernel_variants.holds_numbers_leaving), row, 16384
        ),
        "count_lines": instructions_per_element(count_lines, text, 16384),
        "count_lines_narrow": instructions_per_element(_as_kernel(kernel_variants.count_lines_narrow), text, 16384),
    }


def _times() -> dict[str, tuple[float, float]]:
    """Nanoseconds a value or byte: least and median of the rounds; of a token for ``sample_row``."""
    from numba import njit

    from numba_nlp.kernels.generation.row_values import holds_numbers
    from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules
    from numba_nlp.kernels.generation.sampling import sample_row
    from numba_nlp.kernels.tables.rows import count_lines
    from tools import kernel_variants
    from tools.interleaved_times import interleaved_times

    def repeated(function: Any) -> Any:
        """The loop over the rows is compiled too; no row is the one before, or the compiler would look at it once."""

        @njit(nogil=True)
        def run(rows, n):
            total = 0
            for i in range(n):
                total += function(rows[i % rows.shape[0]])
            return total

        return run

    rows = {"warm": np.ones((2, SIZE), np.float32), "cold": np.ones((600, SIZE), np.float32)}
    texts = {"warm": np.full((2, 65536), 97, np.uint8), "cold": np.full((2000, 65536), 97, np.uint8)}
    leaving = _as_kernel(kernel_variants.holds_numbers_leaving)
    narrow = _as_kernel(kernel_variants.count_lines_narrow)
    found = {}
    for functions, arrays, n in (
        ({"holds_numbers": holds_numbers, "holds_numbers_leaving": leaving}, rows, 600),
        ({"count_lines": count_lines, "count_lines_narrow": narrow}, texts, 2000),
    ):
        for kind, array in arrays.items():
            loops = {name: repeated(function) for name, function in functions.items()}
            calls = {name: (lambda loop=loop, array=array, n=n: loop(array, n)) for name, loop in loops.items()}
            for name, times in interleaved_times(calls, rounds=15).items():
                found[f"{name} {kind}"] = tuple(1e9 * seconds / (n * array.shape[1]) for seconds in times)
    rules, scratch = make_rules(top_k=50), make_row_scratch(SIZE, 50)
    row = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    work = row.copy()

    def token() -> None:
        work[:] = row
        sample_row(work, rules, np.uint64(1), np.uint64(0), 0, scratch)

    def copy() -> None:
        work[:] = row

    times = interleaved_times({"token": token, "copy": copy}, rounds=400)
    found["sample_row"] = tuple(1e9 * (a - b) for a, b in zip(times["token"], times["copy"], strict=True))
    return found


def _loops() -> list[dict[str, int]]:
    """Kinds of the instructions in the last inner loop of each of :data:`LOOPS`."""
    from tools.assembly_text import count_kinds
    from tools.kernel_assembly import find, loops

    return [count_kinds(loops(find(place), types, **options)[-1].instructions) for place, types, options in LOOPS]


def _products() -> dict[str, int]:
    """How often the instructions of each kind of weights are in the product of ``docs/kernels.md``."""
    from numba import typeof

    from numba_nlp.generation.packing import pack_matrices
    from numba_nlp.kernels.step.products import COLUMNS, MULTIPLY, columns_of, new_packed_rows
    from tools.kernel_assembly import assembly

    layers = list(np.random.default_rng(0).standard_normal((3, 1000, 64)).astype(np.float32))
    found = {}
    for kind, instruction in (("int8", "vpdpbusd"), ("float32", "vfmadd231ps")):
        matrices, packed = pack_matrices(layers, None, kind), new_packed_rows(5, 64, kind)
        columns = columns_of(matrices)
        out = np.empty((5, columns), np.float32)
        arguments = (packed, 5, matrices, 2, 0, columns // COLUMNS, out)
        text = assembly(MULTIPLY[kind], tuple(map(typeof, arguments)))
        found[f"{kind} {instruction}"] = len(re.findall(rf"\b{instruction}\b", text))
    return found


def measure() -> dict[str, Any]:
    """All that the page shows."""
    from llvmlite import binding

    from asv_benchmarks.machine import machine, versions

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        printed = {part: _tidy(_run(command)) for part, command in COMMANDS.items()}
        return {
            "machine": machine(),
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "versions": {key: versions()[key] for key in ("numba", "llvmlite", "numpy")},
            "llvm": ".".join(map(str, binding.llvm_version_info)),
            "processor": binding.get_host_cpu_name(),
            "printed": printed,
            "debug_only": bool(_run(["python", "-c", _DEBUG_ONLY]).count("LV: ")),
            "products": _products(),
            "loops": _loops(),
            "counts": _counts(),
            "times": _times(),
            "valgrind": _by_valgrind(folder),
            "unnamed": _perf(WORK, folder),
            "named": _perf(NAMED, folder),
        }
