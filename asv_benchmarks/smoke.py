"""Run the benchmarks once by asv, smallest parameters, ours and one reference: to see that they run, not how fast.

::

    python -m asv_benchmarks.smoke

Exit status 1 says that a benchmark failed or that none ran; one that is skipped, for a library that is not installed,
is no failure.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .benchmarks.backends import thread_environment
from .smallest import REAL_SIZES, classes, module, smallest

__all__ = ["BACKENDS", "LEFT_OUT", "main", "patterns"]

#: Ours, and the reference that is a backend of most classes.
BACKENDS = ("numba_nlp", "tokenizers")
#: Models of real sizes, and 256 MB of text: they would take most of the time, and have tests with small ones.
LEFT_OUT = (*REAL_SIZES, "bench_models", "bench_scale_out")
#: The end of a line of asv's that holds a result: a time, an amount of memory, or a number.
FIGURE = re.compile(r"\d(?:ms|μs|us|ns|s|[kMG]?)\s*$")
#: A curve ends after a pass of so many seconds.
LONGEST = 0.01


def patterns() -> list[str]:
    """What asv's ``--bench`` is given: each class with its smallest parameters."""
    found = []
    for name, kind in classes():
        if name in LEFT_OUT:
            continue
        for backend in BACKENDS:
            chosen = smallest(getattr(module(name), kind), backend)
            if chosen is not None:
                values = f"({', '.join(map(repr, chosen))})" if chosen else ""
                found.append(rf"^{name}\.{kind}\.\w+{re.escape(values)}$")
    return list(dict.fromkeys(found))


def settings(folder: Path) -> Path:
    """The settings of asv, but for its results: a run that means nothing must not touch those that are kept."""
    suite = Path(__file__).parent
    found = json.loads((suite / "asv.conf.json").read_text(encoding="utf-8"))
    found |= {"repo": str(suite.parent), "benchmark_dir": str(suite / "benchmarks"), "results_dir": str(folder)}
    path = folder / "asv.conf.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def main() -> int:
    """Run asv."""
    with tempfile.TemporaryDirectory() as folder:
        return run(settings(Path(folder)))


def run(configured: Path) -> int:
    """Run asv with these settings."""
    suite = Path(__file__).parent
    environment = {**os.environ, **thread_environment(1), "NUMBA_NLP_BENCH_LONGEST": str(LONGEST)}
    asv = [sys.executable, "-m", "asv", "--config", str(configured)]
    subprocess.run([*asv, "machine", "--yes"], cwd=suite, env=environment, stdout=subprocess.DEVNULL, check=True)
    chosen = [option for pattern in patterns() for option in ("--bench", pattern)]
    begun = time.perf_counter()
    command = [*asv, "run", "--python=same", "--quick", "--dry-run", "--show-stderr", *chosen]
    figures = 0
    with subprocess.Popen(command, cwd=suite, env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            # asv's tables hold all parameters; those that were not asked for are "n/a"
            if line.strip() and not line.rstrip().endswith("n/a"):
                print(line.rstrip(), flush=True)
            figures += bool(FIGURE.search(line))
    print(f"{figures} results in {time.perf_counter() - begun:.0f} s")
    return 1 if running.returncode or not figures else 0


if __name__ == "__main__":
    sys.exit(main())
