"""Pictures of the report: bars of ratios and of speeds, and how times grow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from tools.files import ROOT
from tools.references import family_of
from vocab_tools.plotting.drawing import COLOURS, figure
from vocab_tools.plotting.figures import draw_curves

from .benchmarks.bench_generation import clock
from .ratios import OURS, ratio_to_peer
from .tables import CELLS, select, speeds, unique
from .targets import FAMILIES

__all__ = ["FOLDER", "Picture", "draw_bars", "pictures"]

FOLDER = ROOT / "docs" / "pictures"
Series = Mapping[str, Sequence[float | None]]


class Picture(NamedTuple):
    """A file of :data:`FOLDER`, what stands in for it where it is not shown, and what draws it."""

    name: str
    says: str
    draw: Callable[[Path], None]


def draw_bars(path: Path, labels: Sequence[str], series: Series, title: str, x_label: str, mark: float | None) -> None:
    """A group of lying bars for each label, one for each series; a line at ``mark``, and then logarithmic."""
    from matplotlib.ticker import LogLocator, NullFormatter

    height, start = 0.8 / len(series), mark or 0
    with figure(path, 7.5, 1.3 + 0.17 * len(labels) * len(series), title) as axes:
        for number, (name, values) in enumerate(series.items()):
            places = np.arange(len(labels)) + (number - (len(series) - 1) / 2) * height
            given = np.array([np.nan if value is None else value for value in values])
            axes.barh(places, given - start, left=start, height=0.9 * height, label=name, color=COLOURS[number])
        axes.set_yticks(np.arange(len(labels)), labels, parse_math=False)
        axes.margins(y=0.01)
        axes.invert_yaxis()
        axes.set_xlabel(x_label)
        axes.grid(axis="x", alpha=0.3)
        if mark is not None:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter(NullFormatter())
            axes.axvline(mark, color="black", linewidth=1)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


def pictures(results: dict[str, Any], generation: dict[str, Any], pipelines: dict[str, Any]) -> list[Picture]:
    """What can be drawn of these results; the last two are the records of generation and of pipelines."""
    return [
        *_ratios(results),
        *_speeds(results),
        *_growth(results),
        *_generation(generation),
        *_pipelines(pipelines),
    ]


def _ratios(results: dict[str, Any]) -> list[Picture]:
    found = []
    encoded = select(results, table="encode")
    for family, title in FAMILIES.items():
        mine = [record for record in encoded if family_of(record["vocabulary"]) == family]
        rows = list(dict.fromkeys((record["vocabulary"], record["corpus"]) for record in mine))
        series: dict[str, list[float | None]] = {}
        for cell in CELLS:
            ranked = [
                ratio_to_peer([r for r in mine if (r["vocabulary"], r["corpus"], r["cell"]) == (*row, cell)])
                for row in rows
            ]
            if any(ranked):
                series[cell] = [one[1].value if one else None for one in ranked]
        if series:
            says = f"{title}: our speed by that of the fastest exact library"
            labels = [", ".join(row) for row in rows]
            draw = partial(
                draw_bars, labels=labels, series=series, title=says, x_label="above 1 ours is faster", mark=1
            )
            found.append(Picture(f"bench_ratio_{family}", says, draw))
    return found


def _speeds(results: dict[str, Any]) -> list[Picture]:
    found = []
    for vocabulary, corpus in (("gpt2", "english_lines"), ("cl100k", "english_lines")):
        records = [r for r in select(results, table="encode", vocabulary=vocabulary, corpus=corpus) if r["exact"]]
        names = unique(record["backend"] for record in records)
        if not names:
            continue
        by_key = {(r["backend"], r["cell"]): median(speeds(r)) for r in reversed(records)}
        series = {cell: [by_key.get((name, cell)) for name in names] for cell in CELLS}
        says = f"Speed with {vocabulary}, lines of English, one thread"
        draw = partial(draw_bars, labels=names, series=series, title=says, x_label="MB/s", mark=None)
        found.append(Picture(f"bench_speed_{vocabulary}", says, draw))
    return found


def _growth(results: dict[str, Any]) -> list[Picture]:
    of_texts = [e for e in results["curves"] if (e["what"], e["vocabulary"]) == ("input size", "gpt2") and e["sizes"]]
    libraries = {e["backend"]: (e["sizes"], e["seconds"]) for e in of_texts if e["shape"] == "english_lines"}
    shapes = {e["shape"]: (e["sizes"], e["seconds"]) for e in of_texts if e["backend"] == OURS}
    found = []
    for name, curves, says in (
        ("bench_growth", libraries, "GPT-2, one English text: time by its size"),
        ("bench_growth_shapes", shapes, "GPT-2, ours: time by the size of a text of each shape"),
    ):
        if curves:
            found.append(Picture(name, says, partial(draw_curves, dict(list(curves.items())[:10]), title=says)))
    return found


def _generation(results: dict[str, Any]) -> list[Picture]:
    cases = [case for case in results["cases"] if case["threads"] == 1]
    taken = clock(1)
    names = [name for name in unique(c["library"] for case in cases for c in case["cells"]) if name != "transformers"]
    medians = [{cell["library"]: median(cell[taken]) for cell in case["cells"]} for case in cases]
    series = {name: [some["transformers"] / some[name] if name in some else None for some in medians] for name in names}
    labels = [case["case"] for case in cases]
    says = "Generation, one thread: how many times as long transformers takes"
    x_label = "transformers / the library"
    return [
        Picture(
            "bench_generation",
            says,
            partial(draw_bars, labels=labels, series=series, title=says, x_label=x_label, mark=1),
        )
    ]


def _pipelines(results: dict[str, Any]) -> list[Picture]:
    cases = [case for case in results["cases"] if case["threads"] == 1]
    labels = unique(case["task"] for case in cases)
    by_key = {
        (case["task"], case["batch"]): median(case["transformers"][clock(1)]) / median(case[OURS][clock(1)])
        for case in cases
    }
    batches = sorted({case["batch"] for case in cases})
    series = {f"{n} row{'s' if n > 1 else ''}": [by_key.get((task, n)) for task in labels] for n in batches}
    says = "Pipelines, one thread: how many times as long transformers takes"
    x_label = "transformers / ours"
    return [
        Picture(
            "bench_pipelines",
            says,
            partial(draw_bars, labels=labels, series=series, title=says, x_label=x_label, mark=1),
        )
    ]
