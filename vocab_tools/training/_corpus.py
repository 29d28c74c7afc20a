"""Where the text of a corpus comes from: files, columns and iterables, in blocks of rows."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import InvalidTextError
from numba_nlp.kernels.tables.rows import count_lines, find_lines
from numba_nlp.text_rows import TextRows

__all__ = ["Block", "read_blocks", "rows_of"]

#: Bytes of text in one block; a line is never split, so a block holds a longer one whole.
BLOCK_BYTES = 1 << 20
_BATCH_ROWS = 1 << 16


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


def read_blocks(source: Any) -> Iterator[Block]:
    """Cut a corpus into blocks.

    Parameters
    ----------
    source : path-like, str, iterable of path-like or str, Arrow column, iterable of Arrow columns
        A ``str`` by itself is a path; in an iterable it is a text. The path ``-`` is the standard input.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
    TypeError
        Something else; names its type.
    InvalidTextError
        A ``str`` with a lone surrogate.
    """
    if isinstance(source, str | os.PathLike):
        yield from _blocks_of_file(Path(source))
        return
    if isinstance(source, bytes | bytearray):
        raise TypeError("`source` is bytes; pass a path, or [text] for one text")
    if type(source).__module__.partition(".")[0] == "pyarrow" or hasattr(source, "__arrow_c_stream__"):
        yield from _blocks_of_column(source)
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
                yield from _blocks_of_file(Path(path))
        elif type(head).__module__.partition(".")[0] == "pyarrow":
            for column in chain((head,), items):
                yield from _blocks_of_column(column)
        else:
            yield from _blocks_of_texts(chain((head,), items))


def _blocks_of_file(path: Path) -> Iterator[Block]:
    if str(path) == "-":
        yield from _blocks_of_stream(sys.stdin.buffer, "standard input")
        return
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        yield from _blocks_of_stream(stream, str(path))


def _blocks_of_stream(stream: BinaryIO, name: str) -> Iterator[Block]:
    kept: list[bytes] = []  # the beginning of a line that goes on
    first = 0
    while True:
        read = stream.read(BLOCK_BYTES)
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


def _blocks_of_texts(texts: Iterable[Any]) -> Iterator[Block]:
    first = 0
    batch: list[str] = []
    size = 0
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"item {number} of `source` is {type(text).__name__}, expected str as texts or all paths")
        batch.append(text)
        size += len(text)
        if size >= BLOCK_BYTES or len(batch) >= _BATCH_ROWS:
            yield Block("source", first, _text_rows(batch, first))
            first, batch, size = number + 1, [], 0
    if batch:
        yield Block("source", first, _text_rows(batch, first))


def _text_rows(texts: list[str], first: int) -> TextRows:
    try:
        return TextRows.from_strings(texts)
    except InvalidTextError as error:
        row = first + (error.row or 0)
        raise InvalidTextError(f"text {row} of `source` holds a lone surrogate", row=row, byte=error.byte) from error


def _blocks_of_column(column: Any) -> Iterator[Block]:
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    first = 0
    for chunk in chunks:
        for start in range(0, len(chunk), _BATCH_ROWS):
            rows = TextRows.from_any(chunk[start : start + _BATCH_ROWS], nulls="empty")
            yield Block("column", first + start, rows)
        first += len(chunk)


def rows_of(block: Block, strip: bool, errors: str) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """The rows of a block: lines of a file, with or without their ends.

    Raises
    ------
    InvalidTextError
        Bytes that are not UTF-8, with ``errors="strict"``; names the file and the offset.
    """
    if isinstance(block.content, TextRows):
        rows = block.content
        return rows.data, rows.offsets[:-1], rows.ends
    data = np.frombuffer(block.content, np.uint8)
    n_rows = int(count_lines(data))
    offsets, ends = np.empty(n_rows + 1, np.int64), np.empty(n_rows, np.int64)
    find_lines(data, strip, offsets, ends)
    try:
        lines = TextRows(data, offsets, ends)
    except InvalidTextError as error:
        if errors == "replace":
            lines = TextRows(data, offsets, ends, errors="replace")
        else:
            byte = block.first + int(offsets[error.row or 0]) + error.byte
            raise InvalidTextError(
                f"{block.name}: the bytes from offset {byte} on are not UTF-8; mend the file, or pass "
                "errors='replace' to put U+FFFD there",
                byte=byte,
            ) from error
    return lines.data, lines.offsets[:-1], lines.ends
