"""The tables of what users do besides encoding batches, of how times grow, and of training."""

from __future__ import annotations

from statistics import median
from typing import Any

from .curves import exponent
from .measure_tasks import TASKS
from .tables import label, ratio, select, speeds, spread, table, unique

__all__ = ["exponent_tables", "task_tables", "training_table"]

_TITLES = {
    "document": "One document, MB/s",
    "count": "Counting, MB/s",
    "decode": "Decoding, MB/s of text",
    "padding": "Padded matrices, MB/s",
    "packing": "Packed blocks, MB/s",
    "load": "Loading a vocabulary, ms",
}
_GROWTH = """\
The exponent k of time = c x size ^ k, by least squares over the logarithms: 1 is linear. Of texts from 16 kB, and of
batches of 1 to 10,000 lines of Hamlet (in bytes), all backends by turns at each size, the quickest pass; larger sizes
are left out after a pass of a tenth of a second. GPT-2 with its first 1000, 4000 and 16,000 merges and whole says how
times grow with the vocabulary. A library with other ids than the reference is *inexact*."""
_TRAINING = """\
Two threads. BPE is byte-level; its merges are compared with those of tokenizers, pieces of WordPiece too, but for 1 %:
ties are decided by the order of a hash table there, so that two of its runs differ. Unigram is compared with
sentencepiece; ours gives other pieces of the same quality ([`training_unigram.md`](training_unigram.md)), so it is not
ranked. Memory is in [`training.md`](training.md)."""


def task_tables(results: dict[str, Any]) -> list[str]:
    """One section a task; a row a backend, a column a cell of a vocabulary and a corpus."""
    parts = []
    for name, title in _TITLES.items():
        records = select(results, table=name)
        if not records:
            continue
        says = next(task.says for task in TASKS if task.table == name)
        parts += [f"## {title}", f"{says[0].upper()}{says[1:]}; one thread."]
        for vocabulary in unique(record["vocabulary"] for record in records):
            mine = [record for record in records if record["vocabulary"] == vocabulary]
            parts += [f"### {title.split(',')[0]}: {vocabulary}", _task_table(mine)]
    return parts


def _task_table(records: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys((record["corpus"], record["cell"]) for record in records))
    rows = []
    for backend in unique(record["backend"] for record in records):
        mine = {(r["corpus"], r["cell"]): r for r in records if r["backend"] == backend}
        rows.append([backend, *(_figure(mine.get(column)) for column in columns)])
    ratios = [ratio([r for r in records if (r["corpus"], r["cell"]) == column]) for column in columns]
    rows.append(["ours / fastest exact peer", *ratios])
    return table(["", *(", ".join(filter(None, column)) for column in columns)], rows)


def _figure(record: dict[str, Any] | None) -> str:
    """MB/s, or milliseconds where no bytes were counted."""
    if record is None:
        return "-"
    if not record["seconds"]:
        return "*inexact*"
    if record["n_bytes"]:
        return spread(speeds(record), 0 if median(speeds(record)) >= 10 else 1)
    return spread([1e3 * seconds for seconds in record["seconds"]], 1)


def exponent_tables(results: dict[str, Any]) -> list[str]:
    """Exponents of each backend."""
    if not results["curves"]:
        return []
    parts = ["## How time grows", _GROWTH]
    for vocabulary in unique(entry["vocabulary"] for entry in results["curves"]):
        entries = [entry for entry in results["curves"] if entry["vocabulary"] == vocabulary]
        columns = list(dict.fromkeys((entry["what"], entry["shape"]) for entry in entries))
        rows = []
        for backend in unique(entry["backend"] for entry in entries):
            mine = {(e["what"], e["shape"]): e for e in entries if e["backend"] == backend}
            rows.append([backend, *(_exponent(mine.get(column)) for column in columns)])
        heads = [shape if what == "input size" else what for what, shape in columns]
        parts += [f"### Exponents: {vocabulary}", table(["", *heads], rows)]
    return parts


def _exponent(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "-"
    return f"{exponent(entry['sizes'], entry['seconds']):.2f}" if entry["sizes"] else "*inexact*"


def training_table(results: dict[str, Any]) -> list[str]:
    """Seconds of each trainer."""
    records = select(results, table="training")
    if not records:
        return []
    rows = []
    for corpus, cell in dict.fromkeys((record["corpus"], record["cell"]) for record in records):
        here = [record for record in records if (record["corpus"], record["cell"]) == (corpus, cell)]
        figures = "; ".join(f"{label(r)} {median(r['seconds']):.2f}" for r in here)
        rows.append([f"{cell} tokens, {corpus}", figures, ratio(here)])
    return ["## Training, seconds", _TRAINING, table(["", "seconds", "ours / fastest exact peer"], rows)]
