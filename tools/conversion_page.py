"""Write the generated parts of ``docs/conversion.md``: the table of conversions, and what was checked.

``python -m tools.conversion_page`` rewrites what stands between the marks; a test sees that it is up to date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import vocab_tools
from tools.files import ROOT
from vocab_tools.converting.formats import FORMATS

__all__ = ["PAGE", "RESULTS", "with_generated_parts"]

PAGE = ROOT / "docs" / "conversion.md"
RESULTS = ROOT / "docs" / "results" / "conversions.json"
_MARKS = {"yes": "yes", "some": "some", "no": "–"}


def _table() -> Iterator[str]:
    cells = vocab_tools.conversion_matrix()
    yield f"| from \\ to | {' | '.join(FORMATS)} |"
    yield f"|---|{'---|' * len(FORMATS)}"
    for source in FORMATS:
        yield f"| **{source}** | {' | '.join(_MARKS[cells[source, target].works] for target in FORMATS)} |"


def _cells() -> Iterator[str]:
    cells = vocab_tools.conversion_matrix()
    yield "| from | to | converts | would be lost otherwise |"
    yield "|---|---|---|---|"
    for cell in cells.values():
        if cell.convert is not None:
            yield f"| {cell.source} | {cell.target} | {cell.which} | {cell.loses or 'nothing'} |"
    yield ""
    yield "| from | to | would be lost |"
    yield "|---|---|---|"
    for source in FORMATS:
        lost: dict[str, list[str]] = {}
        for target in FORMATS:
            if cells[source, target].works == "no":
                lost.setdefault(cells[source, target].loses, []).append(target)
        for words, targets in lost.items():
            yield f"| {source} | {', '.join(targets)} | {words} |"


def _checked() -> Iterator[str]:
    results: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    yield "| conversions, one after the other | vocabulary | lines | ids | lines that differ | ties |"
    yield "|---|---|---|---|---|---|"
    for result in results:
        yield (
            f"| {result['chain'].replace('->', '→')} | {result['vocabulary']} | {result['lines']:,} | "
            f"{result['ids']:,} | {result['differing_lines']} | {result['tied_lines']} |"
        )


def with_generated_parts(text: str) -> str:
    """The page with what is between its marks made anew."""
    for name, lines in (("table", _table()), ("cells", _cells()), ("checked", _checked())):
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition("<!-- end -->\n")
        made = "".join(f"{line}\n" for line in lines)
        text = f"{before}<!-- {name} -->\n{made}<!-- end -->\n{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(with_generated_parts(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
