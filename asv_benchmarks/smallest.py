"""The smallest parameters of each benchmark, for its test and for ``make bench-smoke``."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any

from . import benchmarks

__all__ = ["MODULES", "REAL_SIZES", "SMALLEST", "classes", "module", "smallest"]

#: Modules with benchmarks of asv.
MODULES = sorted(info.name for info in pkgutil.iter_modules(benchmarks.__path__) if info.name.startswith("bench_"))
#: What runs models of real sizes; their tests have small ones.
REAL_SIZES = ("bench_generation", "bench_pipelines")
#: Name of a parameter -> its smallest value.
SMALLEST: dict[str, Any] = {
    "vocabulary": "gpt2",
    "corpus": "hamlet_lines",
    "text": "1 letter",
    "shape": "spaces",
    "threads": 2,
    "vocab_size": 8000,
    "model": "ElectraForPreTraining",
    "batch": "1x16",
    "case": "beams, rules",
    "library": "float32",
    "size": "768x3072",
    "rows": 1,
    "bytes": 1000,
}


def module(name: str) -> Any:
    """One of :data:`MODULES`, imported."""
    return importlib.import_module(f"asv_benchmarks.benchmarks.{name}")


def classes() -> list[tuple[str, str]]:
    """Module and name of every benchmark class."""
    return [
        (name, found)
        for name in MODULES
        for found, value in inspect.getmembers(module(name), inspect.isclass)
        if not found.startswith("_") and value.__module__.endswith(name) and _methods(value)
    ]


def _methods(value: type) -> list[str]:
    return [name for name in dir(value) if name.startswith(("time_", "timeraw_", "peakmem_", "track_"))]


def smallest(benchmark: Any, backend: str) -> list[Any] | None:
    """Values of the parameters of a benchmark class for a backend; None where it does not have that backend.

    Raises
    ------
    KeyError
        No smallest value of a parameter is known, or the benchmark does not have it: add it to :data:`SMALLEST`.
    """
    names = getattr(benchmark, "param_names", ())
    params = dict(zip(names, getattr(benchmark, "params", ()), strict=True))
    if backend not in params.get("backend", ["numba_nlp"]):
        return None
    chosen = [backend if name == "backend" else SMALLEST[name] for name in names]
    for name, value in zip(names, chosen, strict=True):
        if value not in params[name]:
            raise KeyError(f"{name} of {benchmark} is {value!r} at the smallest, which is none of {params[name]}")
    return chosen
