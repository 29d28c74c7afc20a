"""The results files of the report: reading them, and putting several together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tools.files import ROOT

__all__ = ["PAGE", "merged", "read_runs", "sources"]

PAGE = ROOT / "docs" / "benchmarks.md"
_TABLES = ("records", "curves", "adversarial", "startup", "memory", "refusals")


def read_runs(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Results by the name of their file."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def merged(runs: Mapping[str, dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """All entries of all runs, by table.

    Raises
    ------
    ValueError
        Two runs measured the same of one vocabulary.
    """
    made: dict[tuple[str, str], str] = {}
    for name, run in runs.items():
        for kind in {(record["table"], record["vocabulary"]) for record in run.get("records", [])}:
            other = made.setdefault(kind, name)
            if other != name:
                raise ValueError(f"{other} and {name} both have {kind[0]!r} of {kind[1]!r}; render one of them")
    return {table: [entry for run in runs.values() for entry in run.get(table, [])] for table in _TABLES}


def sources(page: Path = PAGE) -> list[Path]:
    """The results files that the document says that it was written from."""
    named = re.search(r"^Written by .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    return [ROOT / path for path in re.findall(r"`(docs/results/[^`]+)`", named[0])]
