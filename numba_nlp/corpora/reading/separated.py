"""Files of separated values: CSV as RFC 4180 has it, and TSV without quotes; the first row names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba_nlp.corpora.reading.kept import Keep, repaired
from numba_nlp.corpora.reading.pieces import Errors, Piece
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import opened
from numba_nlp.errors import SourceFormatError

__all__ = ["header_of", "read_separated"]


def read_separated(
    source: Source, column: str, batch_rows: int, batch_bytes: int, errors: Errors, keep: Keep
) -> Iterator[Piece]:
    """Texts of a column; an empty field is an empty text.

    A row with fewer fields than the column needs is an error; with ``errors="replace"`` it is a missing row, which is
    counted. Kept columns are texts, missing where a row has fewer fields.

    Raises
    ------
    SourceFormatError
        It cannot be read or unpacked, a row is wrong, or there is no single column of this name; lists the columns.
    """
    with _rows_of(source, errors) as (rows, position, lines):
        header: list[str] | None = next(rows, None)
        at = _place(source, header, column)
        columns = header or []
        places = {name: columns.index(name) for name in keep.among(source, columns)}
        texts: list[bytes | None] = []
        kept: list[dict[str, str | None]] = []
        bad: set[int] = set()
        first = n_bytes = n_unreadable = 0
        for row in rows:
            lines.next_row()
            if not row:  # a blank line
                continue
            if len(row) <= at and errors == "strict":
                raise SourceFormatError(
                    f"{source.name}, line {rows.line_num}: has {len(row)} fields, the column {column!r} is number "
                    f"{at + 1}; pass errors='replace' to take such rows as missing"
                )
            if keep:
                fields = {name: row[place] if place < len(row) else None for name, place in places.items()}
                fields, is_bad = repaired(fields)
                kept.append(fields)
                if is_bad:
                    bad.add(len(texts))
            n_unreadable += len(row) <= at
            texts.append(row[at].encode("utf-8", "surrogateescape") if at < len(row) else None)
            n_bytes += sum(map(len, row))
            if len(texts) >= batch_rows or n_bytes >= batch_bytes:
                yield Piece(texts, first, position(), n_unreadable, kept if keep else None, bad)
                first += len(texts)
                texts, kept, bad, n_bytes, n_unreadable = [], [], set(), 0, 0
        lines.refuse_open_quote(source, rows.line_num)
        if texts:
            yield Piece(texts, first, position(), n_unreadable, kept if keep else None, bad)


def header_of(source: Source) -> list[str]:
    """The names of the columns of a file.

    Raises
    ------
    SourceFormatError
        It cannot be read or unpacked.
    """
    with _rows_of(source, "replace") as (rows, _, _):
        return next(rows, [])


class _Lines:
    """Lines of a file, those of the last row kept."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self._row: list[str] = []
        self._next: list[str] = []

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._text)
        self._next.append(line)
        return line

    def next_row(self) -> None:
        """A row was made of the lines since the last one."""
        self._row, self._next = self._next, []

    def refuse_open_quote(self, source: Source, line: int) -> None:
        """Refuse a file whose last row ends within quotes: it holds the rest of the file.

        Raises
        ------
        SourceFormatError
        """
        if source.kind != "csv" or (len(self._row) < 2 and not "".join(self._row).count('"') % 2):
            return
        try:
            next(csv.reader(self._row, strict=True), None)
        except csv.Error as error:
            if "unexpected end of data" not in str(error):
                return
            first = line - len(self._row) + 1
            raise SourceFormatError(
                f"{source.name}, line {first}: a quote opens in this row and is not closed; all lines behind it would "
                "be part of its field"
            ) from error


@contextmanager
def _rows_of(source: Source, errors: Errors) -> Iterator[tuple[Any, Callable[[], int], _Lines]]:
    quoting: dict[str, Any] = {"strict": errors == "strict"}
    if source.kind == "tsv":
        quoting = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
    with opened(source) as (stream, position), _long_fields():
        # bytes that are no UTF-8 become surrogates here and bytes again behind
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        lines = _Lines(text)
        rows = csv.reader(lines, **quoting)
        try:
            yield rows, position, lines
        except csv.Error as error:
            raise SourceFormatError(
                f"{source.name}, line {rows.line_num}: {error} (a field that begins with a quote ends with one, and "
                "holds others doubled)"
            ) from error
        finally:
            if not text.closed:
                text.detach()


def _place(source: Source, header: list[str] | None, column: str) -> int:
    if header is None:
        raise SourceFormatError(f"{source.name}: is empty; the first row of a {source.kind} file names its columns")
    if header.count(column) != 1:
        names = ", ".join(repr(name) for name in header)
        what = "has no column" if column not in header else f"has {header.count(column)} columns"
        raise SourceFormatError(f"{source.name}: {what} {column!r}; its first row is {names}; pass --column")
    return header.index(column)


@contextmanager
def _long_fields() -> Iterator[None]:
    """The limit of csv, which is one of the process, out of the way."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
