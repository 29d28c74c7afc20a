r"""Files of lines: plain text, a row a line, and JSON lines, an object a line.

A line ends at ``\n`` or ``\r\n``. A byte-order mark at the beginning of a JSON line is left out; in plain text it is
text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from numba_nlp.corpora.reading.kept import Keep, repaired
from numba_nlp.corpora.reading.pieces import Errors, Lines, Piece
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import Block, line_blocks
from numba_nlp.errors import SourceFormatError
from numba_nlp.kernels.tables.rows import count_lines, find_lines

__all__ = ["json_rows", "read_json_lines", "read_text"]

_MISSING = object()
#: Ends of lines and what may stand around JSON, a byte-order mark aside.
_SPACE = " \t\n\r\x0b\x0c"
#: What ``json.loads`` calls, without its checks of the argument: a third of the time of a line.
_SCAN = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def read_text(source: Source, batch_rows: int, batch_bytes: int) -> Iterator[Piece]:
    """Lines of a text file.

    Raises
    ------
    SourceFormatError
        It cannot be read or unpacked.
    """
    first = 0
    for block in line_blocks(source, batch_rows, batch_bytes):
        data = np.frombuffer(block.data, np.uint8)
        n_rows = int(count_lines(data))
        offsets, ends = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64)
        find_lines(data, True, offsets, ends)
        for start in range(0, n_rows, batch_rows):
            stop = min(start + batch_rows, n_rows)
            yield Piece(Lines(data, offsets[start : stop + 1], ends[start:stop]), first + start, block.position)
        first += n_rows


def read_json_lines(
    source: Source, column: str, batch_rows: int, batch_bytes: int, errors: Errors, keep: Keep
) -> Iterator[Piece]:
    """Texts of an entry of the objects.

    A line that is no JSON object, or has no string (nor null) there, is an error; with ``errors="replace"`` it is a
    missing row, which is counted, unless the first piece holds no other lines. Objects without the entry are missing
    rows.

    Raises
    ------
    SourceFormatError
        It cannot be read or unpacked, a line is wrong, or the entry is nowhere in the first piece; lists what is.
    """
    seen: dict[str, None] = {}
    wrong = ""
    texts: list[Any] = []
    kept: list[dict[str, Any]] = []
    bad: set[int] = set()
    absent = set(keep.names)
    first = n_unreadable = n_found = 0

    def piece() -> Piece:
        nonlocal texts, kept, bad, first, n_unreadable
        if not (first or n_found) and source.has_beginning:
            names = ", ".join(seen)
            nowhere = f"{source.name}: no line has an entry {column!r}; the first ones have {names}; pass --column"
            raise SourceFormatError(wrong or nowhere)
        if not first and absent and source.has_beginning:
            raise SourceFormatError(f"{source.name}: no line has an entry {min(absent)!r}; pass another --keep")
        made = Piece(texts, first, block.position, n_unreadable, kept if keep else None, bad)
        first += len(texts)
        texts, kept, bad, n_unreadable = [], [], set(), 0
        return made

    for block in line_blocks(source, batch_rows, batch_bytes):
        for number, found in json_rows(block):
            text = found.get(column) if type(found) is dict else None
            # most rows take the first way
            value, complaint = (text, "") if type(text) is str and text.isascii() else _entry(found, column)
            if complaint:
                wrong = wrong or f"{source.name}, line {number}: {complaint}"
                if errors == "strict":
                    raise SourceFormatError(f"{source.name}, line {number}: {complaint}")
                n_unreadable += 1
            elif value is _MISSING:
                seen |= dict.fromkeys(list(found)[:20])
            else:
                n_found += 1
            if keep:
                entries = keep.entries(f"{source.name}, line {number}", found if isinstance(found, dict) else {})
                entries, is_bad = repaired(entries)
                kept.append(entries)
                if is_bad:
                    bad.add(len(texts))
                if absent and isinstance(found, dict):
                    absent -= found.keys()
            texts.append(None if value is _MISSING else value)
            if len(texts) >= batch_rows:
                yield piece()
        if texts:
            yield piece()


def json_rows(block: Block) -> Iterator[tuple[int, Any]]:
    """Number and value of each line that is not blank; a ValueError for what is no JSON."""
    # bytes that are no UTF-8 become surrogates here and bytes again behind: the row is bad text, not bad JSON
    for number, line in enumerate(block.data.decode("utf-8", "surrogateescape").split("\n"), start=block.line):
        stripped = line.strip(_SPACE)
        # files that were put one behind the other have a byte-order mark in the middle, too
        if not stripped or stripped == "\ufeff":
            continue
        found: Any
        try:
            found, end = _SCAN(stripped, 0)
        except (ValueError, StopIteration, RecursionError):
            end = -1
        if end != len(stripped):
            try:
                found = json.loads(stripped.removeprefix("\ufeff").lstrip(_SPACE))
            except (ValueError, RecursionError) as error:
                found = ValueError(str(error))
        yield number, found


def _entry(found: Any, column: str) -> tuple[Any, str]:
    """The text of an object, and what is wrong with it."""
    if isinstance(found, ValueError):
        return _MISSING, f"is no JSON ({found})"
    if not isinstance(found, dict):
        return _MISSING, f"is {_kind(found)}, expected an object"
    value = found.get(column, _MISSING)
    if value is _MISSING and "." in column:
        value = found
        for name in column.split("."):
            value = value.get(name, _MISSING) if isinstance(value, dict) else _MISSING
    if isinstance(value, str):
        return _as_given(value), ""
    if value is None or value is _MISSING:
        return value, ""
    return _MISSING, f"the entry {column!r} is {_kind(value)}, not text; pass another --column"


def _as_given(text: str) -> str | bytes:
    r"""Text, or its bytes where some were no UTF-8; lone surrogates of escapes (``"\ud800"``) stay as they are."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return text
    return text


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object", str: "text"}
    return names.get(type(value), "null")
