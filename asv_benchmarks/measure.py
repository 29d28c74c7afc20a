"""The timing loops of the report, for one process that holds every backend of one vocabulary.

All loops are interleaved (A B C, then B C A, ...), so that every backend sees the same machine. Before anything is
timed each backend's ids of the whole corpus are compared with the reference; one that differs is still timed, marked,
and never ranked. The garbage collector is off while timing, and what a call returned is dropped after the clock is
read.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from .benchmarks.backends import BACKENDS, Backend, Flat, available, reference_flat, references_of
from .benchmarks.corpora import LATENCY_TEXTS, Missing, corpus, size, slices
from .machine import pin

__all__ = [
    "Record",
    "find_refusals",
    "measure_encode",
    "measure_latency",
    "measure_spans",
    "measure_threads",
    "same_ids",
]

#: Every n-th slice is held out; which one moves with the round, so that all of a corpus is held out in turn.
HELD_OUT_EVERY = 5
#: Name of the row that says what two threads which share nothing reach.
MACHINE = "two separate tokenizers"
SLOW_ROUNDS = 3
#: A small corpus is passed in a millisecond or two, where one interruption decides: it gets more rounds.
SMALL_BYTES = 1_000_000
SMALL_ROUNDS = 3


@dataclass
class Record:
    """Samples of one cell: seconds for ``n_bytes`` bytes (or for one call, when ``n_bytes`` is 0)."""

    table: str
    vocabulary: str
    corpus: str
    cell: str
    backend: str
    threads: int
    n_bytes: int = 0
    exact: bool = True
    seconds: list[float] = field(default_factory=list)
    #: Bytes of each sample where samples differ (held-out slices), else empty.
    sizes: list[int] = field(default_factory=list)


def same_ids(left: Flat, right: Flat) -> bool:
    """Whether two results are the same rows of the same ids."""
    return np.array_equal(left[1], right[1]) and np.array_equal(left[0], right[0])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _rotated(names: list[str], turn: int) -> Iterator[str]:
    for place in range(len(names)):
        yield names[(place + turn) % len(names)]


def _timed(call: Callable[[Any], Any], argument: Any) -> float:
    """Seconds of one call; its result is dropped after the clock is read."""
    start = time.perf_counter()
    result = call(argument)
    stop = time.perf_counter()
    del result
    return stop - start


def _sample(texts: tuple[str, ...], n_bytes: int) -> tuple[str, ...]:
    """The first texts of about ``n_bytes`` bytes."""
    total = 0
    for count, text in enumerate(texts, start=1):
        total += len(text.encode())
        if total >= n_bytes:
            return texts[:count]
    return texts


class _Judge:
    """Says whether ids are those of a reference; asks the slower reference only when the first disagrees."""

    def __init__(self, vocabulary: str, texts: tuple[str, ...]) -> None:
        self.vocabulary, self.texts = vocabulary, list(texts)
        self._found: dict[str, Flat] = {}

    def exact(self, flat: Flat) -> bool:
        for reference in references_of(self.vocabulary):
            if reference not in self._found:
                self._found[reference] = reference_flat(self.vocabulary, self.texts, reference)
            if same_ids(self._found[reference], flat):
                return True
        return False


def _held_out(runs: list[list[str]], turn: int) -> tuple[list[str], list[list[str]]]:
    """Texts to warm on, and the held-out slices of this turn (at least one, at most every fifth)."""
    step = min(HELD_OUT_EVERY, len(runs))
    out = [run for place, run in enumerate(runs) if place % step == turn % step]
    warm = [text for place, run in enumerate(runs) if place % step != turn % step for text in run]
    return warm, out


def _passes(backend: Callable[[], Backend], texts: list[str], runs: list[list[str]], turn: int) -> dict[str, Any]:
    """One round of one backend: cold and warm on one fresh instance, held-out on another."""
    gc.collect()
    fresh = backend()
    cold = _timed(fresh.encode_batch, texts)
    warm = [_timed(fresh.encode_batch, texts) for _ in range(2)]
    del fresh
    held: list[tuple[float, int]] = []
    if len(runs) > 1:
        known, unseen = _held_out(runs, turn)
        fresh = backend()
        _timed(fresh.encode_batch, known)
        _timed(fresh.encode_batch, known)
        for run in unseen:
            gc.collect()
            held.append((_timed(fresh.encode_batch, run), size(run)))
    return {"cold": cold, "warm": warm, "held-out": held}


def _refusal(vocabulary: str, name: str) -> str | None:
    try:
        BACKENDS[name](vocabulary, 1)
    except (KeyboardInterrupt, SystemExit, FileNotFoundError):
        raise
    except BaseException as error:  # a panic of a Rust library is no Exception
        if name == "numba_nlp":
            raise
        return str(error).split("\n")[0]
    return None


def find_refusals(vocabulary: str, names: list[str]) -> dict[str, str]:
    """The libraries that do not load the vocabulary (or fail on the text "."), and what they say."""
    found = {name: _refusal(vocabulary, name) for name in names}
    return {name: message for name, message in found.items() if message is not None}


def measure_encode(
    vocabulary: str,
    names: list[str],
    corpora: list[str],
    rounds: int,
    threads: int,
    limit_bytes: int | None,
    slow_bytes: int,
) -> list[Record]:
    """Cold, warm and held-out cells of every corpus that is on this machine.

    Parameters
    ----------
    limit_bytes : int or None
        Take only so many bytes of each corpus (``--quick``, ``--megabytes``).
    slow_bytes : int
        The same for the slow backends.
    """
    records: list[Record] = []
    for corpus_name in corpora:
        try:
            whole = corpus(corpus_name)
        except Missing as missing:
            _say(f"{corpus_name}: skipped, {missing}")
            continue
        if limit_bytes is not None:
            whole = _sample(whole, limit_bytes)
        fast = [name for name in names if not BACKENDS[name].slow]
        slow = [name for name in names if BACKENDS[name].slow]
        for group, texts, turns in (
            (fast, whole, rounds if size(whole) > SMALL_BYTES else rounds * SMALL_ROUNDS),
            (slow, _sample(whole, slow_bytes), min(rounds, SLOW_ROUNDS)),
        ):
            if group:
                records += _measure_group(vocabulary, group, corpus_name, texts, turns, threads)
    return records


def _measure_group(
    vocabulary: str, names: list[str], corpus_name: str, texts: tuple[str, ...], rounds: int, threads: int
) -> list[Record]:
    listed, runs, n_bytes = list(texts), slices(texts), size(texts)
    judge = _Judge(vocabulary, texts)
    cells = ("cold", "warm", "held-out") if len(runs) > 1 else ("cold", "warm")
    found: dict[tuple[str, str], Record] = {}
    for name in names:
        backend = BACKENDS[name](vocabulary, threads)
        start = time.perf_counter()
        result = backend.encode_batch(listed)
        unseen = time.perf_counter() - start
        exact = judge.exact(backend.flat(result))
        for cell in (*cells, "unseen"):
            found[name, cell] = Record("encode", vocabulary, corpus_name, cell, name, threads, n_bytes, exact)
        # This process has never seen the corpus: if later instances were faster here, they would not be cold.
        found[name, "unseen"].seconds.append(unseen)
        del result
        del backend
    del judge
    gc.collect()
    gc.disable()
    for turn in range(rounds):
        for name in _rotated(names, turn):
            got = _passes(lambda name=name: BACKENDS[name](vocabulary, threads), listed, runs, turn)  # type: ignore[misc]
            found[name, "cold"].seconds.append(got["cold"])
            found[name, "warm"].seconds.extend(got["warm"])
            for seconds, n in got["held-out"]:
                found[name, "held-out"].seconds.append(seconds)
                found[name, "held-out"].sizes.append(n)
        _say(f"{vocabulary} {corpus_name} x{threads}: round {turn + 1} of {rounds}")
    gc.enable()
    return list(found.values())


def measure_latency(vocabulary: str, names: list[str], rounds: int, calls: int = 2000) -> list[Record]:
    """Seconds of one call on one short text, warm; each sample is the mean of ``calls`` calls in a row."""
    backends = {name: BACKENDS[name](vocabulary, 1) for name in names}
    records = []
    for label, text in LATENCY_TEXTS.items():
        judge = _Judge(vocabulary, (text,))
        found = {}
        for name, backend in backends.items():
            ids = backend.flat_one(backend.encode_one(text))
            exact = judge.exact((ids, np.array([0, len(ids)], dtype=np.int64)))
            found[name] = Record("latency", vocabulary, label, "warm", name, 1, 0, exact)
        gc.collect()
        gc.disable()
        for turn in range(rounds + 1):
            for name in _rotated(names, turn):
                encode = backends[name].encode_one
                count = calls // 10 if BACKENDS[name].slow else calls
                start = time.perf_counter()
                for _ in repeat(None, count):
                    encode(text)
                seconds = (time.perf_counter() - start) / count
                if turn:  # the first turn warms
                    found[name].seconds.append(seconds)
        gc.enable()
        records += found.values()
    return records


def measure_spans(vocabulary: str, corpora: list[str], rounds: int, limit_bytes: int | None) -> list[Record]:
    """Ids alone beside ids with character spans, warm, for ours."""
    if not available("numba_nlp"):
        return []
    records = []
    backend = BACKENDS["numba_nlp"](vocabulary, 1)
    for corpus_name in corpora:
        try:
            texts = list(_sample(corpus(corpus_name), limit_bytes or sys.maxsize))
        except Missing:
            continue
        calls = {"ids": backend.encode_batch, "spans": backend.encode_spans}
        found = {cell: Record("spans", vocabulary, corpus_name, cell, "numba_nlp", 1, size(texts)) for cell in calls}
        for turn in range(rounds + 1):
            for cell in _rotated(list(calls), turn):
                gc.collect()
                seconds = _timed(calls[cell], texts)
                if turn:
                    found[cell].seconds.append(seconds)
        records += found.values()
    return records


def _on_halves(vocabulary: str) -> Callable[[Any], None]:
    """Two threads that share nothing, each with a tokenizer and half of the rows: what the machine can give."""
    from pyarrow import compute

    backends = [BACKENDS["numba_nlp"](vocabulary, 1) for _ in range(2)]

    def run(texts: Any) -> None:
        done = np.cumsum(compute.binary_length(texts).to_numpy())
        middle = int(np.searchsorted(done, done[-1] / 2))
        parts = texts[:middle], texts[middle:]
        pairs = zip(backends, parts, strict=True)
        threads = [threading.Thread(target=backend.encode_batch, args=(part,)) for backend, part in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return run


def measure_threads(
    vocabulary: str, names: list[str], corpora: list[str], rounds: int, limit_bytes: int | None
) -> list[Record]:
    """Warm speed with two threads; ours also with one, interleaved, on lists and on Arrow arrays; and the machine's.

    Runs in a process whose pools have two threads. Peers with one thread are in the one-thread process, so their gain
    compares two processes and is only indicative.
    """
    records = []
    for corpus_name in corpora:
        try:
            texts = list(_sample(corpus(corpus_name), limit_bytes or sys.maxsize))
        except Missing:
            continue
        n_bytes = size(texts)
        calls: dict[tuple[str, str, int], tuple[Callable[[Any], Any], Any]] = {}
        for name in names:
            if not BACKENDS[name].slow:
                calls[name, "list", 2] = (BACKENDS[name](vocabulary, 2).encode_batch, texts)
        if "numba_nlp" in names:
            import pyarrow

            arrow = pyarrow.array(texts, pyarrow.large_string())
            for threads, cell, given in ((1, "list", texts), (1, "arrow", arrow), (2, "arrow", arrow)):
                calls["numba_nlp", cell, threads] = (BACKENDS["numba_nlp"](vocabulary, threads).encode_batch, given)
            calls[MACHINE, "arrow", 1] = calls["numba_nlp", "arrow", 1]
            calls[MACHINE, "arrow", 2] = (_on_halves(vocabulary), arrow)
        if "gigatoken" in names:
            calls["gigatoken", "list", 1] = (BACKENDS["gigatoken"](vocabulary, 1).encode_batch, texts)
        found = {key: Record("threads", vocabulary, corpus_name, key[1], key[0], key[2], n_bytes) for key in calls}
        keys = list(calls)
        for turn in range(rounds + 1):
            for place in range(len(keys)):
                key = keys[(place + turn) % len(keys)]
                gc.collect()
                seconds = _timed(*calls[key])
                if turn:
                    found[key].seconds.append(seconds)
        records += found.values()
    return records


def main() -> None:
    """``python -m asv_benchmarks.measure``: reads one job as JSON from stdin, writes records as JSON to stdout."""
    import json

    job = json.load(sys.stdin)
    pin(job.pop("cpus"))
    functions = {
        "encode": measure_encode,
        "latency": measure_latency,
        "spans": measure_spans,
        "threads": measure_threads,
    }
    kind = job.pop("kind")
    if kind == "refusals":
        json.dump(find_refusals(**job), sys.stdout)
    else:
        json.dump([asdict(record) for record in functions[kind](**job)], sys.stdout)


if __name__ == "__main__":
    main()
