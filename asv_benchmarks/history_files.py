"""Files in which asv keeps what it found at a commit: read, and cut to what the history follows.

A file has a row a benchmark; its lists stand in the order of the product of the benchmark's parameters. The rows carry
those parameters, by which asv finds what it looks for, so that a file may hold some of them only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from .history_cases import CASES, Case

__all__ = ["measured", "read_results", "trim", "trimmed"]


def read_results(folder: Path) -> dict[str, dict[str, Any]]:
    """What asv kept of one machine: commit -> its file.

    Parameters
    ----------
    folder : Path
        Of a machine, below ``results_dir``.
    """
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        if path.name != "machine.json":
            one = json.loads(path.read_text(encoding="utf-8"))
            found[one["commit_hash"]] = one
    return found


def measured(found: Mapping[str, Any], case: Case) -> float | None:
    """A figure of a commit's file (seconds, or bytes), None where that commit could not be measured."""
    row = found["results"].get(case.benchmark)
    if row is None:
        return None
    named = dict(zip(found["result_columns"], row, strict=False))
    if named["result"] is None:
        return None
    wanted = tuple(map(repr, case.parameters))
    for parameters, value in zip(product(*named["params"]), named["result"], strict=True):
        if parameters == wanted:
            return None if value is None or math.isnan(value) else float(value)
    return None


def trimmed(found: Mapping[str, Any]) -> dict[str, Any]:
    """A file with the benchmarks and parameters of the history alone, and without single samples.

    Of hundreds of sets of parameters a few are measured; the others would be ``null`` in ten columns.
    """
    rows: dict[str, list[Any]] = {}
    for benchmark, row in found["results"].items():
        used = [case.parameters for case in CASES if case.benchmark == benchmark]
        if not used:
            continue
        named = dict(zip(found["result_columns"], row, strict=False))
        old = list(product(*named["params"]))
        kept = [
            [value for value in values if value in {repr(parameters[place]) for parameters in used}]
            for place, values in enumerate(named["params"])
        ]
        places = [old.index(parameters) for parameters in product(*kept)]
        for column, value in named.items():
            if column == "params":
                named[column] = kept
            elif isinstance(value, list):
                named[column] = [value[place] for place in places]
        values = [None if column == "samples" else value for column, value in named.items()]
        # as asv does
        while values and values[-1] is None:
            values.pop()
        rows[benchmark] = values
    return {**found, "results": rows}


def trim(path: Path) -> None:
    """Cut a file to what the history follows."""
    found = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(trimmed(found), separators=(",", ":")) + "\n", encoding="utf-8")
