"""Texts of files of every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import typer

from numba_nlp.commands.reading import arrow_files
from numba_nlp.commands.reading.line_files import read_json_lines, read_text
from numba_nlp.commands.reading.pieces import Batch, Errors, Nulls, Piece, checked
from numba_nlp.commands.reading.separated import read_separated
from numba_nlp.commands.reading.sources import Source

__all__ = ["TextReader"]

_DEFAULT_COLUMN = "text"


class TextReader(NamedTuple):
    """Reads texts as the options of a command say.

    Attributes
    ----------
    column : str or None
        Where texts stand in files that have columns; "text" unless it is given.
    errors, nulls
        Of rows that are no valid text, or missing.
    batch_rows : int
        Most rows of a batch.
    """

    column: str | None
    errors: Errors
    nulls: Nulls
    batch_rows: int

    def check(self, sources: Sequence[Source]) -> None:
        """See that files have the column, as far as their formats say it, before anything is read.

        Raises
        ------
        SourceFormatError, ModuleNotFoundError
            As :meth:`read`.
        typer.BadParameter
            There is a column where no file has any.
        """
        if self.column is not None and sources and all(source.kind == "text" for source in sources):
            raise typer.BadParameter(
                "text files have no columns; pass --from if these are of another format", param_hint="--column"
            )
        column = self.column or _DEFAULT_COLUMN
        for source in sources:
            if source.kind in ("parquet", "arrow"):
                schema = arrow_files.schema_of(source)
                if schema is not None:
                    arrow_files.check_column(source, column, schema)

    def read(self, source: Source) -> Iterator[Batch]:
        """Rows of a file, some at a time.

        Raises
        ------
        SourceFormatError
            It cannot be read, or has no such column.
        InvalidTextError, MissingRowError
            As :func:`numba_nlp.commands.reading.pieces.checked`.
        ModuleNotFoundError
            A package that the format needs is not installed.
        """
        for piece in self._pieces(source):
            yield checked(source, piece, self.errors, self.nulls)

    def _pieces(self, source: Source) -> Iterator[Piece]:
        column = self.column or _DEFAULT_COLUMN
        if source.kind == "text":
            return read_text(source, self.batch_rows)
        if source.kind == "jsonl":
            return read_json_lines(source, column, self.batch_rows, self.errors)
        if source.kind in ("csv", "tsv"):
            return read_separated(source, column, self.batch_rows, self.errors)
        return arrow_files.pieces(source, column, self.batch_rows)
