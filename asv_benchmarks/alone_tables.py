"""The tables of what is measured in processes of its own, and of what libraries refuse."""

from __future__ import annotations

from statistics import median
from typing import Any

from .benchmarks.backends import BACKENDS
from .tables import adversarial_share, table, unique

__all__ = ["adversarial_table", "memory_table", "refusals_table", "startup_table"]


def adversarial_table(results: dict[str, Any]) -> list[str]:
    if not results["adversarial"]:
        return []
    parts = [
        "## 1 MB of one shape in one text",
        "A fresh process per cell: 1 MB of Python sources, then the text, first pass, in MB/s; in brackets the share "
        "of the speed on the sources. *stopped*: over the limit of seconds that the results file states.",
    ]
    for vocabulary in unique(entry["vocabulary"] for entry in results["adversarial"]):
        entries = [entry for entry in results["adversarial"] if entry["vocabulary"] == vocabulary]
        shapes = unique(entry["shape"] for entry in entries)
        rows = []
        for backend in unique(entry["backend"] for entry in entries):
            row = [backend]
            for entry in (e for e in entries if e["backend"] == backend):
                if entry["seconds"] is None:
                    row.append("*stopped*")
                    continue
                mark = "" if entry["exact"] else " *inexact*"
                row.append(f"{1 / entry['seconds']['first']:.1f} ({adversarial_share(entry):.2f}){mark}")
            rows.append(row)
        parts += [f"### {vocabulary}", table(["", *shapes], rows)]
    return parts


def startup_table(results: dict[str, Any]) -> list[str]:
    if not results["startup"]:
        return []
    columns = ("import", "load", "first encode", "total")
    parts = [
        "## Start, ms",
        "A fresh interpreter imports the library, loads the vocabulary and encodes one sentence; *total* runs from "
        "before the process to the ids. Medians. tiktoken reads its rank files from disk.",
    ]
    for vocabulary in unique(entry["vocabulary"] for entry in results["startup"]):
        entries = [entry for entry in results["startup"] if entry["vocabulary"] == vocabulary]
        rows = []
        for backend in unique(entry["backend"] for entry in entries):
            mine = [entry for entry in entries if entry["backend"] == backend]
            rows.append([backend, *(f"{1000 * median(entry[column] for entry in mine):.0f}" for column in columns)])
        parts += [f"### {vocabulary}", table(["", *columns], rows)]
    return parts


def memory_table(results: dict[str, Any]) -> list[str]:
    if not results["memory"]:
        return []
    parts = ["## Peak memory, MB"]
    for vocabulary in unique(entry["vocabulary"] for entry in results["memory"]):
        entries = [entry for entry in results["memory"] if entry["vocabulary"] == vocabulary]
        rows = [
            [entry["backend"], f"{entry['megabytes']['loaded']:.0f}", f"{entry['megabytes']['peak']:.0f}"]
            for entry in entries
        ]
        head = ["", "import and load", f"and two passes over {entries[0]['corpus']}"]
        parts += [f"### {vocabulary}", table(head, rows)]
    parts.append(
        "Growth of the largest resident size over that of the texts alone; the second figure holds the ids of a pass."
    )
    return parts


def refusals_table(results: dict[str, Any]) -> list[str]:
    rows = [
        [entry["backend"], entry["vocabulary"], entry["message"].replace("|", "\\|")[:160]]
        for entry in results["refusals"]
    ]
    if not rows:
        return []
    rows.sort(key=lambda row: list(BACKENDS).index(row[0]))
    return ["## Which libraries do not load which file", table(["", "vocabulary", "what it says"], rows)]
