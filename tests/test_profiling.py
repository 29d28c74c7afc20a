"""Counting instructions, names for perf, times by turns, and the page that shows them."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from tools import jit_symbols, kernel_assembly, kernel_variants, profiling_page
from tools.count_instructions import count_instructions, instructions_per_element
from tools.interleaved_times import interleaved_times

REPOSITORY = Path(__file__).resolve().parent.parent
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture
def stepping() -> None:
    """Skips where processes may not be stepped through."""
    try:
        count_instructions(lambda: None)
    except OSError as error:
        pytest.skip(str(error))


@linux
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads x86-64 code")
@pytest.mark.usefixtures("stepping")
def test_a_turn_has_as_many_instructions_as_its_loop() -> None:
    def row(n: int) -> tuple[np.ndarray]:
        return (np.ones(n, np.float32),)

    (loop,) = kernel_assembly.loops(kernel_variants.holds_numbers_leaving, "(float32[::1],)")
    leaving = njit(nogil=True, error_model="numpy")(kernel_variants.holds_numbers_leaving)
    # each number is exact but for what Python does beside, which is little
    assert instructions_per_element(leaving, row, 2048) == pytest.approx(len(loop.instructions), abs=0.3)


@linux
@pytest.mark.usefixtures("stepping")
def test_calls_that_do_not_come_back() -> None:
    with pytest.raises(RuntimeError, match="did not come back"):
        count_instructions(lambda: 1 / 0)
    with pytest.raises(RuntimeError, match="ended by SIGABRT"):
        count_instructions(os.abort)


@linux
def test_addresses_of_compiled_functions() -> None:
    function = njit("int64(int64)")(lambda x: x * 3)
    (compiled,) = function.overloads.values()
    symbol = compiled.fndesc.llvm_func_name
    address = compiled.library.get_pointer_to_function(symbol)
    found = [
        (at, size) for name, at, size in jit_symbols.compiled_functions() if name == jit_symbols.dotted_name(symbol)
    ]
    assert address in [at for at, _ in found]
    assert all(0 < size < 10_000 for _, size in found)


@linux
def test_the_names_of_a_program(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(
        "import os, sys\n"
        "from numba import njit\n"
        "@njit\n"
        "def thrice(x):\n"
        "    return x * 3\n"
        "print(os.getpid(), thrice(int(sys.argv[1])))\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "tools.jit_symbols", str(script), "5"]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    process, result = done.stdout.split()
    assert result == "15"
    names = Path(f"/tmp/perf-{process}.map")
    try:
        lines = [line.split(" ", 2) for line in names.read_text(encoding="utf-8").splitlines()]
    finally:
        names.unlink()
    assert {"__main__.thrice", "cpython.__main__.thrice"} <= {name for _, _, name in lines}
    assert all(int(at, 16) > 0 and int(size, 16) > 0 for at, size, _ in lines)
    with pytest.raises(ValueError, match="no 64-bit ELF file"):
        jit_symbols.function_symbols(b"MZ")


def test_calls_take_turns() -> None:
    called: list[str] = []
    times = interleaved_times({"a": lambda: called.append("a"), "b": lambda: called.append("b")}, rounds=3)
    assert "".join(called) == "ab" + "ab" + "ba" + "ab"
    assert all(0 <= one.least <= one.median for one in times.values())


def test_the_page_is_what_was_recorded() -> None:
    found = json.loads(profiling_page.RECORD.read_text(encoding="utf-8"))
    page = profiling_page.PAGE.read_text(encoding="utf-8")
    assert page == profiling_page.with_parts(page, profiling_page.render(found))
    # what the page says of them
    assert found["counts"]["holds_numbers"] < found["counts"]["holds_numbers_leaving"] / 4
    assert found["times"]["holds_numbers warm"][0] < found["times"]["holds_numbers_leaving warm"][0] / 2
    assert found["times"]["count_lines_narrow warm"][0] < found["times"]["count_lines warm"][0]


def test_a_part_needs_its_marks() -> None:
    with pytest.raises(ValueError, match="machine: written by"):
        profiling_page.with_parts("# A page\n", {"machine": "text"})
