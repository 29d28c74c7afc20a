"""Texts that trainers and commands run over, a block at a time: no file, column or iterable has to fit in memory."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import InvalidTextError, SourceFormatError
from numba_nlp.kernels.tables.rows import count_lines, find_lines
from numba_nlp.text_rows import TextRows

__all__ = ["Block", "Corpus", "Errors", "blocks", "is_column", "open_file", "read_blocks", "rows_of"]

#: What commands run over: a file, files, rows, or an Arrow column. The file ``-`` is the standard input.
Corpus = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | TextRows
Errors = Literal["strict", "replace"]

#: Bytes of text in one block; a line is never split, so a block holds a longer one whole.
BLOCK_BYTES = 1 << 20
_BATCH_ROWS = 1 << 16
#: The same where blocks are encoded: enough for all threads, little enough for the arrays of their tokens.
_ENCODED_BYTES = 1 << 22


class Block(NamedTuple):
    """Some text: bytes of a file that end with a line, or rows.

    Attributes
    ----------
    name : str
        What errors call the source.
    first : int
        Offset of the bytes in the file; number of the first row.
    content : bytes or TextRows
    """

    name: str
    first: int
    content: bytes | TextRows

    @property
    def size(self) -> int:
        """Bytes, or rows."""
        return len(self.content)


def blocks(corpus: Corpus, block_bytes: int = _ENCODED_BYTES) -> Iterator[TextRows]:
    r"""Rows of a corpus, in order, some at a time.

    Parameters
    ----------
    corpus : path-like, iterable of path-like, TextRows, or Arrow column
        Text files in UTF-8 (``.gz`` too), whose rows are their lines (without ``\n`` or ``\r\n``); ``"-"`` is the
        standard input. Missing rows of a column are empty.
    block_bytes : int
        About how much text a block has, one row at least.

    Yields
    ------
    TextRows
        Not empty.

    Raises
    ------
    InvalidTextError
        A line is not UTF-8; names the file and the byte.
    SourceFormatError
        A ``.gz`` file cannot be unpacked.
    OSError
        A file cannot be opened.
    """
    if isinstance(corpus, TextRows | str | os.PathLike) or is_column(corpus):
        source: Any = corpus
    else:
        source = [Path(path) for path in corpus]
    for block in read_blocks(source, block_bytes=block_bytes):
        yield _text_rows(block, True, "strict", "mend the file")


def read_blocks(source: Any, errors: Errors = "strict", block_bytes: int | None = None) -> Iterator[Block]:
    """Cut a corpus into blocks.

    Parameters
    ----------
    source : path-like, str, iterable of path-like or str, TextRows, Arrow column, iterable of Arrow columns
        A ``str`` by itself is a path; in an iterable it is a text. The path ``-`` is the standard input.
    errors : {"strict", "replace"}
        Rows that are no valid Unicode; those of files are looked at by :func:`rows_of`.
    block_bytes : int, optional
        About how much text a block has; :data:`BLOCK_BYTES` by default.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
    SourceFormatError
        A ``.gz`` file cannot be unpacked.
    TypeError
        Something else; names its type.
    InvalidTextError
        A ``str`` with a lone surrogate, or a row that is not UTF-8.
    """
    size = BLOCK_BYTES if block_bytes is None else block_bytes
    if isinstance(source, str | os.PathLike):
        yield from _blocks_of_file(Path(source), size)
        return
    if isinstance(source, bytes | bytearray):
        raise TypeError("`source` is bytes; pass a path, or [text] for one text")
    if isinstance(source, TextRows):
        yield from _blocks_of_rows(source, size)
        return
    if is_column(source):
        yield from _blocks_of_column(source, errors, 0)
        return
    if not isinstance(source, Iterable):
        raise TypeError(
            f"`source` must be a path, paths, an iterable of str, or an Arrow column, got {type(source).__name__}"
        )
    items = iter(source)
    for head in items:
        if isinstance(head, os.PathLike):
            for number, path in enumerate(chain((head,), items)):
                if not isinstance(path, os.PathLike):
                    raise TypeError(f"item {number} of `source` is {type(path).__name__}, expected a path as before")
                yield from _blocks_of_file(Path(path), size)
        elif is_column(head):
            first = 0
            for column in chain((head,), items):
                yield from _blocks_of_column(column, errors, first)
                first += len(column)
        else:
            yield from _blocks_of_texts(chain((head,), items), errors, size)


def is_column(source: Any) -> bool:
    """Whether something is an Arrow array, or speaks Arrow's C interface as Series of pandas and polars do."""
    return type(source).__module__.partition(".")[0] == "pyarrow" or hasattr(source, "__arrow_c_stream__")


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes: ``-`` is the standard input, ``.gz`` is unpacked.

    Raises
    ------
    SourceFormatError
        In the block: a ``.gz`` file is cut, or is none.
    OSError
    """
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    if path.suffix != ".gz":
        with open(path, "rb") as stream:
            yield stream
        return
    with gzip.open(path) as packed:
        try:
            yield packed  # type: ignore[misc]  # what is asked of a BinaryIO here, it does
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise SourceFormatError(f"{path}: cannot be unpacked as gzip ({error})") from error


def _blocks_of_file(path: Path, size: int) -> Iterator[Block]:
    with open_file(path) as stream:
        yield from _blocks_of_stream(stream, "standard input" if str(path) == "-" else str(path), size)


def _blocks_of_stream(stream: BinaryIO, name: str, size: int) -> Iterator[Block]:
    kept: list[bytes] = []  # the beginning of a line that goes on
    first = 0
    while True:
        read = stream.read(size)
        cut = read.rfind(b"\n") + 1
        if read and not cut:
            kept.append(read)
            continue
        content = b"".join((*kept, read[:cut])) if read else b"".join(kept)
        if content:
            yield Block(name, first, content)
        if not read:
            return
        first += len(content)
        kept = [read[cut:]]


def _blocks_of_rows(rows: TextRows, size: int) -> Iterator[Block]:
    first = 0
    while first < len(rows):
        last = int(np.searchsorted(rows.ends, rows.starts[first] + size, side="right"))
        last = max(first + 1, last)
        yield Block("source", first, rows[first:last])
        first = last


def _blocks_of_texts(texts: Iterable[Any], errors: Errors, block_bytes: int) -> Iterator[Block]:
    first = 0
    batch: list[str] = []
    size = 0
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"item {number} of `source` is {type(text).__name__}, expected str as texts or all paths")
        batch.append(text)
        size += len(text)
        if size >= block_bytes or len(batch) >= _BATCH_ROWS:
            yield Block("source", first, _rows_of_texts(batch, errors, first))
            first, batch, size = number + 1, [], 0
    if batch:
        yield Block("source", first, _rows_of_texts(batch, errors, first))


def _rows_of_texts(texts: list[str], errors: Errors, first: int) -> TextRows:
    try:
        return TextRows.from_strings(texts, errors=errors)
    except InvalidTextError as error:
        row = first + (error.row or 0)
        raise InvalidTextError(f"text {row} of `source` holds a lone surrogate", row=row, byte=error.byte) from error


def _blocks_of_column(column: Any, errors: Errors, before: int) -> Iterator[Block]:
    if not hasattr(column, "__len__"):
        raise TypeError(f"`source` holds {type(column).__name__}, expected an Arrow column, or an iterable of them")
    first = before
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        for start in range(0, len(chunk), _BATCH_ROWS):
            try:
                rows = TextRows.from_any(chunk[start : start + _BATCH_ROWS], errors=errors, nulls="empty")
            except InvalidTextError as error:
                row = first + start + (error.row or 0)
                raise InvalidTextError(
                    f"row {row} of the column is not UTF-8 from its byte {error.byte} on; mend it, or pass "
                    "errors='replace' to put U+FFFD there",
                    row=row,
                    byte=error.byte,
                ) from error
            yield Block("column", first + start, rows)
        first += len(chunk)


def rows_of(
    block: Block, strip: bool, errors: Errors
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a block: lines of a file, with or without their ends.

    Returns
    -------
    data, starts, ends : uint8[n], int64[rows], int64[rows]

    Raises
    ------
    InvalidTextError
        Bytes that are not UTF-8, with ``errors="strict"``; names the file and the offset.
    """
    rows = _text_rows(block, strip, errors, "mend the file, or pass errors='replace' to put U+FFFD there")
    return rows.data, rows.starts, rows.ends


def _text_rows(block: Block, strip: bool, errors: Errors, way_out: str) -> TextRows:
    if isinstance(block.content, TextRows):
        return block.content
    data = np.frombuffer(block.content, np.uint8)
    n_rows = int(count_lines(data))
    offsets, ends = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64)
    find_lines(data, strip, offsets, ends)
    try:
        return TextRows(data, offsets, ends, errors=errors)
    except InvalidTextError as error:
        byte = block.first + int(offsets[error.row or 0]) + error.byte
        raise InvalidTextError(
            f"{block.name}: the bytes from offset {byte} on are not UTF-8; {way_out}", byte=byte
        ) from error
