"""The tables of the two articles, ours beside the published figures and beside the Rust programs rebuilt.

::

    python -m asv_benchmarks.articles            # a minute; docs/results/articles.json and docs/articles.md

"Byte Pair Encoding and Data Structures" (Becquin 2021): four algorithms on the first lines of Hamlet, prepared as its
benchmark does: empty lines skipped but counted, white space before each line removed, one space behind it. "A Rust
SentencePiece implementation" (Becquin 2020): two algorithms on two sentences, beside sentencepiece.

The Rust programs were rebuilt on another machine. Their times are scaled by what sentencepiece takes for the two
sentences here and took there.

How time grows with the text is fitted to texts of sizes that double: time ~ size ** exponent, by least squares of the
logarithms.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import sentencepiece
from numba import njit

from numba_nlp.kernels.articles.bpe_linked_list import tokenize_priority_queue_linked_list
from numba_nlp.kernels.articles.bpe_naive import tokenize_naive
from numba_nlp.kernels.articles.bpe_presplit import tokenize_naive_presplit
from numba_nlp.kernels.articles.bpe_search_tree import tokenize_priority_queue_bst
from numba_nlp.kernels.articles.merge_pieces import new_article_scratch, new_merge_pieces
from numba_nlp.kernels.articles.unigram import nested_loops, replace_spaces, trie
from numba_nlp.kernels.articles.unigram import new_article_scratch as unigram_scratch
from tools.files import ROOT, carried_file, shared_file
from vocab_tools.compiler.article_unigram import article_tables
from vocab_tools.formats import sentencepiece_model

from .machine import machine, pin, processors, versions

__all__ = ["BPE", "LINES", "SENTENCES", "main", "measure"]

LINES = (1, 10, 100, 1000)
BPE = {
    "naive": tokenize_naive,
    "naive_presplit": tokenize_naive_presplit,
    "priority_queue_bst": tokenize_priority_queue_bst,
    "priority_queue_linked_list": tokenize_priority_queue_linked_list,
}
UNIGRAM = {"nested_loops": nested_loops, "trie": trie}
SENTENCES = (
    " The quick brown fox jumps over the lazy dog",
    " All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and "
    "should act towards one another in a spirit of brotherhood.",
)
#: Times are the least of several runs of about this many seconds.
SECONDS = 0.2
#: Sizes of the texts to which exponents are fitted. A large text is one that no branch predictor learns by heart.
GROWTH_BYTES = {
    "naive": (1_000, 2_000, 4_000, 8_000, 16_000),
    "naive_presplit": (16_000, 64_000, 256_000, 1_000_000),
    "priority_queue_bst": (16_000, 64_000, 256_000, 1_000_000),
    "priority_queue_linked_list": (16_000, 64_000, 256_000, 1_000_000),
}


def hamlet_head(path: Path, n: int) -> bytes:
    """The first ``n`` physical lines as one text."""
    lines = path.read_text(encoding="utf-8").splitlines()[:n]
    return "".join(f"{line.lstrip()} " for line in lines if line.strip()).encode()


def seconds_of(run: Callable[[int], Any]) -> float:
    """Time of one of the calls that ``run(times)`` makes: the median of seven runs, or of one that takes long."""
    start = time.perf_counter()
    run(1)
    once = time.perf_counter() - start
    if once > 10 * SECONDS:
        return once
    repeats = max(1, int(SECONDS / max(once, 1e-6)))
    found = []
    for _ in range(7):
        start = time.perf_counter()
        run(repeats)
        found.append((time.perf_counter() - start) / repeats)
    return median(found)


def repeated(algorithm: Any) -> Any:
    """Compile ``(times, *arguments)``: calls of a kernel from compiled code, as the Rust programs call theirs."""

    @njit(nogil=True)
    def run(times, *arguments):
        n = 0
        for _ in range(times):
            n += algorithm(*arguments)
        return n

    return run


def measure_bpe(model: Path, text: Path) -> dict[str, Any]:
    """All algorithms on the first lines of a text, with the pieces of a BPE model."""
    read = sentencepiece_model.read(model)
    pieces = new_merge_pieces(list(read.pieces), read.unk_id)
    texts = [np.frombuffer(hamlet_head(text, n), np.uint8) for n in LINES]
    found: dict[str, Any] = {"model": model.name, "text": text.name, "bytes": [data.size for data in texts]}
    times: dict[str, list[float]] = {}
    for name, algorithm in BPE.items():
        run = repeated(algorithm)
        times[name] = []
        for data in texts:
            memory = new_article_scratch(data.size)
            room = data.size + 1
            outputs = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
            run(1, pieces, data, 0, min(data.size, 20), memory, *outputs)
            call = partial(_call, run, (pieces, data, 0, data.size, memory, *outputs))
            times[name].append(1e6 * seconds_of(call))
    return {**found, "microseconds": times}


def measure_growth(model: Path, text: Path) -> dict[str, Any]:
    """Times of all algorithms on texts of growing size, beginnings of one text that is repeated where it ends."""
    read = sentencepiece_model.read(model)
    pieces = new_merge_pieces(list(read.pieces), read.unk_id)
    content = hamlet_head(text, len(text.read_text(encoding="utf-8").splitlines()))
    found: dict[str, Any] = {"model": model.name, "text": text.name, "bytes": {}, "microseconds": {}}
    for name, algorithm in BPE.items():
        run = repeated(algorithm)
        found["bytes"][name], found["microseconds"][name] = [], []
        for size in GROWTH_BYTES[name]:
            whole = (content * (size // len(content) + 1))[:size].decode(errors="ignore").encode()
            data = np.frombuffer(whole, np.uint8)
            memory = new_article_scratch(data.size)
            room = data.size + 1
            outputs = np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64)
            run(1, pieces, data, 0, 20, memory, *outputs)
            call = partial(_call, run, (pieces, data, 0, data.size, memory, *outputs))
            found["bytes"][name].append(data.size)
            found["microseconds"][name].append(1e6 * seconds_of(call))
    return found


def _call(run: Any, arguments: tuple[Any, ...], times: int) -> None:
    run(times, *arguments)


def measure_unigram(model: Path) -> dict[str, list[float]]:
    """Both algorithms and sentencepiece on the two sentences."""
    read = sentencepiece_model.read(model)
    tables = article_tables(list(read.pieces), read.scores)
    processor = sentencepiece.SentencePieceProcessor(str(model))
    found: dict[str, list[float]] = {}
    for name, algorithm in UNIGRAM.items():

        def with_preparation(tables, data, text, memory, ids, token_ends, algorithm=algorithm):
            n = replace_spaces(data, 0, data.size, text)
            return algorithm(tables, text, 0, n, memory, ids, token_ends, 0)

        run = repeated(njit(nogil=True)(with_preparation))
        found[name] = []
        for sentence in SENTENCES:
            data = np.frombuffer(sentence.encode(), np.uint8)
            room = 3 * data.size + 1
            arguments = (
                tables, data, np.empty(room, np.uint8), unigram_scratch(room), np.empty(room, np.int32),
                np.empty(room, np.int64),
            )  # fmt: skip
            run(1, *arguments)
            found[name].append(1e6 * seconds_of(partial(_call, run, arguments)))
    found["sentencepiece"] = [
        1e6 * seconds_of(lambda times, sentence=sentence: [processor.encode(sentence) for _ in range(times)])
        for sentence in SENTENCES
    ]
    return found


def measure() -> dict[str, Any]:
    """Everything that the files at hand allow."""
    pin(processors()[-1:])
    results: dict[str, Any] = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": machine(),
        "versions": versions(),
        "bpe": [],
    }
    mistral = "mistral_instruct_tokenizer_240323.model.v3"
    pairs = (
        (carried_file(f"mistral/{mistral}") or shared_file(f"vocab/mistral/{mistral}"), carried_file("hamlet_gut.txt")),
        (shared_file("vocab/barthez/sentencepiece.bpe.model"), shared_file("text/hamlet.txt")),
    )
    xlnet = shared_file("vocab/xlnet/spiece.model")
    if xlnet is not None:
        results["unigram"] = measure_unigram(xlnet)
    present = [(model, text) for model, text in pairs if model is not None and text is not None]
    results["bpe"] = [measure_bpe(model, text) for model, text in present]
    results["growth"] = [measure_growth(model, text) for model, text in present]
    return results


def main() -> None:
    """Measure, and write results and document."""
    from .articles_page import render

    results = measure()
    (ROOT / "docs/results/articles.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (ROOT / "docs/articles.md").write_text(render(results), encoding="utf-8")


if __name__ == "__main__":
    main()
