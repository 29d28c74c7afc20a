"""Rows as readers give them, and what becomes of rows that are missing or no valid text."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._text_sources import Errors, Nulls
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.errors import InvalidTextError, MissingRowError, SourceFormatError
from numba_nlp.text_rows import TextRows

__all__ = ["Batch", "Errors", "Lines", "Nulls", "Piece", "checked"]


class Lines(NamedTuple):
    """Rows that are the lines of some bytes: ``data[offsets[i]:ends[i]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    ends: NDArray[np.int64]


class Piece(NamedTuple):
    """Some rows of a file, as they stand there.

    Attributes
    ----------
    texts : Lines, list of str, bytes or None, or Arrow array
    first : int
        Number of the first of them in the file.
    position : int
        Bytes of the file that were read.
    n_unreadable : int
        Rows that are missing because they could not be read at all.
    kept : pyarrow.RecordBatch, list of dict, or None
        Other columns of the rows.
    repaired : set of int
        Rows in which a kept text was none, and U+FFFD was put there.
    """

    texts: Any
    first: int
    position: int
    n_unreadable: int = 0
    kept: Any = None
    repaired: AbstractSet[int] = frozenset()


class Batch(NamedTuple):
    """Some rows of a file: valid text.

    Attributes
    ----------
    rows : TextRows
    first, position, n_unreadable, kept
        As of the :class:`Piece`.
    n_invalid : int
        Rows in which U+FFFD stands in place of what was no valid text.
    n_missing : int
        Rows that were missing, the unreadable ones among them.
    """

    rows: TextRows
    first: int
    position: int
    n_unreadable: int
    n_invalid: int
    n_missing: int
    kept: Any = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def part(self, start: int, stop: int) -> Batch:
        """Some of the rows; what was counted stays with the first of them."""
        counts = (self.n_unreadable, self.n_invalid, self.n_missing) if start == 0 else (0, 0, 0)
        kept = self.kept[start:stop] if self.kept is not None else None
        return Batch(self.rows[start:stop], self.first + start, self.position, *counts, kept)


def checked(source: Source, piece: Piece, errors: Errors, nulls: Nulls) -> Batch:
    """Rows of a piece as valid text.

    Parameters
    ----------
    source : Source
        Where the piece is from, for messages.
    piece : Piece
    errors : {"strict", "replace"}
        Of rows that are no valid text.
    nulls : {"error", "empty", "null"}
        Of rows that are missing.

    Raises
    ------
    InvalidTextError, MissingRowError, SourceFormatError
        Name the file and the row.
    """
    invalid = set(piece.repaired)
    if invalid and errors == "strict":
        row = piece.first + min(invalid)
        raise InvalidTextError(
            f"{source.name}: row {row} has no valid text in a kept column; pass errors='replace' to put U+FFFD there",
            row=row,
        )
    try:
        rows = _rows(piece.texts, "strict")
    except ValueError as error:
        if not isinstance(error, InvalidTextError):
            # offsets of a damaged Arrow file
            raise SourceFormatError(f"{source.name}: cannot be read as {source.kind} ({error})") from error
        row = piece.first + (error.row or 0)
        if errors == "strict":
            raise InvalidTextError(
                f"{source.name}: row {row} is no valid text from its byte {error.byte} on; pass errors='replace' to "
                "put U+FFFD there",
                row=row,
                byte=error.byte,
            ) from error
        rows = _rows(piece.texts, "replace")
        invalid |= _invalid_rows(piece.texts)
    n_missing = 0
    if rows.valid is not None:
        n_missing = int((~rows.valid).sum())
        if nulls == "error":
            row = piece.first + int(np.argmin(rows.valid))
            raise MissingRowError(
                f"{source.name}: row {row} is missing; pass nulls='null' to keep it missing, or nulls='empty' to take "
                "it as empty text"
            )
        rows = TextRows.from_any(rows, nulls=nulls)
    return Batch(rows, piece.first, piece.position, piece.n_unreadable, len(invalid), n_missing, piece.kept)


def _rows(texts: Any, errors: Errors) -> TextRows:
    if isinstance(texts, Lines):
        return TextRows(*texts, errors=errors)
    return TextRows.from_any(texts, errors=errors, nulls="null")


def _invalid_rows(texts: Any) -> set[int]:
    """Which rows are no valid text; looked at one by one, since there rarely is any."""
    if isinstance(texts, Lines):
        bounds = zip(texts.offsets[:-1].tolist(), texts.ends.tolist(), strict=True)
        items: Any = (texts.data[start:end].tobytes() for start, end in bounds)
    elif isinstance(texts, list):
        items = texts
    else:
        # as bytes: pyarrow raises on strings that are none
        import pyarrow as pa

        kind = texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type
        texts = texts.cast(kind) if kind != texts.type else texts
        items = texts.cast(pa.large_binary()).to_pylist()
    return {row for row, item in enumerate(items) if not _is_valid(item)}


def _is_valid(item: Any) -> bool:
    try:
        if isinstance(item, bytes):
            item.decode()
        elif isinstance(item, str):
            item.encode()
    except UnicodeError:
        return False
    return True
