"""Write ``docs/pipeline_speed.md`` from what ``asv_benchmarks.benchmarks.bench_pipelines`` recorded.

::

    python -m asv_benchmarks.pipeline_page
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .benchmarks.bench_generation import clock, ratios
from .benchmarks.pipeline_cases import CASES
from .case_tables import table

__all__ = ["PAGE", "RECORD", "main", "render"]

RECORD = ROOT / "docs" / "results" / "pipeline_speed.json"
PAGE = ROOT / "docs" / "pipeline_speed.md"
_STAGES = ("tokenize", "forward", "choose", "decode")
_HOW = """\
From text to result, both libraries by turns in one process, after one call each that compiles and loads. Where
transformers 5 has no such pipeline any more, its tokenizer, `generate` and decoder stand in its place, as its pipelines
of version 4 used them. Models have random weights and write as many tokens for every row. A ratio is how many times as
long transformers takes: of the medians, and of the quickest calls; on one thread it is the time of the process, on more
the wall clock's. Results are compared row by row."""
_PARTS = """\
An article on text generation in Rust (Becquin, last revised in January 2021) says that preprocessing can amount to 20
to 30 % of the time of simple pipelines, by measurements of question answering, and that Rust and Python are virtually
as fast in classification, token classification and question answering (ratios of `classify`, `tag_tokens` and `answer`
above near 1), where both leave the model to the same library. Here is where the time of ours goes, by
the wall's clock (medians; rough where others use the machine): text to ids; the model (sources, prompts and the steps
of the decoder); the choice of tokens on its numbers, with what surrounds it; ids to text. *Around* is all but the
model."""


def _ratio(case: dict[str, Any]) -> str:
    median, quickest = ratios(*(case[library][clock(case["threads"])] for library in ("transformers", "numba_nlp")))
    return f"{median:.2f} ({quickest:.2f})"


def _seconds(case: dict[str, Any], library: str) -> str:
    return f"{statistics.median(case[library][clock(case['threads'])]):.3f} s"


def _speeds(cases: list[dict[str, Any]]) -> str:
    rows = [
        [
            case["task"],
            str(case["batch"]),
            _seconds(case, "transformers"),
            _seconds(case, "numba_nlp"),
            _ratio(case),
            f"{case['equal']} of {case['rows']}",
        ]
        for case in cases
    ]
    return table(["task", "rows", "transformers", "numba_nlp", "ratio", "equal"], rows)


def _parts(cases: list[dict[str, Any]]) -> str:
    rows = []
    for case in cases:
        medians = {stage: statistics.median(part[stage] for part in case["parts"]) for stage in _STAGES}
        whole = sum(medians.values())
        shares = [f"{100 * medians[stage] / whole:.1f} %" for stage in _STAGES]
        rows.append([case["task"], str(case["batch"]), *shares, f"{100 * (1 - medians['forward'] / whole):.1f} %"])
    return table(["task", "rows", "tokenize", "model", "choose", "decode", "around"], rows)


def render(results: dict[str, Any]) -> str:
    """The page."""
    here = results["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    parts = [
        "# Speed of pipelines",
        "Written by `python -m asv_benchmarks.pipeline_page` from `docs/results/pipeline_speed.json`, which `python -m "
        "asv_benchmarks.benchmarks.bench_pipelines --record ...` measures; no figure is typed by hand but "
        "the article's.",
        f"{here['processor']}, {here['processors']} processors, {here['system']}, Python {here['python']}; {packages}.",
        _HOW,
        "\n".join(f"- {task}: {CASES[task].says}" for task in dict.fromkeys(case["task"] for case in results["cases"])),
    ]
    for threads in sorted({case["threads"] for case in results["cases"]}):
        cases = [case for case in results["cases"] if case["threads"] == threads]
        dates, loads = sorted(case["date"] for case in cases), [case["load"] for case in cases]
        rounds = " or ".join(map(str, sorted({case["rounds"] for case in cases})))
        parts += [
            f"## {'One thread' if threads == 1 else f'{threads} threads'}",
            f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {rounds} rounds; load of the machine at the end of "
            f"a case {min(loads):.1f} to {max(loads):.1f} (undisturbed: {threads}).",
            _speeds(cases),
            "### Where the time goes",
            _PARTS,
            _parts(cases),
        ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the page."""
    PAGE.write_text(render(json.loads(RECORD.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{Path(PAGE).relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
