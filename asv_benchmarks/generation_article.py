"""The article on text generation in Rust, its settings and figures, beside what is measured here."""

from __future__ import annotations

from typing import Any

from .benchmarks.generation_models import CASES
from .case_tables import ratio, seconds, table

__all__ = ["article_part"]

#: Figures that stand in the article's text: case -> what it says of Rust beside Python.
_ARTICLE = {
    "marian-1": "about 60 % faster",
    "marian-10": "about 60 % faster",
    "t5-base-3": "about 50 % less time",
    "t5-base-10": "much less gain than with 3",
    "bart-large": "about 2 times as fast; Python 2.57 s",
    "distilbart-12-6": "about 2 times as fast",
    "distilbart-6-6": "about 2 times as fast; Rust below 0.6 s",
    "gpt2-1-sampled": "about 4 times as fast",
    "gpt2-3-sampled": "about 4 times as fast",
    "gpt2-1": "about 2 times as fast",
    "gpt2-3": "about 2 times as fast",
}
_INTRODUCTION = """\
An article on text generation in Rust (Becquin, last revised in January 2021) measured transformers 4.2.2, rust-bert
0.12.1 and Marian's own program in C++ on an AMD 2700X with 32 GB and an Nvidia 2070 RTX (CUDA 10.2, Windows 10; Marian
on Ubuntu 20.04), the mean of at least ten runs. Most of its figures are drawn, these stand in its text. Its hardware
and its transformers are others, so that seconds cannot be compared, only by how much each is faster."""
#: Task -> beams, sampling, early stopping, output sequences and tokens in the article's tables, and a case of ours.
_SETTINGS = {
    "translation": (("6", "no", "yes", "1", ""), "marian-1"),
    "summaries": (("3 (4 in its text)", "no", "yes", "1", ""), "bart-large"),
    "free text": (("5", "yes", "yes", "5", "64"), "gpt2-1-sampled"),
}


def article_part(cases: list[dict[str, Any]]) -> list[str]:
    """The part of the page, of the cases on one thread."""
    return [
        "## The article's tables",
        _INTRODUCTION,
        _settings(),
        _article(cases),
        _sampling_cost(cases),
        _comparisons(cases),
    ]


def _settings() -> str:
    """The article's settings beside those of the cases."""
    rows = []
    for task, (theirs, name) in _SETTINGS.items():
        case = CASES[name]
        # the number of tokens is fixed, which leaves early stopping nothing to stop
        ours = (f"{case.beams}", "yes" if case.sampled else "no", "-", f"{case.returned}", f"{case.new_tokens}")
        rows.append([task, *(f"{one or 'not said'} / {other}" for one, other in zip(theirs, ours, strict=True))])
    head = ["article / here", "beams", "sampling", "early stopping", "output sequences", "tokens"]
    return table(head, rows, words=len(head))


def _comparisons(cases: list[dict[str, Any]]) -> str:
    """What else the article says by figures."""
    by_name = {case["case"]: case for case in cases}
    rows = []
    for name in ("marian-1", "marian-10"):
        found = ratio(by_name[name], "ctranslate2 float32", "numba_nlp float32") if name in by_name else None
        if found is not None:
            said = "Rust and C++ (Marian) the same"
            rows.append([f"{name}: CTranslate2, which is C++, / ours, float32", said, f"{found[0]:.2f}"])
    if {"bart-large", "distilbart-6-6"} <= by_name.keys():
        large, small = by_name["bart-large"], by_name["distilbart-6-6"]
        ours, theirs = seconds(large, "numba_nlp float32"), seconds(small, "transformers")
        said = "Rust with the large model is faster than Python with the small one"
        rows.append(["distilbart-6-6 by transformers / bart-large by ours", said, f"{theirs / ours:.2f}"])
        both = seconds(large, "transformers") / seconds(small, "numba_nlp float32")
        said = "close to 5: from 2.57 s to less than 0.6 s"
        rows.append(["bart-large by transformers / distilbart-6-6 by ours", said, f"{both:.2f}"])
    return table(["seconds / seconds", "article", "here"], rows, words=2) if rows else ""


def _article(cases: list[dict[str, Any]]) -> str:
    """The article's cases, with its own figures."""
    found = dict.fromkeys(cell["library"] for case in cases for cell in case["cells"])
    libraries = [name for name in found if name.startswith("numba_nlp")]
    by_name = {case["case"]: case for case in cases}
    rows = []
    for name, said in _ARTICLE.items():
        if name in by_name:
            case = by_name[name]
            row = [name, said, f"{seconds(case, 'transformers'):.2f} s"]
            for library in libraries:
                value = ratio(case, "transformers", library)
                row.append("" if value is None else f"{seconds(case, library):.2f} s, {value[0]:.1f} times as fast")
            rows.append(row)
    return table(["case", "article: Rust beside Python", "transformers here", *libraries], rows, words=2)


def _sampling_cost(cases: list[dict[str, Any]]) -> str:
    """How much longer a drawn generation takes, a sentence."""
    by_name = {case["case"]: case for case in cases}
    parts = []
    for name in ("gpt2-1", "gpt2-3"):
        pair = by_name.get(name), by_name.get(f"{name}-sampled")
        if pair[0] is None or pair[1] is None:
            continue
        costs = [
            f"{library} {seconds(pair[1], library) / seconds(pair[0], library):.2f}"
            for library in ("transformers", "numba_nlp float32")
        ]
        parts.append(f"{name}: {', '.join(costs)}")
    said = "Drawing makes the article's Python about 4 times and its Rust about 3 times as slow; here it takes"
    return f"{said} this many times as long: {'; '.join(parts)}." if parts else ""
