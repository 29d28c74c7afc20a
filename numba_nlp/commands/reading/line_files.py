r"""Files of lines: plain text, a row a line, and JSON lines, an object a line.

A line ends at ``\n`` or ``\r\n``. A byte-order mark at the beginning of JSON lines is left out; in plain text it is
text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from numba_nlp.commands.reading.pieces import Errors, Lines, Piece
from numba_nlp.commands.reading.sources import Source
from numba_nlp.commands.reading.streams import opened
from numba_nlp.errors import SourceFormatError
from numba_nlp.kernels.tables.rows import count_lines, find_lines

__all__ = ["PIECE_BYTES", "json_rows", "read_json_lines", "read_text"]

#: About how much text a piece has at most; one row may be longer.
PIECE_BYTES = 1 << 24
_BLOCK = 1 << 22
_MISSING = object()


def read_text(source: Source, batch_rows: int) -> Iterator[Piece]:
    """Lines of a text file.

    Raises
    ------
    SourceFormatError
        It cannot be read or unpacked.
    """
    with opened(source) as (stream, position):
        first = 0
        for block in _blocks(stream):
            data = np.frombuffer(block, np.uint8)
            n_rows = int(count_lines(data))
            offsets, ends = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64)
            find_lines(data, True, offsets, ends)
            for start in range(0, n_rows, batch_rows):
                stop = min(start + batch_rows, n_rows)
                yield Piece(Lines(data, offsets[start : stop + 1], ends[start:stop]), first + start, position())
            first += n_rows


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Bytes that end with a line; at most about :data:`_BLOCK`, unless a line is longer."""
    kept: list[bytes] = []
    while block := stream.read(_BLOCK):
        cut = block.rfind(b"\n") + 1
        if not cut:
            kept.append(block)
            continue
        yield b"".join((*kept, block[:cut]))
        kept = [block[cut:]] if cut < len(block) else []
    if kept:
        yield b"".join(kept)


def read_json_lines(source: Source, column: str, batch_rows: int, errors: Errors) -> Iterator[Piece]:
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
    first = n_bytes = n_unreadable = n_found = 0
    is_first = True

    def check() -> None:
        if is_first and texts and not n_found:
            if wrong:
                raise SourceFormatError(wrong)
            raise SourceFormatError(
                f"{source.name}: no line has an entry {column!r}; the first ones have {', '.join(seen)}; pass --column"
            )

    with opened(source) as (stream, position):
        for number, line, found in json_rows(stream):
            value, complaint = (_MISSING, "") if isinstance(found, ValueError) else _entry(found, column)
            if isinstance(found, ValueError):
                complaint = f"is no JSON ({found})"
            if complaint:
                wrong = wrong or f"{source.name}, line {number}: {complaint}"
                if errors == "strict":
                    raise SourceFormatError(f"{source.name}, line {number}: {complaint}")
                n_unreadable += 1
            elif value is _MISSING:
                seen |= dict.fromkeys(list(found)[:20])
            else:
                n_found += 1
            texts.append(None if value is _MISSING else value)
            n_bytes += len(line)
            if len(texts) >= batch_rows or n_bytes >= PIECE_BYTES:
                check()
                yield Piece(texts, first, position(), n_unreadable)
                is_first = False
                first += len(texts)
                texts, n_bytes, n_unreadable = [], 0, 0
        check()
        if texts:
            yield Piece(texts, first, position(), n_unreadable)


def json_rows(stream: BinaryIO) -> Iterator[tuple[int, bytes, Any]]:
    """Number from 1, bytes and value of each line that is not blank; a ValueError for what is no JSON."""
    for number, line in enumerate(stream, start=1):
        stripped = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if not stripped:
            continue
        found: Any
        try:
            # bytes that are no UTF-8 become surrogates here and bytes again behind: the row is bad text, not bad JSON
            found = json.loads(stripped.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError) as error:
            found = ValueError(str(error))
        yield number, line, found


def _entry(found: Any, column: str) -> tuple[Any, str]:
    """The text of an object, and what is wrong with it."""
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
