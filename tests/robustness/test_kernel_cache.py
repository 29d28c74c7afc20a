"""The cache of compiled kernels: where it is, what names it, and what happens when it is damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from numba_nlp import _jit
from tests.robustness.children import REPOSITORY, output_of, run_child

#: Compiles one small kernel and its helpers.
_SMALL = """
import numpy as np
from numba_nlp import _jit
from numba_nlp.kernels.tables.hashing import hash_bytes
data = np.frombuffer(b"some bytes", np.uint8)
print(int(hash_bytes(data, 0, data.size)), len(hash_bytes.stats.cache_hits), sum(hash_bytes.stats.cache_hits.values()))
"""


def small(folder: Path, **environment: str) -> tuple[int, int]:
    """Value of the kernel and its loads from the cache, in a process with this cache folder."""
    value, _, hits = output_of(_SMALL, NUMBA_NLP_CACHE_DIR=str(folder), **environment).split()
    return int(value), int(hits)


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    value, hits = small(tmp_path)
    assert hits == 0
    files = entries(tmp_path)
    assert files
    assert {file.parent for file in files} == {tmp_path / _jit.DIGEST}
    assert {file.suffix for file in files} == {".nbc"}
    assert any("hash_bytes" in file.name for file in files)
    before = {file: file.stat().st_mtime_ns for file in files}
    assert small(tmp_path) == (value, 1)
    assert {file: file.stat().st_mtime_ns for file in entries(tmp_path)} == before


#: Counts how often Numba imports all that it can compile, and whether packages that extend it came in.
_LEAN = """
import sys
from numba.core.registry import cpu_target
from numba_nlp import _jit
context, calls = cpu_target.target_context, []
refresh = context.refresh
context.refresh = lambda: (calls.append(1), refresh())
{before}
{small}
print(len(calls) > 0, "awkward" in sys.modules)
"""


def test_loading_imports_nothing_that_compiles(tmp_path: Path) -> None:
    def run(before: str = "") -> list[str]:
        return output_of(_LEAN.format(before=before, small=_SMALL), NUMBA_NLP_CACHE_DIR=str(tmp_path)).split()

    value = run()[0]
    assert run() == [value, "1", "1", "False", "False"]
    # code that calls what this process has not: everything is imported, as Numba does it in any case
    assert run("_jit._is_known = lambda symbol: False")[:4] == [value, "1", "1", "True"]


def test_symbols_of_compiled_code() -> None:
    if _jit.cache_folder() is None:
        pytest.skip("nothing is loaded without a cache")
    assert _jit._is_known("NRT_adapt_ndarray_from_python")
    assert not _jit._is_known("no_library_has_this")


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_entries_are_compiled_anew(tmp_path: Path, damage: str) -> None:
    value, _ = small(tmp_path)
    files = entries(tmp_path)
    for file in files:
        content = bytearray(file.read_bytes())
        if damage == "flipped":
            content[len(content) // 2] ^= 1
        else:
            del content[len(content) // 2 :]
        file.write_bytes(content)
    done = run_child(_SMALL, NUMBA_NLP_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(value), "0", "0"]
    assert "RuntimeWarning: numba_nlp cannot read its kernel cache" in done.stderr
    assert "is damaged" in done.stderr
    # and then all is well again
    assert small(tmp_path) == (value, 1)


def test_a_cache_that_cannot_be_written_any_more(tmp_path: Path) -> None:
    code = f"""
import pathlib, shutil
import numba_nlp._jit
folder = pathlib.Path({str(tmp_path)!r}) / numba_nlp._jit.DIGEST
assert numba_nlp._jit.cache_folder() == folder
import numba_nlp.kernels.tables.hashing
shutil.rmtree(folder)
folder.write_text("in the way")
{_SMALL}"""
    done = run_child(code, NUMBA_NLP_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "RuntimeWarning: numba_nlp cannot" in done.stderr
    assert "NUMBA_NLP_CACHE=0" in done.stderr


def test_a_cache_that_is_cleared_meanwhile(tmp_path: Path) -> None:
    code = f"import shutil\nimport numba_nlp.kernels.tables.hashing\nshutil.rmtree({str(tmp_path)!r})\n{_SMALL}"
    output_of(code, NUMBA_NLP_CACHE_DIR=str(tmp_path))
    assert entries(tmp_path)


def test_no_cache(tmp_path: Path) -> None:
    value, hits = small(tmp_path, NUMBA_NLP_CACHE="0")
    assert (hits, entries(tmp_path)) == (0, [])
    assert small(tmp_path)[0] == value


def test_code_without_optimisation_is_not_cached(tmp_path: Path) -> None:
    """It holds addresses of its process."""
    done = run_child(_SMALL, NUMBA_NLP_CACHE_DIR=str(tmp_path), NUMBA_OPT="0")
    assert (done.returncode, done.stderr) == (0, "")
    value, _, hits = done.stdout.split()
    assert (hits, entries(tmp_path)) == ("0", [])
    assert small(tmp_path)[0] == int(value)


def test_a_kernel_that_cannot_be_cached_is_a_warning(tmp_path: Path) -> None:
    code = """
import ctypes
from numba_nlp import _jit
address = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(("cos", ctypes.CDLL(None)))

@_jit.kernel
def cosine(value):
    return address(value)

print(cosine(0.0), cosine(0.0))
"""
    done = run_child(code, NUMBA_NLP_CACHE_DIR=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "1.0 1.0\n"), done.stderr
    assert "NumbaWarning: Cannot cache compiled function" in done.stderr
    assert entries(tmp_path) == []


def test_signatures_of_one_kernel_do_not_meet(tmp_path: Path) -> None:
    # two processes that each add a signature at the same time must not overwrite each other
    code = """
import sys, time
import numpy as np
from numba_nlp.kernels.tables.hashing import hash_bytes
data = np.frombuffer(b"some bytes", np.uint8)
kinds = {"frozen": data, "writeable": data.copy()}
print([int(hash_bytes(kinds[kind], 0, data.size)) for kind in sys.argv[1:]], sum(hash_bytes.stats.cache_hits.values()))
"""
    folder = {"NUMBA_NLP_CACHE_DIR": str(tmp_path)}
    values = {output_of(code, kind, **folder) for kind in ("frozen", "writeable")}
    assert len(values) == 1
    together, hits = output_of(code, "frozen", "writeable", **folder).rsplit(maxsplit=1)
    assert len(set(together.strip("[]").split(", "))) == 1
    assert int(hits) == 2


@pytest.mark.parametrize(
    "edited", ["kernels/tables/hashing.py", "errors.py", "_jit.py", "_callees.py", "_fastcall/control.py"]
)
def test_an_edited_source_names_another_folder(tmp_path: Path, edited: str) -> None:
    copy = tmp_path / "numba_nlp"
    shutil.copytree(REPOSITORY / "numba_nlp", copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = "from numba_nlp import _jit; print(_jit.DIGEST, _jit.__file__)"
    path = f"{tmp_path}{os.pathsep}{REPOSITORY}"

    def digest() -> str:
        found, file = output_of(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}", PYTHONPATH=path).split()
        assert Path(file) == copy / "_jit.py"
        return found

    assert digest() == _jit.DIGEST
    with (copy / edited).open("a", encoding="utf-8") as stream:
        stream.write("# a change\n")
    assert digest() != _jit.DIGEST


def test_an_edited_callee_reaches_its_cached_callers(tmp_path: Path) -> None:
    copy = tmp_path / "numba_nlp"
    shutil.copytree(REPOSITORY / "numba_nlp", copy, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        + """
import numpy as np
from numba_nlp.kernels.segment.decode import decoded_length
offsets, kinds, ids = np.array([0, 2, 5]), np.zeros(2, np.uint8), np.array([0, 1, 7], np.int32)
print(decoded_length(offsets, kinds, ids, 0, 3, 0, np.zeros(1, np.int64)))
"""
    )
    environment = {"NUMBA_NLP_CACHE_DIR": str(tmp_path / "cache")}
    assert output_of(code, **environment) == "-2\n"
    errors = copy / "errors.py"
    text = errors.read_text(encoding="utf-8")
    assert "STATUS_UNKNOWN_ID = -2" in text
    errors.write_text(text.replace("STATUS_UNKNOWN_ID = -2", "STATUS_UNKNOWN_ID = -12"), encoding="utf-8")
    assert output_of(code, **environment) == "-12\n"
