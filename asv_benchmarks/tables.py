"""What the tables of the report are made of: selecting records, ratios of the same round, Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

__all__ = [
    "CELLS",
    "OURS",
    "adversarial_share",
    "fastest_peer",
    "label",
    "paired_ratio",
    "ratio",
    "select",
    "spans_cost",
    "speeds",
    "spread",
    "table",
    "threads_gain",
    "unique",
]

OURS = "numba_nlp"
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


def fastest_peer(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    peers = [record for record in records if record["backend"] != OURS and record["exact"]]
    return min(peers, key=lambda record: median(record["seconds"]) / (record["n_bytes"] or 1), default=None)


def paired_ratio(ours: dict[str, Any], peer: dict[str, Any]) -> float:
    """Median over samples of (peer's seconds / our seconds), both per byte, taken in the same round."""
    mine, theirs = ours["seconds"], peer["seconds"]
    if len(mine) != len(theirs):  # a slow reference has fewer rounds
        return median(theirs) / (peer["n_bytes"] or 1) / (median(mine) / (ours["n_bytes"] or 1))
    scale = (ours["n_bytes"] or 1) / (peer["n_bytes"] or 1)
    return median(b / a for a, b in zip(mine, theirs, strict=True)) * scale


def ratio(records: list[dict[str, Any]]) -> tuple[str, float | None]:
    """``1.23 (name)`` and the number, against the fastest exact peer of these records of one cell."""
    ours = next((record for record in records if record["backend"] == OURS), None)
    peer = fastest_peer(records)
    if ours is None or peer is None:
        return "-", None
    if not ours["exact"]:
        return "ours is inexact", None
    found = paired_ratio(ours, peer)
    return f"**{found:.2f}** ({peer['backend']})", found


def select(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    return [record for record in results["records"] if all(record[key] == value for key, value in wanted.items())]


def unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def spans_cost(results: dict[str, Any], vocabulary: str, corpus: str) -> float:
    by_cell = {r["cell"]: r for r in select(results, table="spans", vocabulary=vocabulary, corpus=corpus)}
    return median(b / a for a, b in zip(by_cell["ids"]["seconds"], by_cell["spans"]["seconds"], strict=True))


def threads_gain(results: dict[str, Any], vocabulary: str, corpus: str, cell: str) -> float | None:
    found = {
        r["threads"]: r
        for r in select(results, table="threads", vocabulary=vocabulary, corpus=corpus, cell=cell)
        if r["backend"] == OURS
    }
    if set(found) != {1, 2}:
        return None
    return median(a / b for a, b in zip(found[1]["seconds"], found[2]["seconds"], strict=True))


def adversarial_share(entry: dict[str, Any]) -> float:
    """Speed on the shape (first pass) as a share of the speed on 1 MB of Python sources, cold as well."""
    return entry["seconds"]["ordinary"] / entry["seconds"]["first"]
