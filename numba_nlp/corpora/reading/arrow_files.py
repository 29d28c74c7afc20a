"""Parquet and Arrow IPC files: a column of them, some rows at a time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from numba_nlp._extras import extra
from numba_nlp.corpora.reading.kept import NOTHING, Keep
from numba_nlp.corpora.reading.pieces import Piece
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import named_errors
from numba_nlp.errors import SourceFormatError
from numba_nlp.text_rows import TextRows

__all__ = ["check_column", "check_text", "pieces", "read_columns", "row_group_sizes", "schema_of"]

Chunks = Iterator[tuple[Any, int, int, Any]]
Check = Callable[[Source, str, Any], None]


def read_columns(
    source: Source, column: str, batch_rows: int, batch_bytes: int, check: Check, keep: Keep = NOTHING
) -> Chunks:
    """Batches of a column, with the number of their first row, the bytes of the file that were read, and kept columns.

    Parameters
    ----------
    source : Source
        Of the kind "parquet" or "arrow" (the file format, Feather version 2 too, or the stream format).
    column : str
        Its name, or a path with dots into structs.
    batch_rows, batch_bytes : int
        Most rows of a batch, and about how many bytes in Parquet; fewer rows where these are long.
    check : callable
        Called with the source, the column and its type; raises if that is not what is wanted.
    keep : Keep
        Other columns, given as a RecordBatch; None if none are.

    Raises
    ------
    SourceFormatError
        It cannot be read, or has no such column; lists what it has.
    ModuleNotFoundError
        pyarrow is not installed; names the extra.
    """
    extra("pyarrow")
    with named_errors(source):
        chunks = _parquet if source.kind == "parquet" else _arrow
        yield from chunks(source, column, batch_rows, batch_bytes, check, keep)


def pieces(source: Source, column: str, batch_rows: int, batch_bytes: int, keep: Keep) -> Iterator[Piece]:
    """:func:`read_columns` for texts."""
    for chunk, first, position, kept in read_columns(source, column, batch_rows, batch_bytes, check_text, keep):
        yield Piece(chunk, first, position, kept=kept)


def schema_of(source: Source) -> Any:
    """The Arrow schema of a file, or None of the standard input.

    Raises
    ------
    SourceFormatError, ModuleNotFoundError
        As :func:`read_columns`.
    """
    pa = extra("pyarrow")
    if source.is_stdin:
        return None
    with named_errors(source):
        if source.kind == "parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(source.path) as file:
                return file.schema_arrow
        with pa.OSFile(source.path) as stream:
            return _ipc_reader(pa, stream)[1].schema


def row_group_sizes(source: Source) -> list[int]:
    """Bytes of the row groups of a Parquet file, without compression.

    Raises
    ------
    SourceFormatError, ModuleNotFoundError
        As :func:`read_columns`.
    """
    extra("pyarrow")
    from pyarrow import parquet

    with named_errors(source), parquet.ParquetFile(source.path) as file:
        return [file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups)]


def _parquet(source: Source, column: str, batch_rows: int, batch_bytes: int, check: Check, keep: Keep) -> Chunks:
    from pyarrow import parquet

    # a buffered stream, or else the column of a whole row group is in memory; checksums are looked at where they are
    with parquet.ParquetFile(
        source.path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
    ) as file:
        path = _path_of(source, column, file.schema_arrow)
        check(source, column, _type_of(path, file.schema_arrow))
        kept = keep.among(source, file.schema_arrow.names)
        columns = [".".join(path), *kept]
        groups = range(*(source.part or (0, file.metadata.num_row_groups)))
        total, size = file.metadata.num_rows, source.size
        first = 0
        n_rows = _fitting(file.metadata, groups, columns, batch_rows, batch_bytes)
        # whoever reads parts reads several at a time
        batches = file.iter_batches(n_rows, groups, columns, use_threads=source.part is None)
        for batch in batches:
            chunk = _field(batch, path)
            position = size * (first + len(chunk)) // max(total, 1)
            yield chunk, first, position, batch.select(kept) if kept else None
            first += len(chunk)


def _fitting(metadata: Any, groups: range, columns: list[str], batch_rows: int, batch_bytes: int) -> int:
    """So many rows that a batch has about ``batch_bytes``, by the sizes in the file's footer."""
    inner = tuple(f"{column}." for column in columns)
    largest = 1.0
    for number in groups:
        group = metadata.row_group(number)
        parts = (group.column(at) for at in range(group.num_columns))
        n_bytes = sum(
            part.total_uncompressed_size
            for part in parts
            if part.path_in_schema in columns or part.path_in_schema.startswith(inner)
        )
        largest = max(largest, n_bytes / max(group.num_rows, 1))
    return max(1, min(batch_rows, int(batch_bytes / largest)))


def _arrow(source: Source, column: str, batch_rows: int, batch_bytes: int, check: Check, keep: Keep) -> Chunks:
    pa = extra("pyarrow")
    # not mapped: what was read would stay resident
    with pa.PythonFile(sys.stdin.buffer, "r") if source.is_stdin else pa.OSFile(source.path) as stream:
        batches, reader = _ipc_reader(pa, stream, is_seekable=not source.is_stdin)
        path = _path_of(source, column, reader.schema)
        check(source, column, _type_of(path, reader.schema))
        kept = keep.among(source, reader.schema.names)
        first = 0
        for batch in batches:
            chunk = _field(batch, path)
            others = batch.select(kept)
            for one in (chunk, *others.columns):
                _validate(pa, one)
            position = 0 if source.is_stdin else stream.tell()
            for start in range(0, len(chunk), batch_rows):
                part = chunk.slice(start, batch_rows)
                yield part, first + start, position, others.slice(start, batch_rows) if kept else None
            first += len(chunk)


def _validate(pa: Any, chunk: Any) -> None:
    """Check what a damaged file would lead outside of its buffers; offsets of strings are looked at behind."""
    # a full check would refuse strings that are no UTF-8, for which there is an option
    plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    chunk.validate(full=chunk.type not in plain)


def _ipc_reader(pa: Any, stream: Any, *, is_seekable: bool = True) -> tuple[Iterator[Any], Any]:
    if is_seekable:
        try:
            file = pa.ipc.open_file(stream)
        except pa.ArrowInvalid:
            stream.seek(0)
        else:
            return (file.get_batch(number) for number in range(file.num_record_batches)), file
    reader = pa.ipc.open_stream(stream)
    return iter(reader), reader


def _path_of(source: Source, column: str, schema: Any) -> list[str]:
    """The names that lead to a column."""
    n_named = schema.names.count(column)
    if n_named > 1:
        raise SourceFormatError(f"{source.name}: {n_named} columns are called {column!r}; rename them")
    if n_named:
        return [column]
    pa = extra("pyarrow")
    path = column.split(".")
    kind = pa.struct(list(schema)) if len(set(schema.names)) == len(schema.names) else None
    for name in path:
        if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(name) < 0:
            names = ", ".join(repr(name) for name in schema.names)
            raise SourceFormatError(f"{source.name}: has no column {column!r}; it has {names}; pass --column")
        kind = kind.field(name).type
    return path


def _type_of(path: list[str], schema: Any) -> Any:
    kind = schema.field(path[0]).type
    for name in path[1:]:
        kind = kind.field(name).type
    return kind


def _field(batch: Any, path: list[str]) -> Any:
    chunk = batch.column(path[0])
    if len(path) > 1:
        from pyarrow import compute

        chunk = compute.struct_field(chunk, path[1:])
    return chunk


def check_column(source: Source, column: str, schema: Any) -> None:
    """Refuse a file that has no such column, or no text in it.

    Raises
    ------
    SourceFormatError
    """
    with named_errors(source):
        check_text(source, column, _type_of(_path_of(source, column, schema), schema))


def check_text(source: Source, column: str, kind: Any) -> None:
    """Refuse a column that holds no text.

    Raises
    ------
    SourceFormatError
    """
    pa = extra("pyarrow")
    if pa.types.is_null(kind):
        return
    try:
        TextRows.from_arrow(pa.array([], kind))
    except TypeError as error:
        raise SourceFormatError(
            f"{source.name}: the column {column!r} holds {kind}, not text; pass another --column"
        ) from error
