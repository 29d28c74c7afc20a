"""What the report measures in one process that holds every backend of one vocabulary: batches, and short texts.

All backends take turns (:func:`asv_benchmarks.samples.interleaved`), so that each sees the same machine, until the
ratios of ours to the fastest exact peer have settled. Before anything is timed each backend's ids of the whole corpus
are compared with the reference; one that differs is still timed, marked, and never ranked. The garbage collector is off
while timing, and what a call returned is dropped after the clock is read.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import repeat
from typing import Any

import numpy as np

from .benchmarks.backends import BACKENDS, Backend
from .benchmarks.corpora import LATENCY_TEXTS, SLICE_BYTES, Missing, corpus, size, slices
from .machine import pin
from .ratios import OURS
from .samples import Judge, Record, Rounds, add, beginning, interleaved, say, timed, wanted_names
from .targets import named_peers

__all__ = ["find_refusals", "measure_encode", "measure_latency"]

#: Every n-th slice is held out; which one moves with the round, so that all of a corpus is held out in turn.
HELD_OUT_EVERY = 5
#: A corpus that is smaller has no held-out slices: they would be too small for a clock.
HELD_OUT_BYTES = 1_000_000


def held_out(runs: list[list[str]], turn: int) -> tuple[list[str], list[list[str]]]:
    """Texts to warm on, and the held-out slices of this turn (at least one, at most every fifth)."""
    step = min(HELD_OUT_EVERY, len(runs))
    out = [run for place, run in enumerate(runs) if place % step == turn % step]
    warm = [text for place, run in enumerate(runs) if place % step != turn % step for text in run]
    return warm, out


def _refusal(vocabulary: str, name: str) -> str | None:
    try:
        BACKENDS[name](vocabulary, 1)
    except (KeyboardInterrupt, SystemExit, FileNotFoundError):
        raise
    except BaseException as error:  # a panic of a Rust library is no Exception
        if name == OURS:
            raise
        return str(error).split("\n")[0]
    return None


def find_refusals(vocabulary: str, names: list[str]) -> dict[str, str]:
    """The libraries that do not load the vocabulary (or fail on the text "."), and what they say."""
    found = {name: _refusal(vocabulary, name) for name in names}
    return {name: message for name, message in found.items() if message is not None}


class _Passes:
    """The cells of one backend on one part of a corpus."""

    def __init__(self, name: str, vocabulary: str, corpus_name: str, texts: tuple[str, ...], judge: Judge) -> None:
        self.make: Callable[[], Backend] = lambda: BACKENDS[name](vocabulary, 1)
        n_bytes = size(texts)
        self.texts = list(texts)
        self.runs = slices(texts, min(SLICE_BYTES, n_bytes // HELD_OUT_EVERY)) if n_bytes >= HELD_OUT_BYTES else []
        backend = self.make()
        start = time.perf_counter()
        result = backend.encode_batch(self.texts)
        unseen = time.perf_counter() - start
        exact = judge.exact(backend.flat(result))
        cells = ("cold", "warm", *(["held-out"] if self.runs else []), "unseen")
        self.records = {
            cell: Record("encode", vocabulary, corpus_name, cell, name, 1, n_bytes, exact) for cell in cells
        }
        # This process has never seen the corpus: if later instances were faster here, they would not be cold.
        add(self.records["unseen"], 0, unseen)

    def take(self, turn: int) -> None:
        """One round: cold and warm on one fresh instance, held-out on another."""
        gc.collect()
        fresh = self.make()
        add(self.records["cold"], turn, timed(fresh.encode_batch, self.texts))
        add(self.records["warm"], turn, *(timed(fresh.encode_batch, self.texts) for _ in range(2)))
        if self.runs:
            known, unseen = held_out(self.runs, turn)
            fresh = self.make()
            timed(fresh.encode_batch, known)
            timed(fresh.encode_batch, known)
            for run in unseen:
                gc.collect()
                add(self.records["held-out"], turn, timed(fresh.encode_batch, run))
                self.records["held-out"].sizes.append(size(run))


def measure_encode(
    vocabulary: str, names: list[str], corpora: list[str], rounds: Rounds, limit_bytes: int | None, slow_bytes: int
) -> list[Record]:
    """Cold, warm and held-out cells of every corpus that is on this machine.

    Parameters
    ----------
    limit_bytes : int or None
        Take only so many bytes of each corpus (``--quick``, ``--megabytes``).
    slow_bytes : int
        The same for the slow backends, and for ours beside them.
    """
    records: list[Record] = []
    for corpus_name in corpora:
        try:
            whole = beginning(corpus(corpus_name), limit_bytes)
        except Missing as missing:
            say(f"{corpus_name}: skipped, {missing}")
            continue
        part = beginning(whole, slow_bytes)
        fast = [name for name in names if not BACKENDS[name].slow]
        slow = [name for name in names if BACKENDS[name].slow]
        on_part = [OURS, *slow] if len(part) < len(whole) and slow and OURS in names else slow
        judges = Judge(vocabulary, whole), Judge(vocabulary, part)
        keys = [(name, False) for name in fast] + [(name, True) for name in on_part]
        passes = {
            (name, is_part): _Passes(name, vocabulary, corpus_name, part if is_part else whole, judges[is_part])
            for name, is_part in keys
        }
        del judges
        found = [record for key in keys for record in passes[key].records.values()]

        compared = [record for record in found if record.cell != "unseen"]
        chosen = wanted_names(compared, rounds, slow, named_peers(vocabulary))

        def take(key: tuple[str, bool], turn: int, passes: Any = passes) -> None:
            passes[key].take(turn)

        def wanted(turn: int, keys: Any = keys, chosen: Any = chosen) -> list[tuple[str, bool]]:
            now = chosen(turn)
            return [key for key in keys if key[0] in now]

        n = interleaved(keys, take, rounds, wanted)
        say(f"{vocabulary} {corpus_name}: {n} rounds")
        records += found
    return records


def measure_latency(vocabulary: str, names: list[str], rounds: Rounds, calls: int = 2000) -> list[Record]:
    """Seconds of one call on one short text, warm; each sample is the mean of ``calls`` calls in a row."""
    backends = {name: BACKENDS[name](vocabulary, 1) for name in names}
    records = []
    for label, text in LATENCY_TEXTS.items():
        judge = Judge(vocabulary, (text,))
        found = {}
        for name, backend in backends.items():
            ids = backend.flat_one(backend.encode_one(text))
            exact = judge.exact((ids, np.array([0, len(ids)], dtype=np.int64)))
            found[name] = Record("latency", vocabulary, label, "warm", name, 1, 0, exact)

        def run(name: str, text: str = text) -> float:
            encode, count = backends[name].encode_one, calls // 10 if BACKENDS[name].slow else calls
            start = time.perf_counter()
            for _ in repeat(None, count):
                encode(text)
            return (time.perf_counter() - start) / count

        def take(name: str, turn: int, run: Any = run, found: dict[str, Record] = found) -> None:
            if turn == 0:
                run(name)  # warms
            add(found[name], turn, run(name))

        interleaved(names, take, rounds, wanted_names(list(found.values()), rounds, ()))
        records += found.values()
    return records


def main() -> None:
    """``python -m asv_benchmarks.measure``: reads one job as JSON from stdin, writes what was found to stdout."""
    from .measure_scaling import measure_scaling
    from .measure_tasks import measure_tasks
    from .measure_threads import measure_spans, measure_threads
    from .measure_training import measure_training

    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some libraries print
    job = json.load(sys.stdin)
    pin(job["cpus"])
    rounds, vocabulary, some = Rounds(*job["rounds"]), job["vocabulary"], job["task_corpora"]
    refusals = find_refusals(vocabulary, job["names"]) if vocabulary else {}
    for name, message in refusals.items():
        say(f"{name} does not load {vocabulary}: {message}")
    names = [name for name in job["names"] if name not in refusals]
    few = {"corpora": job["corpora"], "limit_bytes": job["limit_bytes"]}
    calls: dict[str, Callable[[], list[Any]]] = {
        "encode": lambda: measure_encode(vocabulary, names, rounds=rounds, slow_bytes=job["slow_bytes"], **few),
        "latency": lambda: measure_latency(vocabulary, names, rounds),
        "spans": lambda: measure_spans(vocabulary, rounds=rounds, **few),
        "threads": lambda: measure_threads(vocabulary, names, rounds=rounds, **few),
        "tasks": lambda: measure_tasks(vocabulary, names, rounds, some),
        "training": lambda: measure_training(replace(rounds, least=min(3, rounds.least)), job["training_corpora"]),
    }
    found = [asdict(record) for kind in job["kinds"] if kind in calls for record in calls[kind]()]
    curves = measure_scaling(vocabulary, names) if "scaling" in job["kinds"] else []
    json.dump({"refusals": refusals, "records": found, "curves": curves}, answer)
    answer.close()


if __name__ == "__main__":
    main()
