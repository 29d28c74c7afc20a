"""Turn a results file into ``docs/benchmarks.md``; every figure in the document comes through here."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from .alone_tables import adversarial_table, memory_table, refusals_table, startup_table
from .benchmarks.backends import BACKENDS
from .benchmarks.corpora import CORPORA
from .ratios import LIMIT, Ratio, by_cell, ratio_of, ratio_to_peer
from .runs import merged
from .tables import (
    CELLS,
    label,
    ratio,
    select,
    spans_cost,
    speeds,
    spread,
    spread_words,
    table,
    unique,
)
from .targets import targets
from .task_tables import exponent_tables, task_tables, training_table

if TYPE_CHECKING:
    from .pictures import Picture

__all__ = ["render"]

_INTRODUCTION = """# Benchmarks

Written by `python -m asv_benchmarks.report` from {sources}; no figure is typed by hand.

{runs}

## How the figures are made

- One process per vocabulary and number of threads, pinned to fixed processors; thread pools are sized by the
  environment (`RAYON_NUM_THREADS`, `TOKENIZERS_PARALLELISM`, ...) before anything is imported.
- Backends are **interleaved** (A B C, then B C A, ...), so each sees the same machine. A figure is the median of all
  rounds, with the slowest and the fastest sample in brackets. A **ratio** is the median over rounds of ours divided by
  the fastest exact peer of that cell *in the same round*, on the same text: above 1 we are faster.
- Rounds are **repeated** until the spread of each ratio is under {limit:.0f} %, or until the number of rounds or of
  seconds that a run states. The *spread* is the width of the interval in which the median lies (the notch of box plots:
  2 x 1.57 x distance of the quartiles / square root of the number of rounds) as a share of the median. Where it is not
  under {limit:.0f} %, it stands beside the ratio. Results before December 2026 have a fixed number of rounds, and slow
  libraries were not timed in the same rounds.
- Before timing, the ids of the whole corpus are compared with those of the reference: tiktoken (for GPT-2 also
  tokenizers); sentencepiece for `.model` files, or tokenizers with the `tokenizer.json` made of the same model, since a
  library that reads the one cannot be asked for the ids of the other; tokenizers for WordPiece, GPT and CLIP;
  subword-nmt for its codes. A backend that differs anywhere is marked *inexact* and never ranked. One that refuses a
  file is listed at the end with its words.
- Every backend is given the same `list[str]` and called in the fastest form it has that ends in flat ids (below).
  Special tokens are recognised by all but tiktoken, sentencepiece, subword-nmt and, with vocabularies of the latter
  two, ours; no corpus contains one. The garbage collector is off while timing, and what a call returned is dropped
  after the clock is read.
- MB/s counts bytes of UTF-8, 1 MB = 10^6 bytes. Slow libraries ({slow})
  are timed on the first part of a corpus only; each run says how much. Ours is timed on that part too, for the ratio.

- **cold**: a fresh tokenizer instance (vocabulary loaded, code compiled, caches of words empty), first pass over the
  corpus. Whether fresh instances are really cold in a process that held others before is checked below.
- **warm**: the same instance, the same text again (second and third pass).
- **held-out**: the corpus is cut into slices of 1 MB, or of a fifth of it, if that is less; a fresh instance is warmed
  (two passes) on four fifths of them, and each slice of the other fifth, never seen by that instance, is timed once.
  Which fifth moves with the round.
"""


def _plain(found: Ratio) -> str:
    return f"{found.value:.2f}" + ("" if found.settled else f" ({spread_words(found)})")


def _settled(results: dict[str, Any]) -> list[str]:
    """How many ratios are good enough."""
    ranked = [found for cell in by_cell(results["records"]) if (found := ratio_to_peer(cell)) is not None]
    if not ranked:
        return []
    done = sum(found[1].settled for found in ranked)
    return [f"**{done} of {len(ranked)} ratios to the fastest exact peer have a spread under {100 * LIMIT:.0f} %.**"]


def _encode_tables(results: dict[str, Any]) -> list[str]:
    parts = ["## Batches, one thread, MB/s"]
    everything = select(results, table="encode")
    for vocabulary in unique(record["vocabulary"] for record in everything):
        for corpus in unique(record["corpus"] for record in everything if record["vocabulary"] == vocabulary):
            records = select(results, table="encode", vocabulary=vocabulary, corpus=corpus)
            cells = [cell for cell in CELLS if any(record["cell"] == cell for record in records)]
            rows = []
            for backend in unique(record["backend"] for record in records):
                mine = {record["cell"]: record for record in reversed(records) if record["backend"] == backend}
                first = next(iter(mine.values()))
                figures = [spread(speeds(mine[cell]), 0) if cell in mine else "-" for cell in cells]
                rows.append([label(first), *figures])
            ratios = [ratio([record for record in records if record["cell"] == cell]) for cell in cells]
            rows.append(["ours / fastest exact peer", *ratios])
            megabytes = max(record["n_bytes"] for record in records) / 1e6
            about = f"{CORPORA[corpus]}; {megabytes:.1f} MB"
            parts += [f"### {vocabulary}, {corpus}", about, table(["", *cells], rows)]
    return parts


def _cold_check(results: dict[str, Any]) -> list[str]:
    """How much faster a fresh instance is than the first instance of the process, on a corpus new to the process."""
    shares: dict[str, list[float]] = {}
    for first in select(results, table="encode", cell="unseen"):
        same = {key: first[key] for key in ("vocabulary", "corpus", "backend")}
        for cold in select(results, table="encode", cell="cold", **same):
            shares.setdefault(first["backend"], []).append(first["seconds"][0] / median(cold["seconds"]))
    if not shares:
        return []
    return [
        "### Is cold cold?",
        "Time of the very first pass over a corpus in the process, divided by the median of the *cold* cell; median "
        "and range over all corpora. A cache that outlives its instance would show as a figure well above 1, near the "
        "ratio of warm to cold; one-time costs of a process raise it a little.",
        table(["", "first in process / cold"], [[name, spread(values, 2)] for name, values in shares.items()]),
    ]


def _latency_tables(results: dict[str, Any]) -> list[str]:
    parts = ["## One short text, warm, µs", "Each sample is the mean of 2000 calls in a row (references: 200)."]
    for vocabulary in unique(record["vocabulary"] for record in select(results, table="latency")):
        records = select(results, table="latency", vocabulary=vocabulary)
        texts = unique(record["corpus"] for record in records)
        rows = []
        for backend in unique(record["backend"] for record in records):
            mine = {record["corpus"]: record for record in records if record["backend"] == backend}
            figures = [spread([1e6 * s for s in mine[text]["seconds"]], 2) for text in texts]
            rows.append([label({"backend": backend, "exact": all(r["exact"] for r in mine.values())}), *figures])
        rows.append(
            ["ours / fastest exact peer", *(ratio([r for r in records if r["corpus"] == text]) for text in texts)]
        )
        parts += [f"### {vocabulary}", table(["", *texts], rows)]
    return parts


def _spans_table(results: dict[str, Any]) -> list[str]:
    records = select(results, table="spans")
    if not records:
        return []
    rows = []
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in records):
        both = {r["cell"]: r for r in select(results, table="spans", vocabulary=vocabulary, corpus=corpus)}
        figures = [spread(speeds(both[cell]), 0) for cell in ("ids", "spans")]
        rows.append([f"{vocabulary}, {corpus}", *figures, _plain(spans_cost(results, vocabulary, corpus))])
    head = ["", "ids, MB/s", "ids and spans, MB/s", "time with spans / without"]
    return ["## Spans in characters, warm, one thread", table(head, rows)]


def _threads_table(results: dict[str, Any]) -> list[str]:
    records = select(results, table="threads")
    if not records:
        return []
    parts = [
        "## Two threads, warm, MB/s",
        "Ours (lists and Arrow arrays) and gigatoken run with one and with two threads in this process, interleaved. "
        "*Two separate tokenizers* are two of ours that share nothing, each with half of the rows in a thread of its "
        "own: what the machine gave at that time.",
    ]
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in records):
        here = [r for r in records if (r["vocabulary"], r["corpus"]) == (vocabulary, corpus)]
        rows = []
        for backend, cell in dict.fromkeys((r["backend"], r["cell"]) for r in here):
            by_threads = {r["threads"]: r for r in here if (r["backend"], r["cell"]) == (backend, cell)}
            figures = [spread(speeds(by_threads[n]), 0) if n in by_threads else "-" for n in (1, 2)]
            gain = _plain(ratio_of(by_threads[2], by_threads[1])) if set(by_threads) == {1, 2} else "-"
            rows.append([f"{backend}, {cell}", *figures, gain])
        parts += [f"### {vocabulary}, {corpus}", table(["", "one", "two", "gain"], rows)]
    return parts


def _calls(results: dict[str, Any]) -> list[str]:
    measured = {entry["backend"] for table in ("records", "refusals") for entry in results[table]}
    rows = [[name, backend.batch_call, backend.one_call] for name, backend in BACKENDS.items() if name in measured]
    return ["## What is called", table(["", "batch", "one text"], rows)]


def _rounds(settings: dict[str, Any]) -> str:
    if "most rounds" not in settings:
        return f"{settings['rounds']} rounds"
    return f"{settings['rounds']} to {settings['most rounds']} rounds, at most {settings['most seconds']:g} s a cell"


def _run_lines(source: str, results: dict[str, Any]) -> str:
    """What one run was made with."""
    machine, settings = results["machine"], results["settings"]
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items() if number)
    vocabularies = ", ".join(filter(None, unique(record["vocabulary"] for record in results["records"])))
    kinds = f" ({', '.join(settings['kinds'])})" if "kinds" in settings else ""
    most = settings.get("megabytes")
    taken = "whole corpora" if most is None else f"the first {most:g} MB of each corpus"
    slow = settings.get("slow megabytes", 2.0)
    lines = [
        f"`{source}`: {vocabularies}{kinds}",
        "",
        f"- {results['date']}; {machine['processor']}, {machine['processors']} processors, load {machine['load']} "
        f"before the run; {machine['system']}, Python {machine['python']}",
        f"- {versions}",
        f"- {_rounds(settings)}, {settings['minutes']} minutes; {taken}, {slow:g} "
        f"MB for slow libraries; one thread on processor {settings['one thread on processors']}, two on "
        f"{settings['two threads on processors']}",
    ]
    if settings["quick"]:
        lines.append("- **A quick run on small samples: it shows that the suite works, not how fast anything is.**")
    return "\n".join(lines)


def render(runs: dict[str, dict[str, Any]], pictures: Sequence[Picture] = ()) -> str:
    """The document.

    Parameters
    ----------
    runs : dict
        Name of a results file -> its content, as ``asv_benchmarks.report`` writes it. What is in several is taken from
        each: give every vocabulary once.
    pictures : sequence of Picture
        Those that stand beside the document, in ``pictures``.
    """
    results = merged(runs)
    sources = ", ".join(f"`docs/results/{source}`" for source in runs)
    described = "\n\n".join(_run_lines(source, run) for source, run in runs.items())
    measured = unique(record["backend"] for record in results["records"])
    slow = ", ".join(name for name in BACKENDS if BACKENDS[name].slow and name in measured)
    parts = [_INTRODUCTION.format(sources=sources, runs=described, slow=slow or "none here", limit=100 * LIMIT)]
    parts += _settled(results)
    if pictures:
        parts += ["## Pictures", *(f"![{picture.says}](pictures/{picture.name}.svg)" for picture in pictures)]
    sections = (
        targets,
        _encode_tables,
        _cold_check,
        _latency_tables,
        _spans_table,
        _threads_table,
        task_tables,
        exponent_tables,
        adversarial_table,
        startup_table,
        memory_table,
        training_table,
        refusals_table,
    )
    for section in sections:
        parts += section(results)
    parts += _calls(results)
    return "\n\n".join(parts) + "\n"
