"""Measure the curves of the walk-throughs: time by size of the text, of the articles' algorithms and a tokenizer.

::

    python -m tools.measure_walkthroughs        # about a minute; docs/results/walkthrough_timings.json

Texts are beginnings of Hamlet, repeated where it ends. BPE is that of the Mistral model that the examples carry;
Unigram is trained on Hamlet first. Kernels of the articles are called from compiled code, as
``asv_benchmarks/articles.py`` does it; the tokenizer (``encode``) is called from Python, with the text as a ``str``.
One thread; times are the processor's, the least of several runs, so that other work on the machine counts little.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

import numba_nlp as nlp
from asv_benchmarks.articles import hamlet_head, repeated
from asv_benchmarks.machine import machine, pin, processors, versions
from numba_nlp.kernels.articles.bpe_linked_list import tokenize_priority_queue_linked_list
from numba_nlp.kernels.articles.bpe_naive import tokenize_naive
from numba_nlp.kernels.articles.merge_pieces import new_article_scratch, new_merge_pieces
from numba_nlp.kernels.articles.unigram import nested_loops, trie
from numba_nlp.kernels.articles.unigram import new_article_scratch as unigram_scratch
from tools.files import ROOT
from vocab_tools.compiler.article_unigram import article_tables
from vocab_tools.formats import sentencepiece_model
from vocab_tools.formats.sentencepiece_writer import write_model
from vocab_tools.training import train_unigram

__all__ = ["RESULTS", "main", "measure"]

RESULTS = ROOT / "docs/results/walkthrough_timings.json"
PLAY = ROOT / "examples/data/hamlet_gut.txt"
MISTRAL = ROOT / "examples/data/mistral/mistral_instruct_tokenizer_240323.model.v3"
#: Sizes in bytes; algorithms that are quadratic stop at the first, which take a second there.
QUADRATIC_SIZES = (100, 300, 1_000, 3_000, 10_000)
SIZES = (*QUADRATIC_SIZES, 30_000, 100_000, 300_000, 1_000_000)
#: Of the Unigram model.
PIECES = 2_000


def text_of(size: int) -> str:
    """The beginning of the play, again and again."""
    content = hamlet_head(PLAY, len(PLAY.read_text(encoding="utf-8").splitlines()))
    return (content * (size // len(content) + 1))[:size].decode(errors="ignore")


def seconds_of(run: Callable[[int], Any]) -> float:
    """Processor seconds of one of the calls that ``run(times)`` makes: the least of five runs of about a tenth."""
    run(1)
    start = time.process_time()
    run(1)
    once = time.process_time() - start
    repeats = max(1, int(0.1 / max(once, 1e-6)))
    found = [once]
    for _ in range(5 if once < 0.5 else 1):
        start = time.process_time()
        run(repeats)
        found.append((time.process_time() - start) / repeats)
    return min(found)


def curve(sizes: tuple[int, ...], prepare: Callable[[str], Callable[[int], Any]]) -> dict[str, list[float]]:
    """Seconds by size; ``prepare(text)`` gives what makes ``times`` calls."""
    return {"bytes": list(sizes), "seconds": [seconds_of(prepare(text_of(size))) for size in sizes]}


def bpe_curves() -> dict[str, Any]:
    """All merges looked through for each merge; a queue of merges over a linked list; our tokenizer."""
    read = sentencepiece_model.read(MISTRAL)
    pieces = new_merge_pieces(list(read.pieces), read.unk_id)

    def article(algorithm: Any) -> Callable[[str], Callable[[int], Any]]:
        compiled = repeated(algorithm)

        def prepare(text: str) -> Callable[[int], Any]:
            data = np.frombuffer(text.encode(), np.uint8)
            room = data.size + 1
            outputs = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
            memory = new_article_scratch(data.size)
            return lambda times: compiled(times, pieces, data, 0, data.size, memory, *outputs)

        return prepare

    return {
        "naive": curve(QUADRATIC_SIZES, article(tokenize_naive)),
        "priority queue and linked list": curve(SIZES, article(tokenize_priority_queue_linked_list)),
        "Tokenizer.encode": curve(SIZES, tokenizer_calls(nlp.load_tokenizer(MISTRAL))),
    }


def unigram_curves() -> dict[str, Any]:
    """Every substring looked up; a trie followed from each place; our tokenizer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hamlet.model"
        write_model(path, train_unigram(PLAY, vocab_size=PIECES))
        read, tokenizer = sentencepiece_model.read(path), nlp.load_tokenizer(path)
    tables = article_tables(list(read.pieces), read.scores)

    def article(algorithm: Any) -> Callable[[str], Callable[[int], Any]]:
        compiled = repeated(algorithm)

        def prepare(text: str) -> Callable[[int], Any]:
            data = np.frombuffer(text.replace(" ", "\u2581").encode(), np.uint8)
            ids, ends = np.empty(data.size + 1, np.int32), np.empty(data.size + 1, np.int64)
            memory = unigram_scratch(data.size + 1)
            return lambda times: compiled(times, tables, data, 0, data.size, memory, ids, ends, 0)

        return prepare

    return {
        "nested loops": curve(QUADRATIC_SIZES, article(nested_loops)),
        "trie": curve(SIZES, article(trie)),
        "Tokenizer.encode": curve(SIZES, tokenizer_calls(tokenizer)),
    }


def tokenizer_calls(tokenizer: nlp.Tokenizer) -> Callable[[str], Callable[[int], Any]]:
    """Calls of ``encode`` with a text."""

    def prepare(text: str) -> Callable[[int], Any]:
        return lambda times: [tokenizer.encode(text) for _ in range(times)]

    return prepare


def measure() -> dict[str, Any]:
    """Both sets of curves."""
    pin(processors()[-1:])
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "versions": {name: versions()[name] for name in ("numba_nlp", "numba", "llvmlite", "numpy")},
        "bpe": {"vocabulary": MISTRAL.name, "curves": bpe_curves()},
        "unigram": {"vocabulary": f"train_unigram({PLAY.name}, vocab_size={PIECES})", "curves": unigram_curves()},
    }


def main() -> None:
    """Measure and write."""
    RESULTS.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
