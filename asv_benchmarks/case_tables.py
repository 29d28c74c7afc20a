"""What the pages about generation share: times of a case, ratios, tables."""

from __future__ import annotations

import statistics
from typing import Any

from .benchmarks.bench_generation import clock, ratios

__all__ = ["by_library", "ratio", "seconds", "table"]


def by_library(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The cells of a case by the name of their library."""
    return {cell["library"]: cell for cell in case["cells"]}


def ratio(case: dict[str, Any], theirs: str, ours: str) -> tuple[float, float] | None:
    """How many times as long theirs takes: of the medians, and of the quickest."""
    cells, taken = by_library(case), clock(case["threads"])
    if theirs not in cells or ours not in cells:
        return None
    return ratios(cells[theirs][taken], cells[ours][taken])


def seconds(case: dict[str, Any], library: str) -> float:
    """The median."""
    return statistics.median(by_library(case)[library][clock(case["threads"])])


def table(head: list[str], rows: list[list[str]], *, words: int = 1) -> str:
    """Columns of words, then columns of figures."""
    marks = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *rows])
