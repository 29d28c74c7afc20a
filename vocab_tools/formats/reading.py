"""Reading source files: size limits, UTF-8, JSON without duplicate keys; every error names the file and the line."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError

__all__ = ["MAX_SOURCE_BYTES", "digest_of", "line_of", "parse_json", "read_source", "read_text", "split_lines"]

#: Larger files are refused: the largest vocabulary sources in use are below 50 MB.
MAX_SOURCE_BYTES = 1 << 29

#: An escape of a surrogate; most stand in pairs.
_HALF_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


class _DuplicateKey(Exception):
    """Carries the first key that a JSON object repeats out of the parser."""


def read_source(path: Path) -> bytes:
    """Read a whole source file.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    SourceFormatError
        The file is a folder, empty, or larger than ``MAX_SOURCE_BYTES``.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: does not exist; give the path of a vocabulary source")
    if not path.is_file():
        raise SourceFormatError(f"{path}: is a folder, not a file; give the path of a vocabulary source")
    size = path.stat().st_size
    if size == 0:
        raise SourceFormatError(f"{path}: the file is empty; was its download interrupted?")
    if size > MAX_SOURCE_BYTES:
        raise SourceFormatError(
            f"{path}: {size:,} bytes, more than the {MAX_SOURCE_BYTES:,} that a vocabulary source may have; "
            "is this a model's weights file?"
        )
    return path.read_bytes()


def read_text(path: Path) -> tuple[str, str]:
    """Read a source file as UTF-8.

    Returns
    -------
    text, digest : str, str
        The text and the sha256 (hex) of the file's bytes.

    Raises
    ------
    SourceFormatError
        As :func:`read_source`, and for bytes that are not UTF-8.
    """
    content = read_source(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceFormatError(
            f"{path}:{line}: byte {error.start} (0x{content[error.start]:02x}) is not valid UTF-8 ({error.reason}); "
            "vocabulary files are UTF-8 text"
        ) from error
    return text, hashlib.sha256(content).hexdigest()


def split_lines(text: str) -> list[str]:
    r"""Split at LF and CR LF only (``str.splitlines`` also splits at characters that pieces contain)."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line[:-1] if line.endswith("\r") else line for line in lines]


def digest_of(digests: Sequence[str]) -> str:
    """One digest for a source of several files: the sha256 of their hex digests, one a line."""
    return hashlib.sha256("".join(f"{digest}\n" for digest in digests).encode()).hexdigest()


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKey(key)
            seen.add(key)
    return made


def parse_json(path: Path, text: str, read_float: Callable[[str], float] = float) -> Any:
    """Parse JSON; an object that repeats a key is an error.

    Parameters
    ----------
    path : Path
    text : str
    read_float : callable
        Gives the value of a number that has a fraction or an exponent.

    Returns
    -------
    object

    Raises
    ------
    SourceFormatError
        Text that is not JSON, nests too deeply, holds NaN, Infinity or half of a character (a surrogate without the
        other one), or repeats a key; with the line.
    """

    def refuse_constant(name: str) -> Any:
        raise SourceFormatError(f"{path}:{line_of(text, name)}: {name} is not JSON")

    try:
        value = json.loads(
            text, object_pairs_hook=_refuse_duplicates, parse_constant=refuse_constant, parse_float=read_float
        )
        if _HALF_ESCAPED.search(text):
            _refuse_halves(path, text, value)
        return value
    except _DuplicateKey as duplicate:
        key = duplicate.args[0]
        raise SourceFormatError(
            f"{path}:{line_of(text, key, occurrence=2)}: the key {key!r} occurs twice; every piece has one id"
        ) from None
    except json.JSONDecodeError as error:
        raise SourceFormatError(f"{path}:{error.lineno}: not JSON: {error.msg} at column {error.colno}") from error
    except (RecursionError, ValueError) as error:
        if isinstance(error, SourceFormatError):
            raise
        # Deep nesting, or an integer of more digits than int() takes: either way no vocabulary.
        raise SourceFormatError(f"{path}: not the JSON of a vocabulary: {error}") from error


def _refuse_halves(path: Path, text: str, value: Any) -> None:
    """Refuse texts that no encoding can write, anywhere in a JSON value."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += [*item, *item.values()]
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, str) and (half := _HALF.search(item)):
            line = line_of(text, item)
            raise SourceFormatError(f"{path}:{line}: {item!r:.80} holds half of a character, {half[0]!r}")


def line_of(text: str, key: str, occurrence: int = 1) -> int:
    """Line number of a JSON key as written by the usual writers (or of bare text); 1 where it is not found."""
    for written in (json.dumps(key, ensure_ascii=False), json.dumps(key), key):
        position = -1
        for _ in range(occurrence):
            position = text.find(written, position + 1)
            if position < 0:
                break
        if position >= 0:
            return text.count("\n", 0, position) + 1
    return 1
