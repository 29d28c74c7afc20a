"""The sub-command ``numba-nlp info``; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from typing import Any

import typer

from numba_nlp._command_line import console, errors_in_one_line
from numba_nlp.commands import options

__all__ = ["info_command"]

#: Packages that only some calls need, as they are called on an index.
_OPTIONAL = (
    *(
        "pyarrow",
        "torch",
        "safetensors",
        "huggingface_hub",
        "typer",
        "rich",
        "matplotlib",
        "pandas",
        "polars",
        "awkward",
    ),
    *("dask", "datasets", "scikit-learn", "xarray"),
)
_NEEDED = ("numba", "llvmlite", "numpy", "regex", "protobuf", "platformdirs", "tqdm")
#: Features of processors that decide how fast kernels are.
_FEATURES = (
    "sse4.2",
    "avx",
    "avx2",
    "bmi2",
    "fma",
    "avx512f",
    "avx512bw",
    "avx512vl",
    "avx512vnni",
    "amx-int8",
    "neon",
)


def info_command(as_json: options.AsJson = False) -> None:
    """Show versions, the processor, what runs compiled, extras, and the folder of compiled code."""
    with errors_in_one_line():
        facts = _facts()
    if as_json:
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for title, entries in facts.items():
        table.add_section()
        for name, value in entries.items():
            shown = ", ".join(value) if isinstance(value, list) else _shown(value)
            table.add_row(Text(f"{title}: {name}"), Text(shown))
    console().print(table)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


def _facts() -> dict[str, dict[str, Any]]:
    from llvmlite import binding

    from numba_nlp import _fastcall, _jit
    from numba_nlp._encoders.rows import resolve_threads
    from numba_nlp._version import __version__
    from numba_nlp.kernels.words import VECTOR

    there = {name for name, on in binding.get_host_cpu_features().items() if on}
    folder = _jit.cache_folder()
    return {
        "versions": {
            "numba_nlp": __version__,
            "Python": f"{platform.python_implementation()} {platform.python_version()}",
            "system": platform.platform(),
            **{name: _version(name) for name in _NEEDED},
        },
        "processor": {
            "name": binding.get_host_cpu_name(),
            "features": [name for name in _FEATURES if name in there],
            "processors of this process": _processors(),
        },
        "what runs": {
            "compiled kernels": os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"),
            "vector instructions": bool(VECTOR),
            "fast calls": bool(_fastcall.AVAILABLE),
            "threads by default": resolve_threads(None),
        },
        "extras": {name: _version(name) for name in _OPTIONAL},
        "cache": {"folder": None if folder is None else str(folder), "digest": _jit.DIGEST},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
