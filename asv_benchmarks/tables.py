"""What the tables of the report are made of: selecting records, ratios of the same round, Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from statistics import median
from typing import Any

from .ratios import OURS, Ratio, ratio_of, ratio_to_peer

__all__ = [
    "CELLS",
    "adversarial_share",
    "label",
    "ratio",
    "select",
    "shown",
    "spans_cost",
    "speeds",
    "spread",
    "spread_words",
    "table",
    "threads_gain",
    "unique",
]

CELLS = ("cold", "warm", "held-out")


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join([" --- "] + [" ---: "] * (len(head) - 1)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def speeds(record: dict[str, Any]) -> list[float]:
    """MB/s of every sample."""
    sizes = record["sizes"] or [record["n_bytes"]] * len(record["seconds"])
    return [n / 1e6 / seconds for n, seconds in zip(sizes, record["seconds"], strict=True)]


def spread(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def label(record: dict[str, Any]) -> str:
    return record["backend"] if record["exact"] else f"{record['backend']} (*inexact*)"


def shown(found: Ratio, name: str) -> str:
    """``**1.23** (name)``, with the spread where it is not settled."""
    return f"**{found.value:.2f}** ({name}{'' if found.settled else f'; {spread_words(found)}'})"


def spread_words(found: Ratio) -> str:
    return "too few rounds" if found.spread == inf else f"spread {100 * found.spread:.0f} %"


def ratio(records: list[dict[str, Any]]) -> str:
    """Our ratio to the fastest exact peer of these records of one cell."""
    ours = next((record for record in records if record["backend"] == OURS), None)
    if ours is not None and not ours["exact"]:
        return "ours is inexact"
    ranked = ratio_to_peer(records)
    return "-" if ranked is None else shown(ranked[1], ranked[0]["backend"])


def select(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    return [record for record in results["records"] if all(record[key] == value for key, value in wanted.items())]


def unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def spans_cost(results: dict[str, Any], vocabulary: str, corpus: str) -> Ratio:
    """Time with spans by time without."""
    by_cell = {r["cell"]: r for r in select(results, table="spans", vocabulary=vocabulary, corpus=corpus)}
    return ratio_of(by_cell["ids"], by_cell["spans"])


def threads_gain(results: dict[str, Any], vocabulary: str, corpus: str, cell: str) -> Ratio | None:
    """How many times as fast two threads are as one, ours."""
    found = {
        r["threads"]: r
        for r in select(results, table="threads", vocabulary=vocabulary, corpus=corpus, cell=cell)
        if r["backend"] == OURS
    }
    return ratio_of(found[2], found[1]) if set(found) == {1, 2} else None


def adversarial_share(entry: dict[str, Any]) -> float:
    """Speed on the shape (first pass) as a share of the speed on 1 MB of Python sources, cold as well."""
    return entry["seconds"]["ordinary"] / entry["seconds"]["first"]
