"""Whole pipelines, from text to result, and where their time goes; transformers beside.

Both libraries in one process, by turns (which asv cannot do), results compared, are measured by

    python -m asv_benchmarks.benchmarks.bench_pipelines --rounds 5 --record docs/results/pipeline_speed.json

``--tasks translate generate`` takes some tasks only, and ``--record`` puts them in place of what the file has of them.
``python -m asv_benchmarks.pipeline_page`` then writes ``docs/pipeline_speed.md``. asv keeps the history of ours and
theirs for one row.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .bench_generation import clock
from .pipeline_case import PipelineCase
from .pipeline_cases import CASES

BATCHES = (1, 32)
#: Whose versions are recorded.
PACKAGES = ("llvmlite", "numba", "numpy", "tokenizers", "torch", "transformers")
LIBRARIES = ("numba_nlp", "transformers")
#: What the time of a pipeline is split into.
STAGES = ("tokenize", "forward", "choose", "decode")


class Pipelines:
    """One row through a pipeline, on one thread."""

    params = (list(LIBRARIES), list(CASES))
    param_names = ("library", "task")
    timeout = 600
    warmup_time = 0
    rounds = 1

    def setup(self, library: str, task: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        try:
            case = CASES[task]
            calls = prepare(case, Path(self._folder.name), 1, 1)
            rows = case.inputs(1)
            self._call = lambda: calls[library](rows)
            self._call()
        except BaseException:
            self._folder.cleanup()
            raise

    def teardown(self, *_: str) -> None:
        self._folder.cleanup()

    def time_call(self, library: str, task: str) -> None:
        self._call()

    def peakmem_call(self, library: str, task: str) -> None:
        self._call()


class PipelineParts:
    """Where the time of ours goes: seconds of each stage for one row, on one thread."""

    params = (list(STAGES), list(CASES))
    param_names = ("stage", "task")
    timeout = 600

    def setup(self, stage: str, task: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        try:
            case = CASES[task]
            call, rows = prepare(case, Path(self._folder.name), 1, 1)["numba_nlp"], case.inputs(1)
            self._call = lambda: call(rows)[1]
            self._call()
        except BaseException:
            self._folder.cleanup()
            raise

    def teardown(self, *_: str) -> None:
        self._folder.cleanup()

    def track_seconds(self, stage: str, task: str) -> float:
        """The median of three calls."""
        return statistics.median(self._call()[stage] for _ in range(3))

    track_seconds.unit = "s"  # type: ignore[attr-defined]


def prepare(case: PipelineCase, folder: Path, batch: int, threads: int) -> dict[str, Callable[[list[Any]], Any]]:
    """What does the task by each library, with a checkpoint that is written if the folder has none.

    Raises
    ------
    NotImplementedError
        A library is not there.
    """
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise NotImplementedError(f"{package} is not installed")
    import torch

    import numba_nlp as nlp

    torch.set_num_threads(threads)
    if not (folder / "config.json").exists():
        case.write(folder, case.settings)
    pipe = nlp.pipeline(case.task, model=folder)
    return {
        "numba_nlp": lambda rows: pipe(rows, batch_size=batch, timings=True, **case.options),
        "transformers": case.peer(folder, case.their_options, batch),
    }


def measure(case: PipelineCase, batch: int, rounds: int, threads: int = 1) -> dict[str, Any]:
    """Seconds of both libraries, of the process and by the wall's clock, rounds by turns; and the parts of ours."""
    with tempfile.TemporaryDirectory() as name:
        calls = prepare(case, Path(name), batch, threads)
        rows = case.inputs(batch)
        # the first calls compile, and load what is loaded late
        ours, theirs = map(case.plain, calls["numba_nlp"](rows)[0]), calls["transformers"](rows)
        found: dict[str, Any] = {
            "rows": len(rows),
            "equal": sum(case.same(one, other) for one, other in zip(ours, theirs, strict=True)),
            **{library: {"wall": [], "cpu": []} for library in LIBRARIES},
            "parts": [],
        }
        for _ in range(rounds):
            for library in LIBRARIES:
                wall, cpu = time.perf_counter(), time.process_time()
                result = calls[library](rows)
                found[library]["cpu"].append(round(time.process_time() - cpu, 5))
                found[library]["wall"].append(round(time.perf_counter() - wall, 5))
                if library == "numba_nlp":
                    found["parts"].append({stage: round(seconds, 5) for stage, seconds in result[1].items()})
        del calls
        gc.collect()
    return found


def record(path: Path, task: str, batch: int, rounds: int, threads: int, found: dict[str, Any]) -> None:
    """Put a case into a file, in place of what that has of it.

    Raises
    ------
    ValueError
        The file was made on another machine, or with other versions.
    """
    from asv_benchmarks.records import open_record, stamp

    whole = open_record(path, PACKAGES)
    place = (task, batch, threads)
    others = [case for case in whole["cases"] if (case["task"], case["batch"], case["threads"]) != place]
    new = {
        "task": task,
        "batch": batch,
        "threads": threads,
        "rounds": rounds,
        **stamp(),
        **found,
    }
    order = list(CASES)
    whole["cases"] = sorted(
        [*others, new], key=lambda case: (case["threads"], order.index(case["task"]), case["batch"])
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(f"  {json.dumps(case)}" for case in whole["cases"])
    head = json.dumps(whole | {"cases": []}, indent=1)
    path.write_text(head.replace('"cases": []', f'"cases": [\n{lines}\n ]') + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 if results differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tasks", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--record", type=Path)
    options = parser.parse_args(arguments)
    wrong = []
    for task in options.tasks:
        for batch in options.batches:
            found = measure(CASES[task], batch, options.rounds, options.threads)
            theirs, ours = (min(found[name][clock(options.threads)]) for name in ("transformers", "numba_nlp"))
            parts = ", ".join(f"{stage} {seconds:.4f}" for stage, seconds in found["parts"][-1].items())
            print(
                f"{task:12} {batch:3} rows: transformers {theirs:.3f} s, ours {ours:.3f} s, {theirs / ours:.2f} times "
                f"as fast; {found['equal']}/{found['rows']} equal; {parts}",
                flush=True,
            )
            if options.record:
                record(options.record, task, batch, options.rounds, options.threads, found)
            if found["equal"] < found["rows"]:
                wrong.append(
                    f"{task}, {batch} rows: {found['rows'] - found['equal']} results are not those of transformers"
                )
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
