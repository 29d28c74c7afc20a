"""Write the measured parts of ``docs/training.md`` and ``docs/training_unigram.md``.

::

    python -m asv_benchmarks.training_pages

from ``docs/results/training.json``, which ``python -m tools.measure_training --out ...`` measures, and
``docs/results/unigram_training.json``, which ``python -m tools.compare_unigram_training --record ...`` does.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools.files import ROOT

from .sections import with_section

__all__ = ["main", "pages", "render_merges", "render_unigram"]

_PROGRAM = "asv_benchmarks.training_pages"
_NAMES = {"numba_nlp_wordpiece": "numba_nlp, WordPiece", "tokenizers_wordpiece": "tokenizers, WordPiece"}
#: Of Unigram: what, and how a figure is taken from the record of one size.
_PAIRS = {
    "seconds": ("seconds", ".2f"),
    "processor seconds": ("processor_seconds", ".1f"),
    "peak memory in MB": ("peak_megabytes", ".0f"),
    "log-likelihood of a held-out character": ("held_out_log_likelihood", ".4f"),
}


def render_merges(record: dict[str, Any]) -> str:
    """The section of ``docs/training.md``."""
    rows = [
        f"| {_NAMES.get(one['trainer'], one['trainer'])} | {one['vocab_size']:,} | {min(one['seconds']):.2f} "
        f"| {one['peak_mb']:.0f} | {one['training_mb']:.0f} |"
        for one in record["results"]
    ]
    runs = min(len(one["seconds"]) for one in record["results"])
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return "\n".join(
        [
            f"`{Path(record['corpus']).name}`, {record['threads']} threads, best of {runs} runs; {versions}.",
            "",
            "| trainer | tokens | seconds | peak MB | of it training |",
            "|---|---|---|---|---|",
            *rows,
        ]
    )


def render_unigram(record: dict[str, Any]) -> str:
    """The section of ``docs/training_unigram.md``."""
    results = record["results"]
    rows = [
        f"| {what}, ours / sentencepiece | "
        + " | ".join(f"{one['ours'][key]:{form}} / {one['sentencepiece'][key]:{form}}" for one in results)
        + " |"
        for what, (key, form) in _PAIRS.items()
    ]
    common = " | ".join(f"{100 * one['pieces_in_common']:.1f} %" for one in results)
    same = " | ".join("yes" if one["encodes_as_sentencepiece"] else "**no**" for one in results)
    return "\n".join(
        [
            f"`{Path(record['corpus']).name}`, {record['threads']} threads, sentencepiece {record['sentencepiece']}, "
            f"{record['date']}.",
            "",
            "| | " + " | ".join(f"{one['vocab_size']:,} pieces" for one in results) + " |",
            "|---|" + "---|" * len(results),
            *rows,
            f"| pieces in common | {common} |",
            f"| sentencepiece encodes the corpus with our file as our tokenizer does | {same} |",
        ]
    )


def pages() -> dict[Path, str]:
    """Both pages, from what was recorded."""
    found = {}
    for name, record, render in (
        ("training.md", "training.json", render_merges),
        ("training_unigram.md", "unigram_training.json", render_unigram),
    ):
        page = ROOT / "docs" / name
        content = json.loads((ROOT / "docs" / "results" / record).read_text(encoding="utf-8"))
        found[page] = with_section(page.read_text(encoding="utf-8"), _PROGRAM, render(content))
    return found


def main() -> int:
    """Write the pages."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
