"""Whole generations, models of the real sizes with random weights; transformers and CTranslate2 beside.

All libraries in one process, by turns (which asv cannot do), tokens compared, are measured by

    python -m asv_benchmarks.benchmarks.bench_generation --threads 1 2 --rounds 5 \
        --record docs/results/generation_speed.json

which takes about an hour; ``--cases marian gpt2-1`` takes those with these names or parts of names, and
``--record`` puts them in place of what the file has of them. ``python -m asv_benchmarks.generation_page`` then writes
``docs/generation_speed.md``. asv keeps the history of three cases of one sentence or a few.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from .generation_models import CASES, GenerationCase, write_checkpoint
from .generation_peers import LIBRARIES, Call, exact, make_call, read_inputs

#: Sums of log-probabilities in float64 that are as near as this are tied: float32 decides by its last bits.
TIED = 1e-5
#: Whose versions are recorded.
PACKAGES = ("ctranslate2", "llvmlite", "numba", "numpy", "torch", "transformers")


class Generation:
    """One generation, on one thread."""

    params = (list(LIBRARIES), ["marian-1", "t5-small-3", "gpt2-1"])
    param_names = ("library", "case")
    timeout = 600
    # a generation takes a second or more
    warmup_time = 0
    rounds = 1

    def setup(self, library: str, case: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        try:
            self._call = prepare(library, CASES[case], Path(self._folder.name), 1)
        except BaseException:
            self._folder.cleanup()
            raise
        self._call()

    def teardown(self, *_: str) -> None:
        self._folder.cleanup()

    def time_generate(self, library: str, case: str) -> None:
        self._call()

    def peakmem_generate(self, library: str, case: str) -> None:
        self._call()


def prepare(library: str, case: GenerationCase, folder: Path, threads: int) -> Call:
    """What generates with a checkpoint that is written if the folder has none.

    Raises
    ------
    NotImplementedError
        The library, or its kind of weights, is not there.
    """
    from importlib.util import find_spec

    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise NotImplementedError(f"{package} is not installed")
    if not (folder / "config.json").exists():
        write_checkpoint(case, folder)
    return make_call(library, case, folder, threads)


def compare(case: GenerationCase, folder: Path, rows: np.ndarray, right: np.ndarray) -> dict[str, int]:
    """How many rows are those of transformers, and how many others are tied with them: as probable, in float64."""
    if rows.shape != right.shape:
        raise ValueError(f"{rows.shape} tokens, transformers has {right.shape}")
    same = (rows == right).all(1)
    found = {"rows": len(rows), "equal": int(same.sum()), "tied": 0}
    if not same.all() and not case.sampled:
        import torch

        import numba_nlp as nlp
        from numba_nlp.generation import score

        model = nlp.load_model(folder)
        model.cast(torch.float64)
        ids, mask = read_inputs(case, folder)
        sums = [
            score(model, ids, tokens, mask).token_scores.numpy().astype(np.float64).sum(1) for tokens in (rows, right)
        ]
        # sums of float32, which all libraries compare, are no finer than this
        tied = np.maximum(TIED, 2 * np.spacing(np.abs(sums[1]).astype(np.float32)))
        found["tied"] = int((np.abs(sums[0] - sums[1]) <= tied)[~same].sum())
    return found


def _prepare_or_say(library: str, case: GenerationCase, folder: Path, threads: int) -> Call | None:
    try:
        return prepare(library, case, folder, threads)
    except NotImplementedError as missing:
        print(f"  {library} is left out: {missing}", file=sys.stderr)
        return None


def measure(case: GenerationCase, threads: int, rounds: int, libraries: list[str]) -> list[dict[str, Any]]:
    """Seconds of each library, wall clock and of the process, in rounds of all of them."""
    with tempfile.TemporaryDirectory() as name:
        folder, calls = Path(name), dict[str, Call]()
        for library in libraries:
            call = _prepare_or_say(library, case, folder, threads)
            if call is not None:
                calls[library] = call
        # the first calls compile, and load what is loaded late
        tokens = {library: call() for library, call in calls.items()}
        cells = {
            library: {"library": library, "wall": [], "cpu": []}
            | compare(case, folder, rows, tokens["transformers"])
            | {"exact": exact(library, case)}
            for library, rows in tokens.items()
        }
        for _ in range(rounds):
            for library, generate in calls.items():
                wall, cpu = time.perf_counter(), time.process_time()
                generate()
                cells[library]["cpu"].append(round(time.process_time() - cpu, 4))
                cells[library]["wall"].append(round(time.perf_counter() - wall, 4))
        # models of several sizes, one after the other
        del calls, generate, call
        gc.collect()
    return list(cells.values())


def clock(threads: int) -> str:
    """Which of the times are compared: of the process, which others on the machine disturb least, or the wall's."""
    return "cpu" if threads == 1 else "wall"


def ratios(theirs: list[float], ours: list[float]) -> tuple[float, float]:
    """How many times as long the first take: of the medians, and of the quickest."""
    return statistics.median(theirs) / statistics.median(ours), min(theirs) / min(ours)


def line(name: str, threads: int, cells: list[dict[str, Any]]) -> str:
    """One row for the eye."""
    taken = clock(threads)
    base = next(cell for cell in cells if cell["library"] == "transformers")[taken]
    parts = [f"{name:16} {threads} thread(s), transformers {statistics.median(base):6.2f} s"]
    for cell in cells:
        if cell["library"] != "transformers":
            median, quickest = ratios(base, cell[taken])
            same = f"{cell['equal']}+{cell['tied']}/{cell['rows']}"
            parts.append(f"{cell['library']} {median:.2f} {quickest:.2f} ({same})")
    return " | ".join(parts)


def record(path: Path, name: str, threads: int, rounds: int, cells: list[dict[str, Any]]) -> None:
    """Put a case into a file, in place of what that has of it.

    Raises
    ------
    ValueError
        The file was made on another machine, or with other versions.
    """
    from asv_benchmarks.records import open_record, stamp

    found = open_record(path, PACKAGES)
    others = [case for case in found["cases"] if (case["case"], case["threads"]) != (name, threads)]
    new = {
        "case": name,
        "threads": threads,
        "rounds": rounds,
        **stamp(),
        "cells": cells,
    }
    order = list(CASES)
    found["cases"] = sorted([*others, new], key=lambda case: (case["threads"], order.index(case["case"])))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_one_list_a_line(found), encoding="utf-8")


def _one_list_a_line(value: dict[str, Any]) -> str:
    """JSON with one library a line."""
    lines = json.dumps(value | {"cases": []}, indent=1)
    cases = []
    for case in value["cases"]:
        cells = ",\n".join(f"   {json.dumps(cell)}" for cell in case["cells"])
        head = json.dumps({key: entry for key, entry in case.items() if key != "cells"})
        cases.append(f'  {head[:-1]}, "cells": [\n{cells}\n  ]}}')
    return lines.replace('"cases": []', '"cases": [\n' + ",\n".join(cases) + "\n ]") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Measure; 1 if tokens differ that must not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="+", default=[""], help="names, or parts of them")
    parser.add_argument("--libraries", nargs="+", default=[""], help="parts of names; transformers is always there")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args(arguments)
    libraries = [
        name for name in LIBRARIES if name == "transformers" or any(part in name for part in options.libraries)
    ]
    wrong = []
    for threads in options.threads:
        for name, case in CASES.items():
            # a whole name is that case only
            if not any(part == name or (part not in CASES and part in name) for part in options.cases):
                continue
            cells = measure(case, threads, options.rounds, libraries)
            print(line(name, threads, cells), flush=True)
            if options.record:
                record(options.record, name, threads, options.rounds, cells)
            wrong += [
                f"{name}, {cell['library']}: {cell['rows'] - cell['equal'] - cell['tied']} rows of other tokens"
                for cell in cells
                if cell["exact"] and cell["equal"] + cell["tied"] < cell["rows"]
            ]
    for text in wrong:
        print(text, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
