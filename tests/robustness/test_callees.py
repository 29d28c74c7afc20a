"""Kernels that others call are kept as code to be linked: what their callers compute, keep and raise."""

from __future__ import annotations

from pathlib import Path

import pytest

from numba_nlp import _jit
from tests.robustness.children import output_of

#: A caller as users write it; its own cache is Numba's, in the folder of the file.
_CALLER = """
from numba import njit
from numba_nlp.kernels.tables.hashing import hash_bytes

@njit(cache=True)
def twice(data):
    return hash_bytes(data, 0, data.size) ^ hash_bytes(data, 1, data.size)
"""
_USE = """
import sys; sys.path.insert(0, {folder!r})
import numpy as np
from numba_nlp.kernels.tables.hashing import hash_bytes
from caller import twice
data = np.frombuffer(b"some bytes", np.uint8)
print(int(twice(data)), int(hash_bytes(data, 0, data.size) ^ hash_bytes(data, 1, data.size)))
print(sum(twice.stats.cache_hits.values()))
"""


def use(folder: Path) -> tuple[str, str, str]:
    compiled, python, hits = output_of(
        _USE.format(folder=str(folder)), NUMBA_NLP_CACHE_DIR=str(folder / "ours")
    ).split()
    return compiled, python, hits


def test_callers_of_users_compile_and_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "caller.py"
    file.write_text(_CALLER, encoding="utf-8")
    value, same, hits = use(tmp_path)
    assert (value, hits) == (same, "0")
    assert use(tmp_path) == (value, value, "1")
    # another caller, so the callee comes from the cache and is linked into code that is compiled now
    file.write_text(_CALLER.replace("def twice(data):", "def twice(data):\n    data = data.copy()"), encoding="utf-8")
    assert use(tmp_path) == (value, value, "0")


def test_a_callee_has_no_machine_code() -> None:
    if _jit.cache_folder() is None:
        pytest.skip("nothing is kept without a cache")
    output = output_of(
        """
import numpy as np
from numba import njit
from numba_nlp.kernels.tables.hashing import hash_bytes

@njit
def caller(data):
    return hash_bytes(data, 0, data.size)

data = np.frombuffer(b"some bytes", np.uint8)
assert caller(data) == hash_bytes(data, 0, data.size)
callee = next(iter(hash_bytes.get_overload.__self__.overloads.values()))
print(type(callee.library).__name__, callee.library.get_pointer_to_function(callee.fndesc.llvm_func_name))
"""
    )
    assert output.split() == ["CalleeLibrary", "0"]


def test_an_error_inside_a_callee_reaches_python(tmp_path: Path) -> None:
    code = """
import numpy as np
from numba import njit
from numba_nlp.kernels.tables.hashing import hash_bytes

@njit
def caller(data):
    return hash_bytes(data, 0, data.size + 40)

for call in (caller, lambda data: hash_bytes(data, 0, data.size + 40)):
    try:
        call(np.zeros(8, np.uint8))
    except IndexError as error:
        print(error)
"""
    for _ in ("compiled", "loaded"):
        output = output_of(code, NUMBA_BOUNDSCHECK="1", NUMBA_NLP_CACHE_DIR=str(tmp_path))
        assert output.count("out of bounds") == 2
