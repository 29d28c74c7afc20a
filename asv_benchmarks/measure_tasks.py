"""What users do besides encoding batches: the classes of asv, set up for every backend in one process, by turns.

A setup compares with the reference; a library that gives something else is marked and not timed.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

from .benchmarks.backends import BACKENDS
from .benchmarks.bench_count import Count
from .benchmarks.bench_decode import Decode, DecodeBatch
from .benchmarks.bench_document import Document, DocumentCold
from .benchmarks.bench_load import Load
from .benchmarks.bench_packing import Packing
from .benchmarks.bench_padding import Padding
from .benchmarks.common import Inexact
from .benchmarks.corpora import size
from .samples import Record, Rounds, add, interleaved, say, timed, wanted_names

__all__ = ["TASKS", "Task", "measure_task", "measure_tasks"]

#: A sample is as many calls as take about this long.
SAMPLE_SECONDS = 0.005


class Task(NamedTuple):
    """A table: the asv class, and its methods by the name of their column."""

    table: str
    kind: Any
    calls: dict[str, str]
    #: Words for the document: what is timed.
    says: str


TASKS = [
    Task("document", Document, {"warm": "time_encode"}, "one text of 200 kB in one call"),
    Task("document", DocumentCold, {"cold": "time_encode"}, "one text of 200 kB in one call"),
    Task("count", Count, {"warm": "time_count"}, "numbers of ids of each text, 500 kB, by the shortest way"),
    Task("decode", Decode, {"one text": "time_decode"}, "the reference's ids of 200 kB to text"),
    Task("decode", DecodeBatch, {"many texts": "time_decode_batch"}, "the reference's ids of 200 kB to text"),
    Task("padding", Padding, {"warm": "time_padded"}, "ids and mask of 128 columns, cut and padded, 500 kB"),
    Task(
        "packing",
        Packing,
        {"encode and pack": "time_encode_and_pack", "pack": "time_pack"},
        "500 kB to a file of blocks of 1024 ids of 16 bits; beside ours NumPy, with the ids of each library",
    ),
    Task("load", Load, {"load": "time_load"}, "a vocabulary loaded again, and the ids of one character"),
]


def measure_tasks(vocabulary: str, names: list[str], rounds: Rounds, corpora: list[str]) -> list[Record]:
    """All tasks that have the vocabulary."""
    records = []
    for task in TASKS:
        if vocabulary in task.kind.params[0]:
            for corpus_name in corpora if "corpus" in task.kind.param_names else [""]:
                records += measure_task(task, vocabulary, names, rounds, corpus_name)
    return records


def measure_task(task: Task, vocabulary: str, names: list[str], rounds: Rounds, corpus_name: str) -> list[Record]:
    """One task by every backend that has it."""
    found: dict[tuple[str, str], Record] = {}
    benchmarks: dict[str, tuple[Any, tuple[str, ...]]] = {}
    try:
        for name in names:
            if name not in task.kind.params[-1]:
                continue
            arguments = (vocabulary, corpus_name, name) if corpus_name else (vocabulary, name)
            benchmark, exact = task.kind(), True
            try:
                benchmark.setup(*arguments)
            except Inexact as reason:
                say(f"{task.table}: {reason}")
                exact = False
            except NotImplementedError as reason:
                say(f"{task.table}: left out, {reason}")
                continue
            benchmarks[name] = benchmark, arguments
            n_bytes = size(benchmark.texts) if corpus_name else 0
            for cell in task.calls:
                found[name, cell] = Record(task.table, vocabulary, corpus_name, cell, name, 1, n_bytes, exact)
        timed_ones = [name for name in benchmarks if found[name, next(iter(task.calls))].exact]
        slow = [name for name in timed_ones if BACKENDS[name].slow]
        take = _taker(task, benchmarks, found)
        turns = interleaved(timed_ones, take, rounds, wanted_names(list(found.values()), rounds, slow))
        say(f"{task.table}, {vocabulary} {corpus_name}: {turns} rounds")
    finally:
        for benchmark, arguments in benchmarks.values():
            if hasattr(benchmark, "teardown"):
                benchmark.teardown(*arguments)
    return list(found.values())


def _taker(task: Task, benchmarks: dict[str, Any], found: dict[tuple[str, str], Record]) -> Callable[[str, int], None]:
    repeats: dict[tuple[str, str], int] = {}

    def take(name: str, turn: int) -> None:
        benchmark, arguments = benchmarks[name]
        for cell, method in task.calls.items():
            call, key = getattr(benchmark, method), (name, cell)
            if hasattr(benchmark, "renew"):
                benchmark.renew(*arguments)
                repeats[key] = 1
            elif key not in repeats:
                repeats[key] = ceil(SAMPLE_SECONDS / timed(call, *arguments))
            taken = timed(_again, call, arguments, repeats[key])
            add(found[key], turn, taken / repeats[key])

    return take


def _again(call: Callable[..., Any], arguments: tuple[str, ...], times: int) -> None:
    for _ in range(times):
        call(*arguments)
