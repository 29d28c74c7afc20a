"""What the processor has that Numba compiles for."""

from __future__ import annotations

from llvmlite import binding
from numba.core import config

__all__ = ["FEATURES"]


def _features() -> frozenset[str]:
    if config.CPU_FEATURES is not None:  # "+avx2,-avx512f"
        named = [name.strip() for name in config.CPU_FEATURES.split(",")]
        return frozenset(name[1:] for name in named if name.startswith("+"))
    return frozenset(name for name, there in binding.get_host_cpu_features().items() if there)


#: Names as LLVM has them: "avx2", "avx512vbmi2".
FEATURES = _features()
