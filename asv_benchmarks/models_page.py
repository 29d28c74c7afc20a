"""Write the measured part of ``docs/models.md`` from what ``asv_benchmarks.benchmarks.bench_models`` recorded.

::

    python -m asv_benchmarks.models_page
"""

from __future__ import annotations

import json
import sys
from statistics import median
from typing import Any

from tools.files import ROOT

from .benchmarks.bench_models import BATCHES
from .case_tables import table
from .sections import with_section

__all__ = ["PAGE", "RECORD", "main", "render", "write"]

RECORD = ROOT / "docs" / "results" / "models.json"
PAGE = ROOT / "docs" / "models.md"
_PROGRAM = "asv_benchmarks.models_page"


def render(results: dict[str, Any]) -> str:
    """The section."""
    rows = []
    for case in results["cases"]:
        cells = []
        for batch in BATCHES:
            ours, theirs = (median(case["seconds"][batch][name]) for name in ("numba_nlp", "transformers"))
            cells.append(f"{1e3 * ours:.2f} ms, {theirs / ours:.2f}")
        peaks = " / ".join(f"{case['peak_mb'][name]:.0f}" for name in ("numba_nlp", "transformers"))
        rows.append([case["model"], *cells, peaks])
    here, cases = results["machine"], results["cases"]
    dates, loads = sorted(case["date"] for case in cases), [case["load"] for case in cases]
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    rounds = " or ".join(map(str, sorted({case["rounds"] for case in cases})))
    about = (
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {here['processor']}, {here['processors']} processors, "
        f"{rounds} rounds; load of the machine at the end of a model {min(loads):.1f} to {max(loads):.1f} "
        f"(undisturbed: 1); Python {here['python']}, {packages}."
    )
    return f"{about}\n\n{table(['model', *BATCHES, 'peak MB, ours / transformers'], rows)}"


def write() -> str:
    """The page, from what was recorded."""
    section = render(json.loads(RECORD.read_text(encoding="utf-8")))
    return with_section(PAGE.read_text(encoding="utf-8"), _PROGRAM, section)


def main() -> int:
    """Write the page."""
    PAGE.write_text(write(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
