"""Texts of files of every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from numba_nlp.corpora.reading import arrow_files
from numba_nlp.corpora.reading.kept import NOTHING, Keep
from numba_nlp.corpora.reading.line_files import read_json_lines, read_text
from numba_nlp.corpora.reading.pieces import Batch, Errors, Nulls, Piece, checked
from numba_nlp.corpora.reading.separated import read_separated
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.errors import SourceFormatError

__all__ = ["DEFAULT_COLUMN", "PIECE_BYTES", "TextReader"]

#: About how much text a batch has at most, unless told otherwise; one row may be longer.
PIECE_BYTES = 1 << 24

DEFAULT_COLUMN = "text"


class TextReader(NamedTuple):
    """How texts are read.

    Attributes
    ----------
    column : str or None
        Where texts stand in files that have columns; "text" unless it is given.
    errors, nulls
        Of rows that are no valid text, or missing.
    batch_rows, batch_bytes : int
        Most rows of a batch, and about how many bytes; one row may be longer.
    keep : Keep
        Columns that go with the rows.
    """

    column: str | None
    errors: Errors
    nulls: Nulls
    batch_rows: int
    batch_bytes: int = PIECE_BYTES
    keep: Keep = NOTHING

    def check(self, sources: Sequence[Source], *, in_turn: bool = False) -> None:
        """See that files have the column, as far as their formats say it, before anything is read.

        Parameters
        ----------
        sources : sequence of Source
        in_turn : bool
            Files that are damaged are left to their turn.

        Raises
        ------
        SourceFormatError, ModuleNotFoundError
            As :meth:`read`.
        """
        column = self.column or DEFAULT_COLUMN
        for source in sources:
            if source.kind in ("parquet", "arrow"):
                try:
                    schema = arrow_files.schema_of(source)
                except SourceFormatError:
                    if in_turn:
                        continue
                    raise
                if schema is not None:
                    arrow_files.check_column(source, column, schema)
                    self.keep.among(source, schema.names)

    def read(self, source: Source) -> Iterator[Batch]:
        """Rows of a file, some at a time.

        Raises
        ------
        SourceFormatError
            It cannot be read, or has no such column.
        InvalidTextError, MissingRowError
            As :func:`numba_nlp.corpora.reading.pieces.checked`.
        ModuleNotFoundError
            A package that the format needs is not installed.
        """
        for piece in self._pieces(source):
            yield checked(source, piece, self.errors, self.nulls)

    def _pieces(self, source: Source) -> Iterator[Piece]:
        column = self.column or DEFAULT_COLUMN
        size = (self.batch_rows, self.batch_bytes)
        if source.kind == "text":
            return read_text(source, *size)
        if source.kind == "jsonl":
            return read_json_lines(source, column, *size, self.errors, self.keep)
        if source.kind in ("csv", "tsv"):
            return read_separated(source, column, *size, self.errors, self.keep)
        return arrow_files.pieces(source, column, *size, self.keep)
