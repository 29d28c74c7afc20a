"""What the report writes: ``docs/benchmarks.md`` and its pictures, the README's figures, and what quotes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.files import ROOT

from . import generation_page, pipeline_page, scale_out_page
from .pictures import FOLDER, Picture, pictures
from .readme_tables import render_readme
from .render import render
from .runs import PAGE, merged, read_runs
from .samples import say
from .sections import with_section

__all__ = ["README", "documents", "planned", "publish"]

README = ROOT / "README.md"
PROGRAM = "asv_benchmarks.report"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def planned(runs: dict[str, dict[str, Any]]) -> list[Picture]:
    """The pictures of these results."""
    return pictures(merged(runs), _read(generation_page.RECORD), _read(pipeline_page.RECORD))


def documents(paths: Iterable[Path]) -> dict[Path, str]:
    """Every text that is written from these results files."""
    runs = read_runs(paths)
    results = merged(runs)
    readme = render_readme(runs, results, _read(generation_page.RECORD))
    return {
        PAGE: render(runs, planned(runs)),
        README: with_section(README.read_text(encoding="utf-8"), PROGRAM, readme),
        scale_out_page.PAGE: scale_out_page.write(results["records"]),
    }


def publish(paths: list[Path], out: Path | None = None) -> None:
    """Write all that shows these results, or only the document, without pictures, to ``out``."""
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(render(read_runs(paths)), encoding="utf-8")
        say(f"document: {out}")
        return
    for path, text in documents(paths).items():
        path.write_text(text, encoding="utf-8")
        say(f"written: {path}")
    for old in FOLDER.glob("bench_*.svg"):
        old.unlink()
    for picture in planned(read_runs(paths)):
        picture.draw(FOLDER / f"{picture.name}.svg")
