"""What the report writes: ``docs/benchmarks.md``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .render import render
from .samples import say

__all__ = ["PAGE", "publish", "read_runs", "sources"]

PAGE = ROOT / "docs" / "benchmarks.md"


def read_runs(paths: list[Path]) -> dict[str, dict[str, Any]]:
    """Results by the name of their file."""
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def sources(page: Path = PAGE) -> list[Path]:
    """The results files that the document says that it was written from."""
    named = re.search(r"^Written by .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    return [ROOT / path for path in re.findall(r"`(docs/results/[^`]+)`", named[0])]


def publish(paths: list[Path], out: Path | None = None) -> None:
    """Write all that shows these results, or only the document to ``out``."""
    runs = read_runs(paths)
    target = out or PAGE
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(render(runs), encoding="utf-8")
    say(f"document: {target}")
