"""Batches of rows from a part of a file: the lines that start in a range of bytes, or row groups of Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

import numpy as np

from numba_nlp._extras import extra
from numba_nlp._text_sources import Errors, Nulls
from numba_nlp.kernels.tables import rows as kernels
from numba_nlp.text_rows import TextRows

__all__ = ["json_batches", "line_batches", "parquet_batches", "whole_lines"]

#: Bytes that are read at a time where one line has to be ended.
_STEP = 1 << 16


def whole_lines(stream: BinaryIO, n_bytes: int | None, block_bytes: int) -> Iterator[bytes]:
    r"""Blocks of about ``block_bytes`` bytes, each of which ends with a line.

    Parameters
    ----------
    stream : binary file
        Read from where it stands, the first byte of a line.
    n_bytes : int or None
        Lines that start within so many bytes are given, the last one whole; None: all lines.
    block_bytes : int
        At least 1. A line that is longer makes a longer block.
    """
    parts: list[bytes] = []
    left = n_bytes
    while left is None or left > 0:
        block = stream.read(block_bytes if left is None else min(block_bytes, left))
        if not block:
            break
        if left is not None:
            left -= len(block)
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, block[:cut]])
            parts = []
        if cut < len(block):
            parts.append(block[cut:])
    if parts and left == 0:
        while block := stream.read(_STEP):
            cut = block.find(b"\n") + 1
            parts.append(block[:cut] if cut else block)
            if cut:
                break
    if parts:
        yield b"".join(parts)


def _first_line_from(stream: BinaryIO, first: int) -> int:
    """Where the first line starts that starts at byte ``first`` or behind it."""
    if first == 0:
        return 0
    stream.seek(first - 1)
    position = first - 1
    while block := stream.read(_STEP):
        cut = block.find(b"\n") + 1
        if cut:
            return position + cut
        position += len(block)
    return position


def _blocks(path: str, first: int, last: int, packed: bool, block_bytes: int) -> Iterator[bytes]:
    """Blocks of the lines that start in bytes ``first`` to ``last`` of a file; all lines of a compressed one."""
    with ExitStack() as stack:
        if packed:
            # Arrow knows the compression by the end of the name.
            stream = stack.enter_context(extra("pyarrow").input_stream(path))
            yield from whole_lines(stream, None, block_bytes)
            return
        stream = stack.enter_context(open(path, "rb"))
        start = _first_line_from(stream, first)
        stream.seek(start)
        yield from whole_lines(stream, max(last - start, 0), block_bytes)


def line_batches(
    path: str, first: int, last: int, *, packed: bool, block_bytes: int, errors: Errors
) -> Iterator[TextRows]:
    r"""Rows that are the lines which start in bytes ``first`` to ``last`` of a text file, without their ends.

    Cut anywhere, the ranges of a file give its lines, each once: those of :meth:`TextRows.from_file`.

    Parameters
    ----------
    path : str
    first, last : int
    packed : bool
        The file is compressed (``.gz``, ``.bz2``, ``.lz4``, ``.zst``); then all its lines are given.
    block_bytes : int
        About as many bytes are in memory at a time.
    errors : {"strict", "replace"}

    Raises
    ------
    InvalidTextError
        Its row counts from the start of the batch.
    OSError
    """
    for block in _blocks(path, first, last, packed, block_bytes):
        data = np.frombuffer(block, np.uint8)
        n_lines = kernels.count_lines(data)
        offsets, ends = np.empty(n_lines + 1, np.int64), np.empty(n_lines, np.int64)
        kernels.find_lines(data, True, offsets, ends)
        yield TextRows(data, offsets, ends, errors=errors)


def json_batches(
    path: str, first: int, last: int, *, packed: bool, block_bytes: int, column: str, errors: Errors, nulls: Nulls
) -> Iterator[TextRows]:
    """Rows that are one field of the objects, one a line, of a JSON lines file; arguments of :func:`line_batches`.

    A field that an object lacks is a missing row.

    Raises
    ------
    pyarrow.ArrowInvalid
        A line is no JSON object, or the field no string.
    InvalidTextError, MissingRowError, OSError
    """
    pa = extra("pyarrow")
    from pyarrow import json

    parse = json.ParseOptions(
        explicit_schema=pa.schema([pa.field(column, pa.string())]), unexpected_field_behavior="ignore"
    )
    for block in _blocks(path, first, last, packed, block_bytes):
        if not block.strip():
            continue
        # one block: a line must not be cut, and the caller has threads of its own
        read = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        table = json.read_json(pa.BufferReader(block), read_options=read, parse_options=parse)
        yield TextRows.from_arrow(table.column(column), errors=errors, nulls=nulls)


def parquet_batches(
    path: str, first: int, last: int, *, batch_rows: int, column: str, errors: Errors, nulls: Nulls
) -> Iterator[TextRows]:
    """Rows of one column in row groups ``first`` to ``last`` of a Parquet file.

    Raises
    ------
    InvalidTextError, MissingRowError, OSError
    """
    extra("pyarrow")
    from pyarrow import parquet

    with parquet.ParquetFile(path) as reader:
        groups = range(first, last)
        for batch in reader.iter_batches(batch_rows, row_groups=groups, columns=[column], use_threads=False):
            yield TextRows.from_arrow(batch.column(0), errors=errors, nulls=nulls)
