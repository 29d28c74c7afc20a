"""The section of the README with figures: one vocabulary of each family, generation, and the first start."""

from __future__ import annotations

from statistics import median
from typing import Any

from .benchmarks.bench_generation import clock
from .ratios import OURS, ours_beside, ratio_to_peer
from .tables import CELLS, select, speeds, spread_words, table

__all__ = ["render_readme"]

CORPUS = "english_lines"
#: Vocabulary -> what readers call it.
_ROWS = {
    "gpt2": "GPT-2",
    "cl100k": "cl100k",
    "bert_uncased": "BERT, uncased",
    "t5": "T5, Unigram",
    "mistral_v3": "Mistral v3, SentencePiece BPE",
    "clip": "CLIP",
    "subword_nmt": "codes of subword-nmt",
    "mistral03": "Mistral's `tokenizer.json`",
}
_CASES = {
    "marian-1": "translate a sentence, Marian",
    "bart-large": "summarize, BART-large",
    "gpt2-1": "continue, GPT-2",
}
_ENCODING = """\
Lines of English on one thread of {machines}, {spans}: our speed, and how many times that of the fastest other library
that gives the same ids, on text that a new tokenizer sees first (*cold*), sees again (*warm*), and has not seen after
much other text (*held-out*, where there is enough of it). A spread, where one stands, says that the ratio is uncertain.
All figures, and how they are made: [`docs/benchmarks.md`](docs/benchmarks.md)."""
_GENERATION = """\
[Generation](docs/generation_speed.md) on one thread by models of the real sizes, how many times as fast as
transformers:"""


def _cell(records: list[dict[str, Any]]) -> str:
    """Our speed, and the ratio to the fastest exact library."""
    ranked = ratio_to_peer(records)
    if ranked is None:
        return "-"
    peer, found = ranked
    ours = ours_beside(records, peer)
    assert ours is not None
    note = "" if found.settled else f", {spread_words(found)}"
    return f"{median(speeds(ours)):.0f} MB/s, {found.value:.2f} x {peer['backend']}{note}"


def _encoding(results: dict[str, Any]) -> str:
    rows = []
    for vocabulary, name in _ROWS.items():
        records = select(results, table="encode", vocabulary=vocabulary, corpus=CORPUS)
        if records:
            megabytes = max(r["n_bytes"] for r in records if r["backend"] == OURS) / 1e6
            cells = (_cell([r for r in records if r["cell"] == cell]) for cell in CELLS)
            rows.append([name, f"{megabytes:.0f} MB", *cells])
    return table(["", "text", *CELLS], rows)


def _standing(results: dict[str, Any]) -> str:
    """How many of all ratios are ahead, and which are not."""
    keys = dict.fromkeys(
        (r["table"], r["vocabulary"], r["corpus"], r["cell"])
        for r in results["records"]
        if (r["table"] == "encode" and r["cell"] in CELLS) or r["table"] == "latency"
    )
    found = []
    for kind, vocabulary, corpus, cell in keys:
        ranked = ratio_to_peer(select(results, table=kind, vocabulary=vocabulary, corpus=corpus, cell=cell))
        if ranked is not None:
            found.append((f"{vocabulary}, {corpus}{'' if kind == 'latency' else f', {cell}'}", ranked[1].value))
    behind = [f"{where} ({value:.2f})" for where, value in found if value <= 1]
    well = sum(value >= 1.5 for _, value in found)
    return (
        f"Of all {len(found)} ratios there, of batches and of single texts to the fastest other library, "
        f"{len(found) - len(behind)} are above 1 and {well} are 1.5 or more. "
        + (f"Behind: {'; '.join(behind)}." if behind else "None is behind.")
    )


def _generating(generation: dict[str, Any]) -> str:
    cases = {case["case"]: case for case in generation["cases"] if case["threads"] == 1}
    medians = {
        name: {cell["library"]: median(cell[clock(1)]) for cell in cases[name]["cells"]}
        for name in _CASES
        if name in cases
    }
    libraries = [name for name in next(iter(medians.values())) if name != "transformers"]
    rows = [
        [_CASES[name], *(f"{some['transformers'] / some[library]:.1f}" for library in libraries)]
        for name, some in medians.items()
    ]
    return table(["", *libraries], rows)


def _start(results: dict[str, Any]) -> list[str]:
    def seconds(backend: str) -> float | None:
        found = [e["total"] for e in results["startup"] if (e["vocabulary"], e["backend"]) == ("gpt2", backend)]
        return median(found) if found else None

    usual, first = seconds(OURS), seconds(f"{OURS}, nothing compiled")
    if usual is None or first is None:
        return []
    return [
        f"From the start of Python to the first ids of GPT-2: {usual:.1f} s; on the first run on a machine, which "
        f"compiles the kernels, {first:.0f} s."
    ]


def render_readme(runs: dict[str, dict[str, Any]], results: dict[str, Any], generation: dict[str, Any]) -> str:
    """The section."""
    machines = " and ".join(dict.fromkeys(f"{run['machine']['processor']}" for run in runs.values()))
    shown = [run for run in runs.values() if select(run, table="encode", corpus=CORPUS)]
    dates = sorted(run["date"][:10] for run in shown)
    spans = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    parts = [
        _ENCODING.format(machines=machines, spans=spans),
        _encoding(results),
        _standing(results),
        _GENERATION,
        _generating(generation),
        *_start(results),
    ]
    return "\n\n".join(parts)
