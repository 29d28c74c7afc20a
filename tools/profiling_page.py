"""Write what is measured in ``docs/profiling.md``: outputs of commands, counts and times.

::

    python -m tools.profiling_page             # from docs/results/profiling.json
    python -m tools.profiling_page --record    # measure that first: some minutes, x86-64 and Linux

What stands between the marks is written, the rest of the page is by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any

from tools.files import ROOT
from tools.profiling_record import COMMANDS, LOOPS, NAMED, SIZE, WORK, measure

__all__ = ["PAGE", "RECORD", "main", "render", "with_parts"]

RECORD = ROOT / "docs" / "results" / "profiling.json"
PAGE = ROOT / "docs" / "profiling.md"
#: Behind a table: the mark would be a row of it.
_BEHIND = "\n\n"
_BEGIN, _END = "<!-- {}: written by `python -m tools.profiling_page` -->\n", "<!-- end of {} -->\n"


def _block(command: str, printed: str) -> str:
    return f"```text\n{command}\n{printed}\n```\n"


def _command(words: list[str]) -> str:
    return "$ " + " ".join(f"'{word}'" if re.search(r"[^\w./:=,-]", word) else word for word in words)


def _profile(program: list[str], printed: str, n: int) -> str:
    recorded = _command(["perf", "record", "-F", "999", "-D", "3000", "python", *program])
    return _block(f"{recorded}; perf report --sort symbol", "\n".join(printed.splitlines()[:n]))


def _loop_table(found: list[dict[str, int]]) -> str:
    lines = ["| function | options | the loop |", "|---|---|---|"]
    for (place, _, options), counts in zip(LOOPS, found, strict=True):
        given = ", ".join(f"`{name}={value}`" for name, value in options.items())
        said = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        lines.append(f"| `{place.partition(':')[2]}` | {given} | {said} |")
    return "\n".join(lines) + _BEHIND


def _table(found: dict[str, Any], names: tuple[str, str], unit: str) -> str:
    counts, times = found["counts"], found["times"]
    lines = [
        f"| | instructions a {unit} | ns a {unit}, in the cache: least, median | from memory: least, median |",
        "|---|---:|---:|---:|",
    ]
    for name in names:
        warm, cold = times[f"{name} warm"], times[f"{name} cold"]
        lines.append(f"| `{name}` | {counts[name]:.3f} | {warm[0]:.4f}, {warm[1]:.4f} | {cold[0]:.4f}, {cold[1]:.4f} |")
    return "\n".join(lines) + _BEHIND


def render(found: dict[str, Any]) -> dict[str, str]:
    """The parts of the page, by their names, from a record."""
    machine, times = found["machine"], found["times"]
    parts = {name: _block(_command(words), found["printed"][name]) for name, words in COMMANDS.items()}
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    parts["machine"] = (
        f"Recorded {found['date']}: {machine['processor']} ({found['processor']} to LLVM), {machine['processors']} "
        f"processors, {machine['system']}, load\n{machine['load']}; Python {machine['python']}, {versions}, "
        f"LLVM {found['llvm']}.\n"
    )
    parts["unnamed"] = _profile(WORK, found["unnamed"], 4)
    parts["named"] = _profile(NAMED, found["named"], 6)
    parts["loops"] = _loop_table(found["loops"])
    check, other, token = (
        times["holds_numbers warm"][0] * SIZE,
        times["holds_numbers_leaving warm"][0] * SIZE,
        times["sample_row"][0],
    )
    parts["finding"] = (
        _table(found, ("holds_numbers", "holds_numbers_leaving"), "value")
        + f"A row of {SIZE} values is checked in {check / 1000:.1f} us; leaving at the first wrong value would take "
        f"{other / 1000:.1f} us, where\nthe whole of `sample_row` takes {token / 1000:.1f} us: the check is "
        f"{100 * check / token:.0f} % of it, and would have been {100 * other / (token - check + other):.0f} %.\n"
    )
    parts["width"] = _table(found, ("count_lines", "count_lines_narrow"), "byte")
    by_valgrind = found["valgrind"]
    parts["valgrind"] = (
        "Valgrind was not there when this was recorded.\n"
        if by_valgrind is None
        else f"Recorded: {by_valgrind:.3f} instructions a value of `holds_numbers` in valgrind, in calls with 65,536 "
        f"values; {found['counts']['holds_numbers']:.3f}\nby stepping, with AVX-512.\n"
    )
    products = found["products"]
    parts["products"] = (
        f"Recorded: the product with int8 weights has {products['int8 vpdpbusd']} `vpdpbusd`, that with float32 "
        f"weights {products['float32 vfmadd231ps']} `vfmadd231ps`.\n"
    )
    parts["debug"] = (
        "The llvmlite of the record understands `--debug-only=loop-vectorize`, which tells every consideration.\n"
        if found["debug_only"]
        else "The llvmlite of the record does not know `--debug-only`: its LLVM was built without assertions.\n"
    )
    return parts


def with_parts(page: str, parts: dict[str, str]) -> str:
    """The page with its marked parts written anew.

    Raises
    ------
    ValueError
        A part has no marks in the page, or the page has marks of another.
    """
    for name, text in parts.items():
        begin, end = _BEGIN.format(name), _END.format(name)
        if page.count(begin) != 1 or page.count(end) != 1:
            raise ValueError(f"the page needs the lines {begin.strip()!r} and {end.strip()!r}, once each")
        head, _, rest = page.partition(begin)
        page = head + begin + text + end + rest.partition(end)[2]
    return page


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.profiling_page", description=__doc__.split("\n")[0])
    parser.add_argument("--record", action="store_true", help="measure, and write the record")
    if parser.parse_args().record:
        RECORD.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), render(found)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
