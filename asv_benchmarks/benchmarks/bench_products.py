"""Products of a few rows with a large matrix, what a decoder's step consists of; torch's ``linear`` beside.

The ratio in one process, products of both by turns (which asv cannot do), one thread, is printed by

    python -m asv_benchmarks.benchmarks.bench_products [part of a size ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from numba_nlp.generation.packing import KINDS, pack_matrices
from numba_nlp.kernels.step.products import COLUMNS, MULTIPLY, PACK, columns_of, new_packed_rows

#: Name -> outputs and depth: the output layer of OPUS-MT models, and layers of GPT-2 and BART-large.
SIZES = {"65001x512": (65001, 512), "3072x768": (3072, 768), "768x3072": (768, 3072), "1024x4096": (1024, 4096)}
ROWS = (1, 5, 6, 15, 18, 25, 60)
LIBRARIES = ("torch", *KINDS)


def make_call(library: str, size: str, n_rows: int) -> Callable[[], Any]:
    """One product; rows are packed anew each time, weights were before."""
    outputs, depth = SIZES[size]
    random = np.random.default_rng(0)
    weights = (random.standard_normal((outputs, depth)) * 0.05).astype(np.float32)
    x = random.standard_normal((n_rows, depth)).astype(np.float32)
    if library == "torch":
        import torch

        torch.set_num_threads(1)
        theirs, rows = torch.from_numpy(weights), torch.from_numpy(x)

        def linear() -> Any:
            with torch.inference_mode():
                return torch.nn.functional.linear(rows, theirs)

        return linear
    matrices, pack, multiply = pack_matrices([weights], None, library), PACK[library], MULTIPLY[library]
    packed, columns = new_packed_rows(n_rows, depth, library), int(columns_of(matrices))
    out = np.zeros((n_rows, columns), np.float32)

    def product() -> Any:
        pack(x, n_rows, packed)
        multiply(packed, n_rows, matrices, 0, 0, columns // COLUMNS, out)
        return out[:, :outputs]

    return product


class Products:
    """One product."""

    params = (list(LIBRARIES), list(SIZES), list(ROWS))
    param_names = ("library", "size", "rows")

    def setup(self, library: str, size: str, n_rows: int) -> None:
        if library == "torch" and find_spec("torch") is None:
            raise NotImplementedError("torch is not installed")
        self._call = make_call(library, size, n_rows)
        self._call()

    def time_product(self, library: str, size: str, n_rows: int) -> None:
        self._call()


def ratios(sizes: list[str], rounds: int = 15) -> None:
    """Print how many times as long torch takes, of the quickest products, and billions of operations a second."""
    print("size rows torch ms | kind: torch / ours, Gflop/s")
    for size in sizes:
        for n_rows in ROWS:
            calls = {library: make_call(library, size, n_rows) for library in LIBRARIES}
            exact = calls["torch"]().numpy()
            assert np.allclose(calls["float32"](), exact, rtol=1e-4, atol=1e-4)
            quickest = dict.fromkeys(LIBRARIES, np.inf)
            for _ in range(rounds):
                for library, call in calls.items():
                    start = time.perf_counter()
                    call()
                    quickest[library] = min(quickest[library], time.perf_counter() - start)
            operations = 2e-9 * n_rows * np.prod(SIZES[size])
            found = [
                f"{kind}: {quickest['torch'] / quickest[kind]:.2f}, {operations / quickest[kind]:.0f}" for kind in KINDS
            ]
            print(f"{size:10} {n_rows:3} {1e3 * quickest['torch']:8.2f} | {' | '.join(found)}", flush=True)


if __name__ == "__main__":
    ratios([name for name in SIZES if not sys.argv[1:] or any(part in name for part in sys.argv[1:])])
