"""Turn a results file into ``docs/benchmarks.md``; every figure in the document comes through here."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from tools.references import family_of

from .benchmarks.backends import BACKENDS
from .benchmarks.corpora import CORPORA

__all__ = ["render"]

OURS = "numba_nlp"
CELLS = ("cold", "warm", "held-out")
#: Stands for the fastest exact peer that is not sentencepiece.
OTHERS = "others"

_INTRODUCTION = """# Benchmarks

Written by `python -m asv_benchmarks.report` from {sources}; no figure is typed by hand.

{runs}

## How the figures are made

- One process per vocabulary and number of threads, pinned to fixed processors; thread pools are sized by the
  environment (`RAYON_NUM_THREADS`, `TOKENIZERS_PARALLELISM`, ...) before anything is imported.
- Backends are **interleaved** (A B C, then B C A, ...), so each sees the same machine. A figure is the median of all
  rounds, with the slowest and the fastest sample in brackets. A **ratio** is the median over rounds of ours divided by
  the fastest exact peer of that cell *in the same round*: above 1 we are faster.
- Before timing, the ids of the whole corpus are compared with those of the reference: tiktoken (for GPT-2 also
  tokenizers); sentencepiece for `.model` files, or tokenizers with the `tokenizer.json` made of the same model, since a
  library that reads the one cannot be asked for the ids of the other; tokenizers for WordPiece, GPT and CLIP;
  subword-nmt for its codes. A backend that differs anywhere is marked *inexact* and never ranked. One that refuses a
  file is listed at the end with its words.
- Every backend is given the same `list[str]` and called in the fastest form it has that ends in flat ids (below).
  Special tokens are recognised by all but tiktoken, sentencepiece, subword-nmt and, with vocabularies of the latter
  two, ours; no corpus contains one. The garbage collector is off while timing, and what a call returned is dropped
  after the clock is read.
- MB/s counts bytes of UTF-8, 1 MB = 10^6 bytes. Slow libraries (tiktoken, tokenizers, sentencepiece, kitoken,
  BlingFire, subword-nmt) are timed on the first part of a corpus only; each run says how much.

- **cold**: a fresh tokenizer instance (vocabulary loaded, code compiled, caches of words empty), first pass over the
  corpus. Whether fresh instances are really cold in a process that held others before is checked below.
- **warm**: the same instance, the same text again (second and third pass).
- **held-out**: the corpus is cut into slices of 1 MB; a fresh instance is warmed (two passes) on four fifths of them,
  and each slice of the other fifth, never seen by that instance, is timed once. Which fifth moves with the round.
"""


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join([" --- "] + [" ---: "] * (len(head) - 1)) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def _speeds(record: dict[str, Any]) -> list[float]:
    """MB/s of every sample."""
    sizes = record["sizes"] or [record["n_bytes"]] * len(record["seconds"])
    return [n / 1e6 / seconds for n, seconds in zip(sizes, record["seconds"], strict=True)]


def _spread(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def _label(record: dict[str, Any]) -> str:
    return record["backend"] if record["exact"] else f"{record['backend']} (*inexact*)"


def _fastest_peer(records: list[dict[str, Any]]) -> dict[str, Any] | None:
    peers = [record for record in records if record["backend"] != OURS and record["exact"]]
    return min(peers, key=lambda record: median(record["seconds"]) / (record["n_bytes"] or 1), default=None)


def _paired_ratio(ours: dict[str, Any], peer: dict[str, Any]) -> float:
    """Median over samples of (peer's seconds / our seconds), both per byte, taken in the same round."""
    mine, theirs = ours["seconds"], peer["seconds"]
    if len(mine) != len(theirs):  # a slow reference has fewer rounds
        return median(theirs) / (peer["n_bytes"] or 1) / (median(mine) / (ours["n_bytes"] or 1))
    scale = (ours["n_bytes"] or 1) / (peer["n_bytes"] or 1)
    return median(b / a for a, b in zip(mine, theirs, strict=True)) * scale


def _ratio(records: list[dict[str, Any]]) -> tuple[str, float | None]:
    """``1.23 (name)`` and the number, against the fastest exact peer of these records of one cell."""
    ours = next((record for record in records if record["backend"] == OURS), None)
    peer = _fastest_peer(records)
    if ours is None or peer is None:
        return "-", None
    if not ours["exact"]:
        return "ours is inexact", None
    ratio = _paired_ratio(ours, peer)
    return f"**{ratio:.2f}** ({peer['backend']})", ratio


def _select(results: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    return [record for record in results["records"] if all(record[key] == value for key, value in wanted.items())]


def _unique(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _encode_tables(results: dict[str, Any]) -> list[str]:
    parts = ["## Batches, one thread, MB/s"]
    everything = _select(results, table="encode")
    for vocabulary in _unique(record["vocabulary"] for record in everything):
        for corpus in _unique(record["corpus"] for record in everything if record["vocabulary"] == vocabulary):
            records = _select(results, table="encode", vocabulary=vocabulary, corpus=corpus)
            cells = [cell for cell in CELLS if any(record["cell"] == cell for record in records)]
            rows = []
            for backend in _unique(record["backend"] for record in records):
                mine = {record["cell"]: record for record in records if record["backend"] == backend}
                first = next(iter(mine.values()))
                figures = [_spread(_speeds(mine[cell]), 0) if cell in mine else "-" for cell in cells]
                rows.append([_label(first), *figures])
            ratios = [_ratio([record for record in records if record["cell"] == cell])[0] for cell in cells]
            rows.append(["ours / fastest exact peer", *ratios])
            megabytes = max(record["n_bytes"] for record in records) / 1e6
            about = f"{CORPORA[corpus]}; {megabytes:.1f} MB"
            parts += [f"### {vocabulary}, {corpus}", about, _table(["", *cells], rows)]
    return parts


def _cold_check(results: dict[str, Any]) -> list[str]:
    """How much faster a fresh instance is than the first instance of the process, on a corpus new to the process."""
    shares: dict[str, list[float]] = {}
    for first in _select(results, table="encode", cell="unseen"):
        same = {key: first[key] for key in ("vocabulary", "corpus", "backend")}
        for cold in _select(results, table="encode", cell="cold", **same):
            shares.setdefault(first["backend"], []).append(first["seconds"][0] / median(cold["seconds"]))
    if not shares:
        return []
    return [
        "### Is cold cold?",
        "Time of the very first pass over a corpus in the process, divided by the median of the *cold* cell; median "
        "and range over all corpora. A cache that outlives its instance would show as a figure well above 1, near the "
        "ratio of warm to cold; one-time costs of a process raise it a little.",
        _table(["", "first in process / cold"], [[name, _spread(values, 2)] for name, values in shares.items()]),
    ]


def _latency_tables(results: dict[str, Any]) -> list[str]:
    parts = ["## One short text, warm, µs", "Each sample is the mean of 2000 calls in a row (references: 200)."]
    for vocabulary in _unique(record["vocabulary"] for record in _select(results, table="latency")):
        records = _select(results, table="latency", vocabulary=vocabulary)
        texts = _unique(record["corpus"] for record in records)
        rows = []
        for backend in _unique(record["backend"] for record in records):
            mine = {record["corpus"]: record for record in records if record["backend"] == backend}
            figures = [_spread([1e6 * s for s in mine[text]["seconds"]], 2) for text in texts]
            rows.append([_label({"backend": backend, "exact": all(r["exact"] for r in mine.values())}), *figures])
        rows.append(
            ["ours / fastest exact peer", *(_ratio([r for r in records if r["corpus"] == text])[0] for text in texts)]
        )
        parts += [f"### {vocabulary}", _table(["", *texts], rows)]
    return parts


def _spans_cost(results: dict[str, Any], vocabulary: str, corpus: str) -> float:
    by_cell = {r["cell"]: r for r in _select(results, table="spans", vocabulary=vocabulary, corpus=corpus)}
    return median(b / a for a, b in zip(by_cell["ids"]["seconds"], by_cell["spans"]["seconds"], strict=True))


def _spans_table(results: dict[str, Any]) -> list[str]:
    records = _select(results, table="spans")
    if not records:
        return []
    rows = []
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in records):
        by_cell = {r["cell"]: r for r in _select(results, table="spans", vocabulary=vocabulary, corpus=corpus)}
        figures = [_spread(_speeds(by_cell[cell]), 0) for cell in ("ids", "spans")]
        rows.append([f"{vocabulary}, {corpus}", *figures, f"{_spans_cost(results, vocabulary, corpus):.2f}"])
    head = ["", "ids, MB/s", "ids and spans, MB/s", "time with spans / without"]
    return ["## Spans in characters, warm, one thread", _table(head, rows)]


def _threads_gain(results: dict[str, Any], vocabulary: str, corpus: str, cell: str) -> float | None:
    found = {
        r["threads"]: r
        for r in _select(results, table="threads", vocabulary=vocabulary, corpus=corpus, cell=cell)
        if r["backend"] == OURS
    }
    if set(found) != {1, 2}:
        return None
    return median(a / b for a, b in zip(found[1]["seconds"], found[2]["seconds"], strict=True))


def _threads_table(results: dict[str, Any]) -> list[str]:
    records = _select(results, table="threads")
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
            figures = [_spread(_speeds(by_threads[n]), 0) if n in by_threads else "-" for n in (1, 2)]
            gain = "-"
            if set(by_threads) == {1, 2}:
                pairs = zip(by_threads[1]["seconds"], by_threads[2]["seconds"], strict=True)
                gain = f"{median(a / b for a, b in pairs):.2f}"
            rows.append([f"{backend}, {cell}", *figures, gain])
        parts += [f"### {vocabulary}, {corpus}", _table(["", "one", "two", "gain"], rows)]
    return parts


def _adversarial_share(entry: dict[str, Any]) -> float:
    """Speed on the shape (first pass) as a share of the speed on 1 MB of Python sources, cold as well."""
    return entry["seconds"]["ordinary"] / entry["seconds"]["first"]


def _adversarial_table(results: dict[str, Any]) -> list[str]:
    if not results["adversarial"]:
        return []
    parts = [
        "## 1 MB of one shape in one text",
        "A fresh process per cell: 1 MB of Python sources, then the text, first pass, in MB/s; in brackets the share "
        "of the speed on the sources. *stopped*: over the limit of seconds that the results file states.",
    ]
    for vocabulary in _unique(entry["vocabulary"] for entry in results["adversarial"]):
        entries = [entry for entry in results["adversarial"] if entry["vocabulary"] == vocabulary]
        shapes = _unique(entry["shape"] for entry in entries)
        rows = []
        for backend in _unique(entry["backend"] for entry in entries):
            row = [backend]
            for entry in (e for e in entries if e["backend"] == backend):
                if entry["seconds"] is None:
                    row.append("*stopped*")
                    continue
                mark = "" if entry["exact"] else " *inexact*"
                row.append(f"{1 / entry['seconds']['first']:.1f} ({_adversarial_share(entry):.2f}){mark}")
            rows.append(row)
        parts += [f"### {vocabulary}", _table(["", *shapes], rows)]
    return parts


def _startup_table(results: dict[str, Any]) -> list[str]:
    if not results["startup"]:
        return []
    columns = ("import", "load", "first encode", "total")
    parts = [
        "## Start, ms",
        "A fresh interpreter imports the library, loads the vocabulary and encodes one sentence; *total* runs from "
        "before the process to the ids. Medians. tiktoken reads its rank files from disk.",
    ]
    for vocabulary in _unique(entry["vocabulary"] for entry in results["startup"]):
        entries = [entry for entry in results["startup"] if entry["vocabulary"] == vocabulary]
        rows = []
        for backend in _unique(entry["backend"] for entry in entries):
            mine = [entry for entry in entries if entry["backend"] == backend]
            rows.append([backend, *(f"{1000 * median(entry[column] for entry in mine):.0f}" for column in columns)])
        parts += [f"### {vocabulary}", _table(["", *columns], rows)]
    return parts


def _memory_table(results: dict[str, Any]) -> list[str]:
    if not results["memory"]:
        return []
    parts = ["## Peak memory, MB"]
    for vocabulary in _unique(entry["vocabulary"] for entry in results["memory"]):
        entries = [entry for entry in results["memory"] if entry["vocabulary"] == vocabulary]
        rows = [
            [entry["backend"], f"{entry['megabytes']['loaded']:.0f}", f"{entry['megabytes']['peak']:.0f}"]
            for entry in entries
        ]
        head = ["", "import and load", f"and two passes over {entries[0]['corpus']}"]
        parts += [f"### {vocabulary}", _table(head, rows)]
    parts.append(
        "Growth of the largest resident size over that of the texts alone; the second figure holds the ids of a pass."
    )
    return parts


#: Family -> (cell, peer or None for the fastest exact one, ratio wanted in English and code, and elsewhere).
_WANTED: dict[str, list[tuple[tuple[str, ...], str | None, float, float]]] = {
    "byte_bpe": [(CELLS, None, 1, 1)],
    "unigram": [(("warm",), "sentencepiece", 6, 6), (("warm",), OTHERS, 2, 2), (("cold",), "sentencepiece", 2, 2)],
    "sentencepiece_bpe": [(CELLS, None, 5, 5)],
    "wordpiece": [(CELLS, "nanotoken", 1, 2)],
    "character_bpe": [(CELLS, None, 1, 1)],
}
FAMILIES = {
    "byte_bpe": "Byte-level BPE",
    "unigram": "SentencePiece Unigram",
    "sentencepiece_bpe": "SentencePiece BPE",
    "wordpiece": "WordPiece",
    "character_bpe": "Character BPE",
}


def _against(records: list[dict[str, Any]], peer: str | None) -> tuple[str, float | None]:
    """Name of what ours is compared with, and our ratio to it."""
    ours = next((record for record in records if record["backend"] == OURS), None)
    if peer is None or peer == OTHERS:
        given = [record for record in records if peer is None or record["backend"] != "sentencepiece"]
        found = _fastest_peer(given)
    else:
        found = next((record for record in records if record["backend"] == peer and record["exact"]), None)
    if ours is None or found is None or not ours["exact"]:
        return "", None
    return found["backend"], _paired_ratio(ours, found)


def _ratio_targets(results: dict[str, Any], vocabulary: str) -> list[list[str]]:
    """The rows of one vocabulary: what, wanted, figure, reached."""
    rows = []
    for corpus in _unique(record["corpus"] for record in _select(results, table="encode", vocabulary=vocabulary)):
        for cells, peer, easy, hard in _WANTED[family_of(vocabulary)]:
            wanted = hard if corpus == "multilingual_lines" else easy
            for cell in cells:
                records = _select(results, table="encode", vocabulary=vocabulary, corpus=corpus, cell=cell)
                name, ratio = _against(records, peer)
                if ratio is not None:
                    sign = f"> {wanted:g}" if wanted == 1 else f">= {wanted:g}"
                    reached = ratio > 1 if wanted == 1 else ratio >= wanted
                    what = f"{vocabulary}, {corpus}, {cell}: ours / {name}"
                    rows.append([what, sign, f"{ratio:.2f}", "yes" if reached else "**no**"])
    return rows


def _targets(results: dict[str, Any]) -> list[str]:
    """Each target of the project beside its figure."""
    parts = []
    vocabularies = _unique(record["vocabulary"] for record in _select(results, table="encode"))
    for family, title in FAMILIES.items():
        found = [_ratio_targets(results, vocabulary) for vocabulary in vocabularies if family_of(vocabulary) == family]
        family_rows = [entry for entries in found for entry in entries]
        if family_rows:
            done = sum(entry[3] == "yes" for entry in family_rows)
            title = f"### {title}: {done} of {len(family_rows)} ratios"
            parts += [title, _table(["what", "wanted", "figure", "reached"], family_rows)]
    rows = []

    def row(what: str, wanted: str, figure: float | None, digits: int, reached: bool) -> None:
        if figure is not None:
            rows.append([what, wanted, f"{figure:.{digits}f}", "yes" if reached else "**no**"])

    for record in _select(results, table="latency", backend=OURS):
        if record["corpus"] != "150 characters":
            value = 1e6 * median(record["seconds"])
            row(f"{record['vocabulary']}, {record['corpus']}: µs", "<= 1", value, 2, value <= 1)
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in _select(results, table="spans")):
        value = _spans_cost(results, vocabulary, corpus)
        row(f"{vocabulary}, {corpus}: time with spans / without", "<= 1.5", value, 2, value <= 1.5)
    for vocabulary, corpus in dict.fromkeys((r["vocabulary"], r["corpus"]) for r in _select(results, table="threads")):
        for cell, wanted in (("arrow", 1.8), ("list", 1.6)):
            gain = _threads_gain(results, vocabulary, corpus, cell)
            row(f"{vocabulary}, {corpus}, {cell}: gain of two threads", f">= {wanted}", gain, 2, (gain or 0) >= wanted)
    for entry in results["adversarial"]:
        if entry["backend"] == OURS and entry["seconds"] is not None:
            share = _adversarial_share(entry)
            row(f"{entry['vocabulary']}, {entry['shape']}: share of ordinary speed", ">= 0.1", share, 2, share >= 0.1)
    for vocabulary in _unique(entry["vocabulary"] for entry in results["startup"]):
        for backend, what, wanted in (
            (OURS, "process start to first ids, s", 0.7),
            (f"{OURS}, nothing compiled", "the same with nothing compiled, s", 20.0),
        ):
            totals = [
                entry["total"]
                for entry in results["startup"]
                if entry["vocabulary"] == vocabulary and entry["backend"] == backend
            ]
            if totals:
                row(f"{vocabulary}: {what}", f"<= {wanted}", median(totals), 2, median(totals) <= wanted)
    if rows:
        parts += ["### Everything else", _table(["what", "wanted", "figure", "reached"], rows)]
    return ["## Targets", *parts] if parts else []


def _calls() -> list[str]:
    rows = [[name, backend.batch_call, backend.one_call] for name, backend in BACKENDS.items()]
    return ["## What is called", _table(["", "batch", "one text"], rows)]


def _refusals_table(results: dict[str, Any]) -> list[str]:
    rows = [
        [entry["backend"], entry["vocabulary"], entry["message"].replace("|", "\\|")[:160]]
        for entry in results["refusals"]
    ]
    if not rows:
        return []
    rows.sort(key=lambda row: list(BACKENDS).index(row[0]))
    return ["## Which libraries do not load which file", _table(["", "vocabulary", "what it says"], rows)]


def _run_lines(source: str, results: dict[str, Any]) -> str:
    """What one run was made with."""
    machine, settings = results["machine"], results["settings"]
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items() if number)
    vocabularies = ", ".join(_unique(record["vocabulary"] for record in results["records"]))
    most = settings.get("megabytes")
    taken = "whole corpora" if most is None else f"the first {most:g} MB of each corpus"
    lines = [
        f"`{source}`: {vocabularies}",
        "",
        f"- {results['date']}; {machine['processor']}, {machine['processors']} processors, load {machine['load']} "
        f"before the run; {machine['system']}, Python {machine['python']}",
        f"- {versions}",
        f"- {settings['rounds']} rounds, {settings['minutes']} minutes; {taken}, {settings.get('slow megabytes', 2.0):g} "
        f"MB for slow libraries; one thread on processor {settings['one thread on processors']}, two on "
        f"{settings['two threads on processors']}",
    ]
    if settings["quick"]:
        lines.append("- **A quick run on small samples: it shows that the suite works, not how fast anything is.**")
    return "\n".join(lines)


def render(runs: dict[str, dict[str, Any]]) -> str:
    """The document.

    Parameters
    ----------
    runs : dict
        Name of a results file -> its content, as ``asv_benchmarks.report`` writes it. What is in several is taken from
        each: give every vocabulary once.
    """
    tables = ("records", "adversarial", "startup", "memory", "refusals")
    results = {table: [entry for run in runs.values() for entry in run.get(table, [])] for table in tables}
    sources = ", ".join(f"`docs/results/{source}`" for source in runs)
    described = "\n\n".join(_run_lines(source, run) for source, run in runs.items())
    parts = [_INTRODUCTION.format(sources=sources, runs=described)]
    sections = (
        _targets,
        _encode_tables,
        _cold_check,
        _latency_tables,
        _spans_table,
        _threads_table,
        _adversarial_table,
        _startup_table,
        _memory_table,
        _refusals_table,
    )
    for section in sections:
        parts += section(results)
    parts += _calls()
    return "\n\n".join(parts) + "\n"
