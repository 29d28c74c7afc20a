"""Write ``docs/history.md`` and its pictures from what ``asv_benchmarks.history`` let asv keep.

::

    python -m asv_benchmarks.history_page
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tools.files import ROOT
from vocab_tools.plotting.drawing import COLOURS, figure

from .history import RESULTS, commits
from .history_cases import CASES, Case
from .history_files import measured, read_results

__all__ = ["CHANGED", "PAGE", "PICTURES", "draw", "kept", "main", "render"]

PAGE = ROOT / "docs" / "history.md"
#: A change of more than this share is marked.
CHANGED = 0.10
#: Picture -> what its cases are called, up to the vocabulary.
PICTURES = {
    "history_batches": ("batch, cold", "batch, warm", "*control:* batch"),
    "history_calls": ("one sentence", "loading", "*control:* import"),
}
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def shown(case: Case, value: float) -> str:
    """A figure with its unit."""
    if ".peakmem_" in case.benchmark:
        return f"{value / 1e6:.0f} MB"
    scale, unit = next((pair for pair in UNITS if value >= pair[0]), UNITS[-1])
    return f"{value / scale:.3g} {unit}"


def marked(ratio: float | None) -> str:
    """A ratio, bold where it is a change."""
    if ratio is None:
        return "-"
    return f"**{ratio:.2f}**" if abs(ratio - 1) > CHANGED else f"{ratio:.2f}"


def table(listed: Sequence[Mapping[str, str]], results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A row a benchmark, a column a commit: figure, and ratio to the previous one; last, the ratio to the first."""
    numbers = [str(number + 1) for number in range(len(listed))]
    rows = [f"| | {' | '.join(numbers)} | last / first |", f"| --- |{' ---: |' * (len(listed) + 1)}"]
    for case in CASES:
        first = previous = None
        cells, last = [], None
        for one in listed:
            value = measured(results[one["commit"]], case)
            if value is None:
                cells.append("-")
                continue
            step = "" if previous is None else f" ({marked(value / previous)})"
            first = value if first is None else first
            previous = value
            last = value / first
            cells.append(shown(case, value) + step)
        rows.append(f"| {case.title} | {' | '.join(cells)} | {marked(last)} |")
    return rows


def control_steps(listed: Sequence[Mapping[str, str]], results: Mapping[str, Mapping[str, Any]]) -> float:
    """The largest factor between neighbours of what no commit changes."""
    most = 1.0
    for case in CASES:
        if case.title.startswith("*control:*"):
            values = [measured(results[one["commit"]], case) for one in listed]
            there = [value for value in values if value is not None]
            most = max([most, *(max(a / b, b / a) for a, b in pairwise(there))])
    return most


def render(listed: Sequence[Mapping[str, str]], machine: Mapping[str, str], results: Mapping[str, Any]) -> str:
    """The page."""
    listed = [one for one in listed if one["commit"] in results]
    versions = results[listed[-1]["commit"]]["requirements"]
    packages = ", ".join(f"{name} {versions[f'pip+{name}']}" for name in ("numba", "numpy", "tokenizers"))
    lines = [
        "# History of the speed",
        "",
        "Written by `python -m asv_benchmarks.history_page` from `asv_benchmarks/history`, what asv found when `python "
        "-m asv_benchmarks.history` let it measure; the README there says how to see asv's own pages of it.",
        "",
        f"The same benchmarks at {len(listed)} commits, measured by turns on one thread, in one environment for all.",
        "",
        f"{machine['cpu']}, {machine['num_cpu']} processors, {machine['ram']}, {machine['os']} {machine['arch']}; "
        f"Python {results[listed[-1]['commit']]['python']}, {packages}. Batches are the lines of Hamlet, which the "
        "repository carries, as are the vocabularies: *cold* is the first pass of a new tokenizer, *warm* another one, "
        "*held-out* the last fifth of the lines after the others.",
        "",
        "| | commit | date | what it did |",
        "| ---: | --- | --- | --- |",
        *(
            f"| {number + 1} | `{one['commit'][:7]}` | {one['date'][:16].replace('T', ' ')} | "
            f"{one['subject'].replace('|', chr(92) + '|')} |"
            for number, one in enumerate(listed)
        ),
        "",
        "Medians, smaller is better. In brackets: the ratio to the commit before, bold where it is more than "
        f"{CHANGED:.0%} off 1; a dash: that commit cannot do it. The controls are the same code at every commit: they "
        f"moved by factors of up to {control_steps(listed, results):.2f} from one to the next, and what moved no more "
        "than they did is noise.",
        "",
        *table(listed, results),
        "",
        "![Time of batches beside that of the first commit.](pictures/history_batches.svg)",
        "",
        "![Time of single calls and of loading beside that of the first commit.](pictures/history_calls.svg)",
        "",
    ]
    return "\n".join(lines)


def draw(name: str, path: Path) -> None:
    """One of :data:`PICTURES`: time at each commit, divided by that at the first that has the case."""
    listed, _, results = kept()
    listed = [one for one in listed if one["commit"] in results]
    with figure(path, 10, 4.5, "time / time at the first commit") as axes:
        for number, case in enumerate(one for one in CASES if one.title.startswith(PICTURES[name])):
            points = [(place + 1, measured(results[one["commit"]], case)) for place, one in enumerate(listed)]
            there = [(place, value) for place, value in points if value is not None]
            title = case.title.replace("*", "")
            ours = not title.startswith("control")
            axes.plot(
                [place for place, _ in there],
                [value / there[0][1] for _, value in there],
                marker="o",
                markersize=4,
                linewidth=1.5,
                linestyle="-" if ours else ":",
                label=title,
                color=COLOURS[number % len(COLOURS)] if ours else "#000000",
            )
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        ticks = [tick for tick in (0.1, 0.15, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 8) if low <= tick <= high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_xticks(range(1, len(listed) + 1), [f"{one['commit'][:7]}\n{one['date'][5:10]}" for one in listed])
        axes.grid(alpha=0.3)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize="small")


def kept() -> tuple[list[dict[str, str]], dict[str, str], dict[str, dict[str, Any]]]:
    """Commits, machine and results of the machine on which the most commits were measured."""
    folders = [path.parent for path in sorted(RESULTS.glob("*/machine.json"))]
    best = max(folders, key=lambda folder: len(read_results(folder)))
    machine: dict[str, str] = json.loads((best / "machine.json").read_text(encoding="utf-8"))
    return commits(), machine, read_results(best)


def main() -> int:
    """Write the page and draw the pictures."""
    PAGE.write_text(render(*kept()), encoding="utf-8")
    for name in PICTURES:
        draw(name, ROOT / "docs" / "pictures" / f"{name}.svg")
    print(f"{PAGE.relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
