"""What the report measures of ours beside ours: spans and no spans, two threads and one."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .benchmarks.backends import BACKENDS, available
from .benchmarks.corpora import Missing, corpus, size
from .ratios import OURS, ratio_of
from .samples import Record, Rounds, add, beginning, interleaved, timed

__all__ = ["measure_spans", "measure_threads"]

#: Name of the row that says what two threads which share nothing reach.
MACHINE = "two separate tokenizers"
Calls = dict[Any, tuple[Callable[[Any], Any], Any]]


def _texts(corpus_name: str, limit_bytes: int | None) -> list[str] | None:
    try:
        return list(beginning(corpus(corpus_name), limit_bytes))
    except Missing:
        return None


def _measure(calls: Calls, found: dict[Any, Record], pairs: Sequence[tuple[Any, Any]], rounds: Rounds) -> list[Record]:
    """Take turns, one pass each to warm before; no longer than until the ratios of the pairs have settled."""

    def take(key: Any, turn: int) -> None:
        if turn == 0:
            timed(*calls[key])
        gc.collect()
        add(found[key], turn, timed(*calls[key]))

    def wanted(turn: int) -> Any:
        if turn < rounds.least:
            return list(calls)
        open_ones = [pair for pair in pairs if not ratio_of(*(vars(found[key]) for key in pair)).settled]
        return {key for pair in open_ones for key in pair}

    interleaved(list(calls), take, rounds, wanted)
    return list(found.values())


def measure_spans(vocabulary: str, corpora: list[str], rounds: Rounds, limit_bytes: int | None) -> list[Record]:
    """Ids alone beside ids with character spans, warm, for ours."""
    if not available(OURS):
        return []
    records = []
    backend = BACKENDS[OURS](vocabulary, 1)
    for corpus_name in corpora:
        texts = _texts(corpus_name, limit_bytes)
        if texts is None:
            continue
        calls: Calls = {"ids": (backend.encode_batch, texts), "spans": (backend.encode_spans, texts)}
        found = {cell: Record("spans", vocabulary, corpus_name, cell, OURS, 1, size(texts)) for cell in calls}
        records += _measure(calls, found, [("ids", "spans")], rounds)
    return records


def _on_halves(vocabulary: str) -> Callable[[Any], None]:
    """Two threads that share nothing, each with a tokenizer and half of the rows: what the machine can give."""
    from pyarrow import compute

    backends = [BACKENDS[OURS](vocabulary, 1) for _ in range(2)]

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
    vocabulary: str, names: list[str], corpora: list[str], rounds: Rounds, limit_bytes: int | None
) -> list[Record]:
    """Warm speed with two threads; ours also with one, interleaved, on lists and on Arrow arrays; and the machine's.

    Runs in a process whose pools have two threads. Peers with one thread are in the one-thread process, so their gain
    compares two processes and is only indicative.
    """
    import pyarrow

    records = []
    backends: dict[tuple[str, str, int], Callable[[Any], Any]] = {
        (name, "list", 2): BACKENDS[name](vocabulary, 2).encode_batch for name in names if not BACKENDS[name].slow
    }
    if OURS in names:
        for threads, cell in ((1, "list"), (1, "arrow"), (2, "arrow")):
            backends[OURS, cell, threads] = BACKENDS[OURS](vocabulary, threads).encode_batch
        backends[MACHINE, "arrow", 1] = backends[OURS, "arrow", 1]
        backends[MACHINE, "arrow", 2] = _on_halves(vocabulary)
    if "gigatoken" in names:
        backends["gigatoken", "list", 1] = BACKENDS["gigatoken"](vocabulary, 1).encode_batch
    for corpus_name in corpora:
        texts = _texts(corpus_name, limit_bytes)
        if texts is None:
            continue
        given = {"list": texts, "arrow": pyarrow.array(texts, pyarrow.large_string())}
        calls: Calls = {key: (call, given[key[1]]) for key, call in backends.items()}
        n_bytes = size(texts)
        found = {key: Record("threads", vocabulary, corpus_name, key[1], key[0], key[2], n_bytes) for key in calls}
        pairs = [((OURS, cell, 1), (OURS, cell, 2)) for cell in ("list", "arrow") if OURS in names]
        records += _measure(calls, found, pairs, rounds)
    return records
