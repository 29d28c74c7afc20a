"""Run the benchmarks once by asv, smallest parameters, ours and one reference: to see that they run, not how fast.

::

    python -m asv_benchmarks.smoke

Exit status 1 says that a benchmark failed or that none ran; one that is skipped, for a library that is not installed,
is no failure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .benchmarks.backends import thread_environment
from .smallest import REAL_SIZES, classes, module, smallest

__all__ = ["BACKENDS", "LEFT_OUT", "main", "patterns"]

SUITE = Path(__file__).parent
ASV = (sys.executable, "-m", "asv")

#: Ours, and the reference that is a backend of most classes.
BACKENDS = ("numba_nlp", "tokenizers")
#: Models of real sizes, and 256 MB of text: they would take most of the time, and have tests with small ones.
LEFT_OUT = (*REAL_SIZES, "bench_models", "bench_scale_out")
#: The end of a line of asv's that holds a result: a time, an amount of memory, or a number.
FIGURE = re.compile(r"\d(?:ms|μs|us|ns|s|[kMG]?)\s*$")
#: A curve ends after a pass of so many seconds.
LONGEST = 0.01


def patterns(backend: str) -> list[str]:
    """What asv's ``--bench`` is given: each class that has the backend, with its smallest parameters."""
    found = []
    for name, kind in classes():
        if name in LEFT_OUT:
            continue
        chosen = smallest(getattr(module(name), kind), backend)
        if chosen is not None:
            values = f"({', '.join(map(repr, chosen))})" if chosen else ""
            found.append(rf"^{name}\.{kind}\.\w+{re.escape(values)}$")
    return found


def run_backend(backend: str) -> tuple[int, list[str]]:
    """Let asv run the benchmarks of a backend: exit status, and what it printed but for parameters not asked for."""
    chosen = [option for pattern in patterns(backend) for option in ("--bench", pattern)]
    command = [*ASV, "run", "--python=same", "--quick", "--dry-run", "--show-stderr", *chosen]
    done = subprocess.run(command, cwd=SUITE, env=environment(), stdout=subprocess.PIPE, text=True, check=False)
    # asv's tables hold all parameters; those that were not asked for are "n/a"
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return done.returncode, [line for line in lines if line and not line.endswith("n/a")]


def environment() -> dict[str, str]:
    """What asv runs in."""
    return {**os.environ, **thread_environment(1), "NUMBA_NLP_BENCH_LONGEST": str(LONGEST)}


def main() -> int:
    """Run asv."""
    subprocess.run([*ASV, "machine", "--yes"], cwd=SUITE, env=environment(), stdout=subprocess.DEVNULL, check=True)
    begun = time.perf_counter()
    statuses, figures = [], []
    # beside each other: nobody looks at the times
    with ThreadPoolExecutor(len(BACKENDS)) as pool:
        for status, lines in pool.map(run_backend, BACKENDS):
            print(*lines, sep="\n", flush=True)
            statuses.append(status)
            figures.append(sum(bool(FIGURE.search(line)) for line in lines))
    print(f"{sum(figures)} results in {time.perf_counter() - begun:.0f} s")
    return 1 if any(statuses) or not all(figures) else 0


if __name__ == "__main__":
    sys.exit(main())
