"""What ``vocab-tools train`` reads: text files, columns of Arrow files, tables of counted words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba_nlp._extras import extra
from numba_nlp.errors import SourceFormatError
from numba_nlp.text_rows import TextRows
from vocab_tools.corpus import open_file
from vocab_tools.training.counts import WordCounts

__all__ = ["INPUT_FORMATS", "columns", "input_format_of", "words"]

INPUT_FORMATS = ("text", "words", "parquet", "arrow")
_SUFFIXES = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}


def input_format_of(paths: Sequence[Path]) -> str:
    """The format that the names of files tell.

    Raises
    ------
    SourceFormatError
        They tell different ones.
    """
    told = {_SUFFIXES.get(path.suffix, "text"): path for path in reversed(paths)}
    if len(told) > 1:
        (one, first), (other, second), *_ = sorted(told.items())
        raise SourceFormatError(
            f"{first} is of the format {one} by its name and {second} of {other}; give files of one format, or say "
            "which with --input-format"
        )
    return next(iter(told))


def words(paths: Sequence[Path]) -> WordCounts:
    """Words and counts of tables: a word, a space or tab, and how often it occurs, on each line.

    Parameters
    ----------
    paths : sequence of Path
        ``-`` is the standard input; files whose names end in ``.gz`` are unpacked.

    Raises
    ------
    SourceFormatError
        A line is something else, or the counts are too large; names it.
    """
    try:
        return WordCounts.from_items(pair for path in paths for pair in _pairs(path))
    except SourceFormatError:
        raise
    except ValueError as error:  # a sum of counts beyond what is held
        raise SourceFormatError(f"{', '.join(map(str, paths))}: {error}") from error


def _pairs(path: Path) -> Iterator[tuple[bytes, int]]:
    with open_file(path) as stream:
        for number, line in enumerate(stream, start=1):
            stripped = line.strip(b" \t\r\n")
            if not stripped:
                continue
            place = max(stripped.rfind(b" "), stripped.rfind(b"\t"))
            word, count = stripped[:place].rstrip(b" \t"), stripped[place + 1 :]
            # more digits than any count has would take long to read
            if place < 1 or not count.isdigit() or len(count) > _MOST_DIGITS:
                raise SourceFormatError(
                    f"{path}:{number}: {_shown(stripped)} is not a word, a space or tab, and its count"
                )
            try:
                word.decode()
            except UnicodeDecodeError as error:
                raise SourceFormatError(f"{path}:{number}: the word {_shown(word)} is not UTF-8") from error
            yield word, int(count)


_MOST_DIGITS = 19


def _shown(line: bytes) -> str:
    return repr(line[:60].decode("utf-8", "backslashreplace"))


def columns(paths: Sequence[Path], kind: str, column: str) -> Iterator[Any]:
    """The column of each batch of rows of Parquet or Arrow IPC files; a batch is in memory at a time.

    Parameters
    ----------
    paths : sequence of Path
    kind : {"parquet", "arrow"}
        Arrow: the file format (Feather version 2 too) or the stream format.
    column : str

    Yields
    ------
    pyarrow.Array

    Raises
    ------
    ModuleNotFoundError
        pyarrow is not installed; names the extra.
    SourceFormatError
        A file is none of its format, has no such column, or it holds no text.
    OSError
    """
    extra("pyarrow")
    for path in paths:
        if str(path) == "-":
            raise SourceFormatError(f"the format {kind} is not read from the standard input; give a file")
        with _named_errors(path, kind):
            yield from (_parquet if kind == "parquet" else _arrow)(path, column)


@contextmanager
def _named_errors(path: Path, kind: str) -> Iterator[None]:
    """Say which file it was that pyarrow could not read."""
    pa = extra("pyarrow")
    try:
        yield
    except pa.ArrowInvalid as error:
        raise SourceFormatError(f"{path}: cannot be read as {kind} ({error})") from error


def _parquet(path: Path, column: str) -> Iterator[Any]:
    from pyarrow import parquet

    # a buffered stream, or else the column of a whole row group is in memory
    with parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
        _check_column(path, column, file.schema_arrow)
        for batch in file.iter_batches(columns=[column]):
            yield batch.column(0)


def _arrow(path: Path, column: str) -> Iterator[Any]:
    pa = extra("pyarrow")
    with pa.OSFile(str(path)) as stream:  # not mapped: what was read would stay resident
        try:
            file = pa.ipc.open_file(stream)
        except pa.ArrowInvalid:
            stream.seek(0)
            reader = pa.ipc.open_stream(stream)
            _check_column(path, column, reader.schema)
            yield from (batch.column(column) for batch in reader)
            return
        _check_column(path, column, file.schema)
        yield from (file.get_batch(number).column(column) for number in range(file.num_record_batches))


def _check_column(path: Path, column: str, schema: Any) -> None:
    if column not in schema.names:
        raise SourceFormatError(f"{path}: no column {column!r}; it has {', '.join(schema.names)}; pass --column")
    if schema.names.count(column) > 1:
        raise SourceFormatError(f"{path}: {schema.names.count(column)} columns are called {column!r}")
    pa = extra("pyarrow")
    kind = schema.field(column).type
    try:
        TextRows.from_arrow(pa.array([], kind))
    except TypeError as error:
        raise SourceFormatError(
            f"{path}: the column {column!r} holds {kind}, not text; pass another --column"
        ) from error
