"""Ids of files of every format that :mod:`numba_nlp.corpora.writing` writes."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from numba_nlp._extras import extra
from numba_nlp.corpora.reading.arrow_files import read_columns, schema_of
from numba_nlp.corpora.reading.line_files import json_rows
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.streams import Block, line_blocks, named_errors
from numba_nlp.corpora.reading.texts import PIECE_BYTES
from numba_nlp.errors import SourceFormatError
from numba_nlp.packing import PackedBlocks
from numba_nlp.ragged import Ragged

__all__ = ["IdBatch", "read_ids", "recorded_digest"]

#: Most ids of a batch; a longer row is a batch by itself.
_MOST_IDS = 1 << 22
_DIGEST = "numba_nlp.vocabulary_digest"


class IdBatch(NamedTuple):
    """Some rows of ids, the number of the first of them in the file, and the bytes of the file that were read."""

    ids: Ragged
    first: int
    position: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ids)

    def part(self, start: int, stop: int) -> IdBatch:
        """Some of the rows."""
        return IdBatch(self.ids[start:stop], self.first + start, self.position)


def recorded_digest(source: Source) -> str | None:
    """The digest of the vocabulary that a file of ids says that they belong to, if it does.

    Raises
    ------
    SourceFormatError
        It cannot be read.
    """
    if source.kind in ("parquet", "arrow"):
        schema = schema_of(source)
        found = (schema.metadata or {}).get(_DIGEST.encode()) if schema is not None else None
        return None if found is None else str(found.decode())
    if source.kind == "packed":
        return PackedBlocks.open(source.path).vocabulary_digest
    if source.kind == "npz":
        with named_errors(source), zipfile.ZipFile(source.path) as archive:
            if f"{_DIGEST}.npy" in archive.namelist():
                with archive.open(f"{_DIGEST}.npy") as member:
                    return str(npy.read_array(member, allow_pickle=False))
    return None


def read_ids(source: Source, column: str, batch_rows: int) -> Iterator[IdBatch]:
    """Rows of ids of a file, some at a time.

    Parameters
    ----------
    source : Source
        "text": ids with spaces between, a row a line; "packed": each block is a row, and so is the tail.
    column : str
        Where ids stand in files that have columns.
    batch_rows : int

    Raises
    ------
    SourceFormatError
        It cannot be read, has no such column, or that holds no ids.
    ModuleNotFoundError
        A package that the format needs is not installed.
    """
    if source.kind == "packed":
        yield from _packed(source, batch_rows)
    elif source.kind == "npz":
        yield from _npz(source, batch_rows)
    elif source.kind in ("parquet", "arrow"):
        for chunk, first, position, _ in read_columns(source, column, batch_rows, PIECE_BYTES, _check_lists):
            yield IdBatch(_from_arrow(source, chunk, first), first, position)
    else:
        yield from _lines(source, column, batch_rows)


def _from_arrow(source: Source, chunk: Any, first: int) -> Ragged:
    try:
        return Ragged.from_arrow(chunk)
    except ValueError as error:
        raise SourceFormatError(f"{source.name}, rows counted from row {first}: {error}") from error


def _check_lists(source: Source, column: str, kind: Any) -> None:
    pa = extra("pyarrow")
    try:
        Ragged.from_arrow(pa.array([], kind))
    except TypeError as error:
        raise SourceFormatError(
            f"{source.name}: the column {column!r} holds {kind}, not lists of ids; pass another --column"
        ) from error


# --- lines -----------------------------------------------------------------------------------------------------------


def _lines(source: Source, column: str, batch_rows: int) -> Iterator[IdBatch]:
    rows: list[Any] = []
    first = n_ids = 0
    for block in line_blocks(source, batch_rows, PIECE_BYTES):
        for number, found in json_rows(block) if source.kind == "jsonl" else _number_rows(block):
            given = found.get(column, ()) if isinstance(found, dict) else found
            if source.kind == "jsonl" and (not isinstance(found, dict) or column not in found):
                has = f"has {', '.join(found)}" if isinstance(found, dict) else "is no JSON object"
                raise SourceFormatError(f"{source.name}, line {number}: {has}, expected an entry {column!r}")
            row = None if given is None else _row_of(source, number, given)
            rows.append(row)
            n_ids += 0 if row is None else row.size
            if len(rows) >= batch_rows or n_ids >= _MOST_IDS:
                yield IdBatch(_gathered(rows), first, block.position)
                first += len(rows)
                rows, n_ids = [], 0
        if rows:
            yield IdBatch(_gathered(rows), first, block.position)
            first += len(rows)
            rows, n_ids = [], 0


def _number_rows(block: Block) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n"), start=block.line):
        yield number, _numbers_of(line)


def _numbers_of(line: bytes) -> list[int] | ValueError:
    try:
        if b"_" in line:  # which numbers of Python may have between their digits
            raise ValueError(line)
        return [int(part) for part in line.split()]
    except ValueError:
        return ValueError(line.decode("utf-8", "replace")[:60])


def _row_of(source: Source, number: int, given: Any) -> NDArray[np.int32]:
    if isinstance(given, list) and all(type(one) is int and -(2**31) <= one < 2**31 for one in given):
        return np.array(given, np.int32)
    shown = json.dumps(given, default=str)[:60]
    raise SourceFormatError(f"{source.name}, line {number}: {shown} is no list of ids")


def _gathered(rows: list[NDArray[np.int32] | None]) -> Ragged:
    there = [row for row in rows if row is not None]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([0 if row is None else row.size for row in rows], out=offsets[1:])
    valid = np.array([row is not None for row in rows], np.bool_)
    return Ragged(np.concatenate(there) if there else np.zeros(0, np.int32), offsets, valid=valid)


# --- arrays ----------------------------------------------------------------------------------------------------------


def _packed(source: Source, batch_rows: int) -> Iterator[IdBatch]:
    blocks = PackedBlocks.open(source.path)
    size = blocks.block_size
    step = max(1, min(batch_rows, _MOST_IDS // size))
    for first in range(0, len(blocks), step):
        part = blocks.array[first : first + step]
        offsets = np.arange(len(part) + 1, dtype=np.int64) * size
        yield IdBatch(Ragged(part.reshape(-1).astype(np.int32), offsets), first, (first + len(part)) * part[0].nbytes)
    if blocks.tail.size:
        tail = blocks.tail.astype(np.int32)
        yield IdBatch(Ragged(tail, np.array([0, tail.size], np.int64)), len(blocks), source.size)


def _npz(source: Source, batch_rows: int) -> Iterator[IdBatch]:
    """Ids go by in order, so that only the offsets are in memory whole."""
    with named_errors(source), zipfile.ZipFile(source.path) as archive:
        offsets = _member(source, archive, "offsets", np.int64)
        names = archive.namelist()
        valid = _member(source, archive, "valid", np.bool_) if "valid.npy" in names else None
        if not offsets.size or (valid is not None and valid.size != offsets.size - 1) or (np.diff(offsets) < 0).any():
            raise SourceFormatError(f"{source.name}: `offsets` and `valid` are no bounds of rows")
        with _open_member(source, archive, "values") as member:
            n_values = _read_header(source, member, "values", np.int32)
            if n_values != offsets[-1] or offsets[0]:
                raise SourceFormatError(f"{source.name}: `offsets` end at {offsets[-1]}, `values` at {n_values}")
            first = 0
            while first < offsets.size - 1:
                stop = min(first + batch_rows, offsets.size - 1)
                fitting = int(np.searchsorted(offsets, offsets[first] + _MOST_IDS, side="right")) - 1
                stop = min(stop, max(fitting, first + 1))
                n_bytes = 4 * int(offsets[stop] - offsets[first])
                data = member.read(n_bytes)
                if len(data) != n_bytes:
                    raise SourceFormatError(f"{source.name}: `values` is cut")
                part = None if valid is None else valid[first:stop]
                rows = Ragged(np.frombuffer(data, np.int32), offsets[first : stop + 1] - offsets[first], valid=part)
                yield IdBatch(rows, first, source.size * stop // (offsets.size - 1))
                first = stop


def _open_member(source: Source, archive: zipfile.ZipFile, name: str) -> Any:
    if f"{name}.npy" not in archive.namelist():
        there = ", ".join(sorted(Path(one).stem for one in archive.namelist())) or "nothing"
        raise SourceFormatError(f"{source.name}: has no array {name!r}, which rows of ids need; it has {there}")
    return archive.open(f"{name}.npy")


def _member(source: Source, archive: zipfile.ZipFile, name: str, dtype: Any) -> NDArray[Any]:
    with _open_member(source, archive, name) as member:
        size = _read_header(source, member, name, dtype)
        data = member.read()
        if len(data) != size * np.dtype(dtype).itemsize:
            raise SourceFormatError(f"{source.name}: `{name}` is cut")
        return np.frombuffer(data, dtype)


def _read_header(source: Source, member: Any, name: str, dtype: Any) -> int:
    """The length of a one-dimensional array."""
    try:
        version = npy.read_magic(member)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, found = read(member)
    except ValueError as error:
        raise SourceFormatError(f"{source.name}: `{name}` is no array ({error})") from error
    if len(shape) != 1 or found != np.dtype(dtype):
        raise SourceFormatError(
            f"{source.name}: `{name}` is {found}{list(shape)}, expected one dimension of {np.dtype(dtype)}"
        )
    return int(shape[0])
