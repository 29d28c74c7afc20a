"""Products on processors other than this one: the same integers, and weights of 16 bits where none are converted."""

from __future__ import annotations

import platform

import pytest
from llvmlite import binding
from numba.core import config

from tests.robustness.children import run_child

_PROGRAM = """
import hashlib
import numpy as np
from numba_nlp.generation.packing import pack_matrices
from numba_nlp.kernels.step.products import COLUMNS, MULTIPLY, PACK, columns_of, new_packed_rows
from numba_nlp.kernels.step.row_blocks import LANES

def multiply(x, weights, kind):
    matrices = pack_matrices([weights], None, kind)
    packed = new_packed_rows(len(x), x.shape[1], kind)
    PACK[kind](x, len(x), packed)
    columns = int(columns_of(matrices))
    out = np.zeros((len(x), columns), np.float32)
    MULTIPLY[kind](packed, len(x), matrices, 0, 0, columns // COLUMNS, out)
    return np.ascontiguousarray(out[:, :len(weights)])

random = np.random.default_rng(11)
digest = hashlib.sha256()
for n_rows, outputs, depth in ((1, 5, 3), (5, 70, 64), (12, 33, 37), (13, 64, 100), (31, 40, 129)):
    x = random.standard_normal((n_rows, depth)).astype(np.float32)
    weights = random.standard_normal((outputs, depth)).astype(np.float32)
    for kind in ("int8", "int16"):
        digest.update(multiply(x, weights, kind))
halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
halves = halves[np.isfinite(halves)].astype(np.float32)
values = multiply(np.ones((1, 1), np.float32), halves.reshape(-1, 1), "float16")[0]
assert (values == halves).all()
print(LANES, digest.hexdigest())
"""

_OTHERS = {"generic": ""}
if platform.machine().lower() in ("x86_64", "amd64"):
    _there = binding.get_host_cpu_features()
    if all(_there.get(name) for name in ("avx2", "fma", "f16c")):
        _OTHERS["haswell"] = "+64bit,+avx,+avx2,+bmi,+bmi2,+cx16,+f16c,+fma,+popcnt,+sse4.2"
        if all(_there.get(f"avx512{name}") for name in ("f", "bw", "dq", "vl", "cd")):
            more = ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd"
            _OTHERS["skylake-avx512"] = _OTHERS["haswell"] + more


# each compiles everything anew
@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="is about compiled code")
def test_products_of_integers_are_the_same_everywhere():
    found = {}
    for name, features in _OTHERS.items():
        done = run_child(_PROGRAM, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features)
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout.split()
    done = run_child(_PROGRAM)
    assert done.returncode == 0, done.stderr
    found["this"] = done.stdout.split()
    assert found["generic"][0] == "8"
    assert len({digest for _, digest in found.values()}) == 1
