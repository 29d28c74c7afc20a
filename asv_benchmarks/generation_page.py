"""Write ``docs/generation_speed.md`` from what ``asv_benchmarks.benchmarks.bench_generation`` recorded.

::

    python -m asv_benchmarks.generation_page
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .benchmarks.generation_models import CASES
from .case_tables import by_library, ratio, seconds, table
from .generation_article import article_part
from .generation_limits import Work, least_seconds

__all__ = ["KINDS_RECORD", "LIMITS_RECORD", "PAGE", "RECORD", "main", "read_records", "render"]

RECORD = ROOT / "docs" / "results" / "generation_speed.json"
KINDS_RECORD = RECORD.with_name("weight_kinds.json")
LIMITS_RECORD = RECORD.with_name("generation_limits.json")
PAGE = ROOT / "docs" / "generation_speed.md"

#: Wanted of kinds of weights, as `tools/measure_weight_kinds.py` has it: perplexity at most, tokens at least.
MOST_PERPLEXITY, LEAST_AGREEMENT = 0.01, 0.97
#: What is compared: ours, theirs.
_PAIRS = (
    ("numba_nlp float32", "transformers"),
    ("numba_nlp float32", "ctranslate2 float32"),
    ("numba_nlp float16", "transformers"),
    ("numba_nlp int8", "ctranslate2 int8"),
)
#: By number of sentences or prompts: for each of these pairs the least ratio wanted and the one aimed at.
_WANTED: dict[str, tuple[tuple[float | None, float | None], ...]] = {
    "one": ((3.0, 4.0), (1.7, 2.2), (4.0, 8.0), (1.3, 2.0)),
    "three": ((2.4, 3.5), (1.4, 2.0), (None, None), (None, None)),
    "ten": ((2.0, 3.0), (1.05, 1.5), (None, None), (0.9, 1.2)),
}
_HOW = """\
Models have the real sizes and random weights, which transformers draws for a seed. Each row gets the same number of
tokens (32 of translations, 60 of summaries, 64 of free text): ends are kept from coming. A case is named by its model
and its number of sentences, of 14 to 74 tokens, or of prompts, of 6 to 11; summaries are of 400 tokens. Beams: 6, of
summaries 3, of GPT-2 5 with 5 rows returned, also drawn from the 50 likeliest tokens (*sampled*). All libraries take
turns in one process. A ratio is how many times as long the first takes: of the medians, and of the quickest
generations. On one thread it is the time of the process, on more the wall clock's."""
_TOKENS = """\
Of each case the tokens of the first generation are compared with those of transformers; *tied* are rows that are as
probable as the row of transformers, to the last bits of a float32 sum, with the model in float64. Rows that are drawn
differ, for each library has its own random numbers. CTranslate2 has its own rules for the ends of rows and lets
Marian's padding have no part of the probabilities; where no row ends before the last step, that leaves the tokens as
they are. In int8 and float16 a model with random weights, whose tokens are all nearly as likely, may well choose
others; what these kinds of weights cost with trained models stands below."""
_LIMITS = """\
One thread of this machine does at most {flops:.0f} Gflop/s of float32 (the quickest product of torch and NumPy) and
reads {bytes:.1f} GB/s from memory (the sum of 1 GB), as `python -m asv_benchmarks.generation_limits` measures.
The bound is the time that what is done once, encoder and prompts, takes at the first rate, and that each step takes to
read its weights or to multiply, whichever is longer; attention is left out. 16-bit weights, which are multiplied as
float32, are half as much to read. *Of the bound* is the bound as a part of our time; *most beside CTranslate2* is
CTranslate2's time with float32 as a multiple of the bound, which no library could surpass."""
_KINDS = """\
Measured by `python -m tools.measure_weight_kinds`, which says what the models and texts are. Perplexity is that of
given targets. *Next token* is the part of their places at which the model would write the token that it would write in
float32; *own* the same along the rows that it writes in float32 by the most probable tokens; *alone* counts the tokens
at the same places of what it writes on its own, where one other token leads the rest of the row astray: by the most
probable tokens / with four beams."""


def _shown(value: tuple[float, float] | None) -> str:
    return "" if value is None else f"{value[0]:.2f} ({value[1]:.2f})"


def _amount(name: str) -> str:
    return {1: "one", 3: "three", 10: "ten"}[len(CASES[name].lengths)]


def _against_transformers(cases: list[dict[str, Any]]) -> str:
    libraries = [name for name in _names(cases) if name != "transformers"]
    rows = []
    for case in cases:
        settings = CASES[case["case"]]
        ours = [_shown(ratio(case, "transformers", library)) for library in libraries]
        n_rows = len(settings.lengths) * settings.beams
        rows.append([case["case"], str(n_rows), f"{seconds(case, 'transformers'):.2f} s", *ours])
    return table(["case", "rows a step", "transformers", *(f"/ {name}" for name in libraries)], rows)


def _names(cases: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(cell["library"] for case in cases for cell in case["cells"]))


def _verdicts(cases: list[dict[str, Any]]) -> str:
    """Ratios beside those wanted."""
    rows = []
    for case in cases:
        row = [case["case"]]
        for (ours, theirs), (least, aim) in zip(_PAIRS, _WANTED[_amount(case["case"])], strict=True):
            value = ratio(case, theirs, ours)
            if value is None:
                row.append("")
            elif least is None:
                row.append(f"{value[0]:.2f}")
            else:
                row.append(f"{value[0]:.2f} (>= {least}: {_yes(value[0] >= least)}; aim {aim})")
        rows.append(row)
    return table(["case", *(f"{theirs} / {ours}" for ours, theirs in _PAIRS)], rows)


def _tokens(cases: list[dict[str, Any]]) -> str:
    rows = []
    for case in cases:
        cells = [cell for cell in case["cells"] if cell["library"] != "transformers"]
        if not CASES[case["case"]].sampled:
            counts = [f"{c['equal']}" + (f" + {c['tied']} tied" if c["tied"] else "") for c in cells]
            by_name = dict(zip((c["library"] for c in cells), counts, strict=True))
            names = [name for name in _names(cases) if name != "transformers"]
            rows.append([case["case"], str(cells[0]["rows"]), *(by_name.get(name, "") for name in names)])
    return table(["case", "rows", *(name for name in _names(cases) if name != "transformers")], rows)


def _kinds(found: dict[str, Any]) -> str:
    """What kinds of weights do to trained models."""
    rows = []
    for name, subject in found["subjects"].items():
        for kind, figures in subject["kinds"].items():
            change, own = figures["perplexity_change"], figures["own_token"]
            verdict = "" if kind == "float32" else _yes(change <= MOST_PERPLEXITY and own >= LEAST_AGREEMENT)
            alone = " / ".join(f"{100 * value:.1f} %" for key, value in figures.items() if key.startswith("written"))
            perplexity = f"{figures['perplexity']:.3f} ({100 * change:+.2f} %)"
            shares = [f"{100 * figures[key]:.2f} %" for key in ("next_token", "own_token")]
            rows.append([name, kind, perplexity, *shares, alone, verdict])
    wanted = f"<= {100 * MOST_PERPLEXITY:+.0f} %, own >= {100 * LEAST_AGREEMENT:.0f} %"
    return table(["model", "weights", "perplexity", "next token", "own", "alone", wanted], rows, words=2)


def _bounds(cases: list[dict[str, Any]], found: dict[str, Any]) -> str:
    """How near the times are to what the machine allows."""
    rows = []
    for case in cases:
        work = Work(**found["works"][case["case"]])
        row = [case["case"]]
        for library, size in (("numba_nlp float32", 4), ("numba_nlp float16", 2)):
            bound = least_seconds(work, found["limits"], size)
            taken = seconds(case, library)
            row += [f"{bound:.2f} s", f"{taken:.2f} s", f"{100 * bound / taken:.0f} %"]
            if size == 4:
                theirs = by_library(case).get("ctranslate2 float32")
                row.append("" if theirs is None else f"{seconds(case, 'ctranslate2 float32') / bound:.2f}")
        rows.append(row)
    head = ["case", "bound, float32", "ours", "of the bound", "most beside CTranslate2"]
    return table([*head, "bound, 16 bits", "ours", "of the bound"], rows)


def _yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


def render(results: dict[str, Any], kinds: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> str:
    """The page, from the records; the second and third may be missing."""
    here, versions = results["machine"], results["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = [
        "# Speed of generation",
        "Written by `python -m asv_benchmarks.generation_page` from `docs/results/generation_speed.json`, which "
        "`python -m asv_benchmarks.benchmarks.bench_generation --threads 1 2 --record ...` measures; no figure is "
        "typed by hand but those of the article and those wanted.",
        f"{here['processor']}, {here['processors']} processors, {here['system']}, Python {here['python']}; {packages}. "
        "Processors of other makes may give other ratios: torch's products are by MKL, which does best on Intel's.",
        _HOW,
    ]
    for threads in sorted({case["threads"] for case in results["cases"]}):
        cases = [case for case in results["cases"] if case["threads"] == threads]
        rounds = sorted({case["rounds"] for case in cases})
        dates = sorted(case["date"] for case in cases)
        loads = [case["load"] for case in cases]
        spans = " to ".join(dict.fromkeys((dates[0], dates[-1])))
        parts += [
            f"## {'One thread' if threads == 1 else f'{threads} threads'}",
            f"{spans}, {' or '.join(map(str, rounds))} rounds; load of the machine at the end of a case "
            f"{min(loads):.1f} to {max(loads):.1f} (undisturbed: {threads}).",
            _against_transformers(cases),
            "Beside the ratios wanted, of the medians:",
            _verdicts(cases),
        ]
    one = [case for case in results["cases"] if case["threads"] == min(c["threads"] for c in results["cases"])]
    if limits is not None:
        rates = {name: rate / 1e9 for name, rate in limits["limits"].items()}
        parts += ["## What the machine allows", _LIMITS.format(**rates), _bounds(one, limits)]
    parts += [
        "## Tokens",
        _TOKENS,
        _tokens(one),
        *article_part(one),
    ]
    if kinds is not None:
        parts += ["## What 16-bit and int8 weights cost", _KINDS, _kinds(kinds)]
    return "\n\n".join(part for part in parts if part) + "\n"


def read_records() -> tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any] | None]:
    """Of speeds; of kinds of weights and of the machine's limits, if there are such records."""

    def read(path: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    further = (read(path) if path.exists() else None for path in (KINDS_RECORD, LIMITS_RECORD))
    return read(RECORD), *further  # type: ignore[return-value]


def main() -> int:
    """Write the page."""
    PAGE.write_text(render(*read_records()), encoding="utf-8")
    print(f"{Path(PAGE).relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
