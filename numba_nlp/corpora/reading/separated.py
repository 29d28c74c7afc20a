"""Files of separated values: CSV as RFC 4180 has it, and TSV without quotes; the first row names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba_nlp.corpora.reading.pieces import Errors, Piece
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import opened
from numba_nlp.errors import SourceFormatError

__all__ = ["read_separated"]


def read_separated(source: Source, column: str, batch_rows: int, batch_bytes: int, errors: Errors) -> Iterator[Piece]:
    """Texts of a column; an empty field is an empty text.

    A row with fewer fields than the column needs is an error; with ``errors="replace"`` it is a missing row, which is
    counted.

    Raises
    ------
    SourceFormatError
        It cannot be read or unpacked, a row is wrong, or there is no single column of this name; lists the columns.
    """
    quoting: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if source.kind == "tsv" else {}
    with opened(source) as (stream, position), _long_fields():
        # bytes that are no UTF-8 become surrogates here and bytes again below
        text = io.TextIOWrapper(stream, "utf-8-sig", "surrogateescape", newline="")
        try:
            rows = csv.reader(text, **quoting)
            try:
                yield from _pieces(source, rows, column, batch_rows, batch_bytes, errors, position)
            except csv.Error as error:
                raise SourceFormatError(f"{source.name}, line {rows.line_num}: {error}") from error
        finally:
            if not text.closed:
                text.detach()


def _pieces(
    source: Source,
    rows: Any,
    column: str,
    batch_rows: int,
    batch_bytes: int,
    errors: Errors,
    position: Callable[[], int],
) -> Iterator[Piece]:
    at = _place(source, next(rows, None), column)
    texts: list[bytes | None] = []
    first = n_bytes = n_unreadable = 0
    for row in rows:
        if not row:  # a blank line
            continue
        if len(row) <= at:
            if errors == "strict":
                raise SourceFormatError(
                    f"{source.name}, line {rows.line_num}: has {len(row)} fields, the column {column!r} is number "
                    f"{at + 1}; pass errors='replace' to take such rows as missing"
                )
            texts.append(None)
            n_unreadable += 1
        else:
            texts.append(row[at].encode("utf-8", "surrogateescape"))
            n_bytes += len(row[at])
        if len(texts) >= batch_rows or n_bytes >= batch_bytes:
            yield Piece(texts, first, position(), n_unreadable)
            first += len(texts)
            texts, n_bytes, n_unreadable = [], 0, 0
    if texts:
        yield Piece(texts, first, position(), n_unreadable)


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
