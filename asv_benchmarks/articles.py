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

__all__ = ["main", "measure", "render"]

LINES = (1, 10, 100, 1000)
BPE = {
    "naive": tokenize_naive,
    "naive_presplit": tokenize_naive_presplit,
    "priority_queue_bst": tokenize_priority_queue_bst,
    "priority_queue_linked_list": tokenize_priority_queue_linked_list,
}
UNIGRAM = {"nested_loops": nested_loops, "trie": trie}
#: Microseconds in the article, and of the programs rebuilt on a 2-vCPU AMD EPYC with BARThez's model.
PUBLISHED = {
    "naive": (27.1, 162, 85_000, 18_600_000),
    "naive_presplit": (9.1, 26.5, 570, 8_600),
    "priority_queue_bst": (14.7, 54.4, 1_760, 33_900),
    "priority_queue_linked_list": (8.6, 24.7, 680, 12_800),
}
REBUILT = {
    "naive": (20.5, 128, 107_711, 28_563_784),
    "naive_presplit": (7.0, 30.4, 776, 16_355),
    "priority_queue_bst": (12.4, 52.2, 1_825, 45_459),
    "priority_queue_linked_list": (7.9, 21.8, 1_144, 102_989),
}
SENTENCES = (
    " The quick brown fox jumps over the lazy dog",
    " All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and "
    "should act towards one another in a spirit of brotherhood.",
)
#: Of the article, and rebuilt as above with XLNet's model. Its first algorithm had two hash tables, the second of which
#: is the one that was rebuilt.
PUBLISHED_UNIGRAM = {"nested_loops": (14.2, 238.9), "trie": (12.0, 44.8), "sentencepiece": (9.7, 29.8)}
FIRST_TABLE = (29.0, 614.5)
#: What the article says of them: name by name, and on which sentence, for how many times as long the first takes.
CLAIMS = (
    ("nested_loops, first hash table", "sentencepiece", 0, "3 times"),
    ("nested_loops, first hash table", "sentencepiece", 1, "more than an order of magnitude"),
    ("nested_loops, first hash table", "trie", 1, "more than 13 times"),
    ("trie", "sentencepiece", 0, "slightly slower"),
    ("trie", "sentencepiece", 1, "slightly slower"),
)
REBUILT_UNIGRAM = {"nested_loops": (15.1, 204.4), "trie": (5.4, 15.6), "sentencepiece": (3.8, 10.0)}
#: Times are the least of several runs of about this many seconds.
SECONDS = 0.2
#: Sizes of the texts to which exponents are fitted. A large text is one that no branch predictor learns by heart.
GROWTH_BYTES = {
    "naive": (1_000, 2_000, 4_000, 8_000, 16_000),
    "naive_presplit": (16_000, 64_000, 256_000, 1_000_000),
    "priority_queue_bst": (16_000, 64_000, 256_000, 1_000_000),
    "priority_queue_linked_list": (16_000, 64_000, 256_000, 1_000_000),
}
PRESPLIT_TEXT = (
    "Cutting text before each white space first loses the pieces that lie across such a place. Counted over every "
    "line by `python -m tools.count_presplit_differences`: lines with other tokens than the exact algorithms give, and "
    "tokens of theirs that are lost."
)
#: Exponents wanted: at least, at most.
WANTED_EXPONENTS = {
    "naive": (1.8, None),
    "priority_queue_bst": (None, 1.15),
    "priority_queue_linked_list": (None, 1.15),
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


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of the line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


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


def _growth_part(table: dict[str, Any]) -> str:
    """How the algorithms grow over one text."""
    rows = ["| | microseconds by bytes | exponent | wanted |", "| --- | --- | ---: | --- |"]
    for name, times in table["microseconds"].items():
        sizes = table["bytes"][name]
        least, most = WANTED_EXPONENTS.get(name, (None, None))
        value = exponent(sizes, times)
        wanted = f">= {least}" if least else f"<= {most}" if most else ""
        reached = (least is None or value >= least) and (most is None or value <= most)
        verdict = f"{wanted}: {'yes' if reached else '**no**'}" if wanted else ""
        cells = "; ".join(f"{size:,}: {time:,.0f}" for size, time in zip(sizes, times, strict=True))
        rows.append(f"| {name} | {cells} | {value:.2f} | {verdict} |")
    return "\n".join(rows)


def _claims(ours: dict[str, list[float]]) -> str:
    """How many times as long one takes as another, in the article's words and figures, and here."""
    published = {**PUBLISHED_UNIGRAM, "nested_loops, first hash table": FIRST_TABLE}
    rows = ["| | characters | in its words | by its figures | here |", "| --- | ---: | --- | ---: | ---: |"]
    for slow, fast, i, words in CLAIMS:
        theirs = published[slow][i] / published[fast][i]
        here = ours[slow.split(",")[0]][i] / ours[fast][i]
        rows.append(f"| {slow} / {fast} | {len(SENTENCES[i])} | {words} | {theirs:.1f} | {here:.1f} |")
    return "\n".join(rows)


def render(results: dict[str, Any]) -> str:
    """The document."""
    here = results["machine"]
    parts = [
        "# The articles' tables",
        "Written by `python -m asv_benchmarks.articles`; no figure is typed by hand but those of the articles and of "
        "the rebuilt Rust programs (2-vCPU AMD EPYC, BARThez's and XLNet's models), which stand in the source.",
        f"{results['date']}; {here['processor']}, one thread, load {here['load']} before the run; {here['system']}, "
        f"Python {here['python']}. Microseconds a call from compiled code; sentencepiece is called from Python.",
    ]
    scale = None
    if "unigram" in results:
        theirs = results["unigram"]["sentencepiece"]
        scale = median(a / b for a, b in zip(theirs, REBUILT_UNIGRAM["sentencepiece"], strict=True))
        rows = ["| | " + " | ".join(f"{len(text)} characters" for text in SENTENCES) + " |", "| --- | ---: | ---: |"]
        for name, ours in results["unigram"].items():
            cells = []
            for i, value in enumerate(ours):
                rebuilt, published = REBUILT_UNIGRAM[name][i], f"{PUBLISHED_UNIGRAM[name][i]}"
                if name == "nested_loops":
                    published += f", with its first hash table {FIRST_TABLE[i]}"
                cells.append(f"{value:.2f} (rebuilt {rebuilt}, scaled {rebuilt * scale:.1f}; article {published})")
            rows.append(f"| {name} | " + " | ".join(cells) + " |")
        parts += [
            '## "A Rust SentencePiece implementation": Unigram, XLNet\'s model',
            f"sentencepiece takes {scale:.2f} times as long here as beside the rebuilt programs; *scaled* is their "
            "time times that.",
            "\n".join(rows),
            _claims(results["unigram"]),
        ]
    for table in results["bpe"]:
        rows = ["| lines | bytes | " + " | ".join(BPE) + " |", "| ---: | ---: |" + " ---: |" * len(BPE)]
        for i, n in enumerate(LINES):
            cells = []
            for name in BPE:
                value, rebuilt = table["microseconds"][name][i], REBUILT[name][i]
                scaled = f", scaled {rebuilt * scale:,.1f}" if scale else ""
                cells.append(f"**{value:,.1f}** (rebuilt {rebuilt:,}{scaled}; article {PUBLISHED[name][i]:,})")
            rows.append(f"| {n} | {table['bytes'][i]:,} | " + " | ".join(cells) + " |")
        parts += [
            f'## "Byte Pair Encoding and Data Structures": {table["model"]}, {table["text"]}',
            "\n".join(rows),
        ]
    for table in results["growth"]:
        parts += [
            f"## How time grows: {table['model']}, {table['text']}",
            "The text is repeated where it ends. Exponents are slopes of least squares through the logarithms.",
            _growth_part(table),
        ]
    return "\n\n".join([*parts, *_presplit_part()]) + "\n"


def _presplit_part() -> list[str]:
    """Where the pre-split algorithm differs, from the records of ``tools/count_presplit_differences.py``."""
    records = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "docs/results").glob("presplit_*"))
    ]
    parts = ["## Where `naive_presplit` differs", PRESPLIT_TEXT]
    for record in records:
        rows = ["| text | lines | differ | tokens | lost | example |", "| --- | ---: | ---: | ---: | ---: | --- |"]
        for text in record["texts"]:
            example = text["examples"][0] if text["examples"] else None
            shown = f"`{example['lost']}` -> `{' '.join(example['instead'])}`" if example else ""
            rows.append(
                f"| {text['text']} | {text['lines']:,} | {text['lines_different']:,} | {text['tokens']:,} | "
                f"{text['tokens_lost']:,} | {shown.replace('|', chr(92) + '|')} |"
            )
        parts += [f"{record['model']}:", "\n".join(rows)]
    return parts


def main() -> None:
    """Measure, and write results and document."""
    results = measure()
    (ROOT / "docs/results/articles.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (ROOT / "docs/articles.md").write_text(render(results), encoding="utf-8")


if __name__ == "__main__":
    main()
