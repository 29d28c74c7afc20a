"""Write ``docs/asv_trial.md`` from what ``asv_benchmarks.trial`` recorded.

::

    python -m asv_benchmarks.trial_page
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .trial import OPTIONS, PATTERN

__all__ = ["PAGE", "RECORD", "main", "render"]

RECORD = ROOT / "docs" / "results" / "asv_trial.json"
PAGE = ROOT / "docs" / "asv_trial.md"


def render(found: dict[str, Any]) -> str:
    """The page."""
    here, trials = found["machine"], found["trials"]
    right = sum(trial["flagged"] == (trial["planted"] > 1) for trial in trials)
    rows = [
        f"| {number // 2 + 1} | {'slower' if trial['planted'] > 1 else 'empty'} | "
        f"{'flagged' if trial['flagged'] else 'not flagged'} | {trial['status']} |"
        for number, trial in enumerate(trials)
    ]
    printed = [
        line
        for trial in trials[:2]
        for line in [f"# {'slower' if trial['planted'] > 1 else 'empty'}", *trial["printed"]]
    ]
    return "\n".join(
        [
            "# Does asv see a slow-down?",
            "",
            "Written by `python -m asv_benchmarks.trial_page` from `docs/results/asv_trial.json`, which `python -m "
            "asv_benchmarks.trial --record ...` measures.",
            "",
            f"{found['date']}, {here['processor']}, {here['processors']} processors, {here['system']}, Python "
            f"{here['python']}; load of the machine at the end {found['load']:.1f}. Below is `{found['commit']}`.",
            "",
            f"In each round `asv continuous {' '.join(OPTIONS[:3])} --factor {found['factor']}` compares the newest "
            "commit with one that changes nothing, and with one after which `encode_batch` takes 1.5 times as long. "
            f"The benchmarks are `{PATTERN}`. {right} of {len(trials)} comparisons end as they should.",
            "",
            "| round | commit | asv | exit status |",
            "| ---: | --- | --- | ---: |",
            *rows,
            "",
            "What asv prints of the first round:",
            "",
            *(f"    {line}" for line in printed),
            "",
        ]
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(render(json.loads(RECORD.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"{Path(PAGE).relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
