"""What a results file says about the machine and the versions that made it."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from .benchmarks.backends import installed
from .benchmarks.backends import versions as backend_versions

__all__ = ["machine", "pin", "processors", "versions"]


def _processor() -> str:
    """Model name of the processor (Linux), else what Python knows."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def processors() -> list[int]:
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin(cpus: list[int]) -> None:
    """Keep this process (and threads that it starts) on these processors, where the system can do that (Linux)."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cpus)


def machine() -> dict[str, str | int]:
    """Processor, number of processors, load before the run, system and Python."""
    return {
        "processor": _processor(),
        "processors": os.cpu_count() or 0,
        "load": f"{os.getloadavg()[0]:.2f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str | None]:
    """Versions of the backends and of what decides our machine code."""
    found = backend_versions()
    found |= {name: installed(name) for name in ("numba", "llvmlite", "numpy", "pyarrow", "awkward")}
    if found["numba_nlp"] is None:
        import numba_nlp

        found["numba_nlp"] = getattr(numba_nlp, "__version__", None)
    return found
