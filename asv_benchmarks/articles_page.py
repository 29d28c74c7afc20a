"""The document of the articles' tables: ours beside the published figures and the Rust programs rebuilt."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from tools.files import ROOT

from .articles import BPE, LINES, SENTENCES
from .curves import exponent

__all__ = ["render"]

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
