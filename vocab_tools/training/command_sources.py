"""What ``vocab-tools train`` reads: text files, columns of Arrow files, tables of counted words."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from numba_nlp.errors import SourceFormatError
from vocab_tools.training.counts import WordCounts

__all__ = ["INPUT_FORMATS", "columns", "input_format_of", "words"]

INPUT_FORMATS = ("text", "words", "parquet", "arrow")
_SUFFIXES = {".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow"}


def input_format_of(paths: Sequence[Path]) -> str:
    """The format that the names of files tell; of files that tell different ones, that of the first."""
    return _SUFFIXES.get(paths[0].suffix, "text")


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
    except ValueError as error:  # a count, or their sum, beyond what is held
        raise SourceFormatError(f"{', '.join(map(str, paths))}: {error}") from error


def _pairs(path: Path) -> Iterator[tuple[bytes, int]]:
    with _opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            stripped = line.strip(b" \t\r\n")
            if not stripped:
                continue
            place = max(stripped.rfind(b" "), stripped.rfind(b"\t"))
            word, count = stripped[:place], stripped[place + 1 :]
            if place < 1 or not count.isdigit():
                raise SourceFormatError(
                    f"{path}:{number}: {stripped[:60]!r} is not a word, a space or tab, and its count"
                )
            yield word, int(count)


def _opened(path: Path) -> Any:
    if str(path) == "-":
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.suffix == ".gz" else open(path, "rb")


def columns(paths: Sequence[Path], kind: str, column: str) -> Iterator[Any]:
    """The column of each batch of rows of Parquet or Arrow IPC files; a batch is in memory at a time.

    Raises
    ------
    SourceFormatError
        A file has no such column; names those that it has.
    """
    for path in paths:
        yield from (_parquet if kind == "parquet" else _arrow)(path, column)


def _parquet(path: Path, column: str) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        _check_column(path, column, file.schema_arrow.names)
        for batch in file.iter_batches(columns=[column]):
            yield batch.column(0)


def _arrow(path: Path, column: str) -> Iterator[Any]:
    import pyarrow as pa

    stream: BinaryIO
    with pa.memory_map(str(path)) as stream:
        try:
            file = pa.ipc.open_file(stream)
        except pa.ArrowInvalid:
            stream.seek(0)
            reader = pa.ipc.open_stream(stream)
            _check_column(path, column, reader.schema.names)
            yield from (batch.column(column) for batch in reader)
            return
        _check_column(path, column, file.schema.names)
        yield from (file.get_batch(number).column(column) for number in range(file.num_record_batches))


def _check_column(path: Path, column: str, names: Sequence[str]) -> None:
    if column not in names:
        raise SourceFormatError(f"{path}: no column {column!r}; it has {', '.join(names)}; pass --column")
