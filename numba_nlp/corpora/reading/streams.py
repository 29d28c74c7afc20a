"""Bytes of files: opened, unpacked where they are packed, named in errors, and in blocks that end with a line."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

from numba_nlp._extras import extra
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.errors import NumbaNlpError, SourceFormatError

__all__ = ["Block", "line_blocks", "named_errors", "opened", "whole_lines"]

_BUFFER = 1 << 20
#: Bytes that are read at a time where one line has to be ended.
_STEP = 1 << 16
#: How files begin that are no lines of text.
_BEGINNINGS = {
    b"\x1f\x8b": "is packed with gzip; call it *.gz",
    b"\x28\xb5\x2f\xfd": "is packed with zstd; call it *.zst",
    b"BZh": "is packed with bzip2; call it *.bz2",
    b"\x04\x22\x4d\x18": "is packed with lz4; call it *.lz4",
    b"\xfd7zXZ": "is packed with xz; unpack it",
    b"PK\x03\x04": "is a zip archive; unpack it",
    b"PAR1": "is a Parquet file; pass --from parquet",
    b"ARROW1": "is an Arrow file; pass --from arrow",
}


@contextmanager
def named_errors(source: Source) -> Iterator[None]:
    """Say of which file it was that it cannot be read.

    Raises
    ------
    SourceFormatError
        In place of what the system, gzip, zstd, zipfile and pyarrow raise.
    """
    try:
        yield
    except NumbaNlpError:
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SourceFormatError(f"{source.name}: cannot be unpacked as {source.packing or 'zip'} ({error})") from error
    except (zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError, RuntimeError, struct.error) as error:
        # what zipfile and pyarrow say of names, versions and lengths in damaged files
        raise SourceFormatError(f"{source.name}: cannot be read as {source.kind} ({error})") from error
    except OSError as error:
        # pyarrow has no class of its own for bytes that are no zstd or Parquet
        what = f"cannot be unpacked as {source.packing}" if source.packing and not error.errno else "cannot be read"
        reason = error.strerror or error
        raise SourceFormatError(f"{source.name}: {what} ({reason})") from error
    except Exception as error:
        # what pyarrow says of damaged files, and of what it does not know, is of several kinds of its own
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise SourceFormatError(f"{source.name}: cannot be read as {source.kind} ({error})") from error


@contextmanager
def opened(source: Source) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """The bytes of a file of lines, and a function that says how many bytes of the file were read so far.

    Raises
    ------
    SourceFormatError
        In the block: it cannot be read or unpacked, or is no file of lines.
    ModuleNotFoundError
        pyarrow, which unpacks zstd and lz4, is not installed.
    """
    with named_errors(source):
        if source.is_stdin:
            if sys.stdin is None:
                raise SourceFormatError("standard input: is closed")
            # what stands for it in tests and notebooks may not look ahead
            if hasattr(sys.stdin.buffer, "peek"):
                _refuse_others(source, sys.stdin.buffer.peek(8))
            yield sys.stdin.buffer, lambda: 0
            return
        if source.packing is not None and source.is_file and not source.size:
            raise SourceFormatError(f"{source.name}: is empty, and no file that {source.packing} packed")
        if source.packing is None:
            with open(source.path, "rb", buffering=_BUFFER) as stream:
                _refuse_others(source, cast(io.BufferedReader, stream).peek(8))
                yield stream, _position(stream)
        elif source.packing in ("gzip", "bz2"):
            unpack = gzip.open if source.packing == "gzip" else bz2.open
            with open(source.path, "rb") as raw, unpack(raw) as packed:
                buffered = io.BufferedReader(cast(Any, packed), _BUFFER)
                _refuse_others(source, buffered.peek(8))
                yield buffered, _position(raw)
        else:
            pa = extra("pyarrow")
            with pa.OSFile(source.path) as raw, pa.CompressedInputStream(raw, source.packing) as packed:
                buffered = io.BufferedReader(packed, _BUFFER)
                _refuse_others(source, buffered.peek(8))
                yield buffered, _position(raw)


def _position(raw: Any) -> Callable[[], int]:
    """Where reading is; pipes do not tell."""
    return raw.tell if raw.seekable() else lambda: 0


def _refuse_others(source: Source, head: bytes) -> None:
    for beginning, what in _BEGINNINGS.items():
        if head.startswith(beginning):
            raise SourceFormatError(f"{source.name}: {what}")


class Block(NamedTuple):
    """Whole lines of a file, the number of the first of them from 1, and the bytes of the file that were read."""

    data: bytes
    line: int
    position: int


def line_blocks(source: Source, n_lines: int, n_bytes: int) -> Iterator[Block]:
    """The lines of a file, or those that start in its part: wherever files are cut, each line is in one part.

    Parameters
    ----------
    source : Source
    n_lines, n_bytes : int
        A block has about so many bytes, or one long line. A stream, which may have no more for long, is read a line at
        a time, and a block has so many lines at most.

    Raises
    ------
    SourceFormatError, ModuleNotFoundError
        As :func:`opened`.
    """
    with opened(source) as (stream, position):
        if not source.is_file:
            blocks = _as_they_come(stream, n_lines, n_bytes)
        elif source.part is None:
            blocks = whole_lines(stream, None, n_bytes)
        else:
            start = _first_line_from(stream, source.part[0])
            stream.seek(start)
            blocks = whole_lines(stream, max(source.part[1] - start, 0), n_bytes)
        line = 1
        for data in blocks:
            yield Block(data, line, position())
            line += data.count(b"\n")


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
        asked = block_bytes if left is None else min(block_bytes, left)
        block = stream.read(asked)
        if left is not None:
            left -= len(block)
        if len(block) < asked or left == 0:
            # the last line stays with those before, whether the file ends it or not
            parts.append(block)
            break
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, block[:cut]])
            parts = []
        parts.append(block[cut:])
    if left == 0 and parts and not parts[-1].endswith(b"\n"):
        while block := stream.read(_STEP):
            cut = block.find(b"\n") + 1
            parts.append(block[:cut] if cut else block)
            if cut:
                break
    if data := b"".join(parts):
        yield data


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


def _as_they_come(stream: BinaryIO, n_lines: int, n_bytes: int) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    for line in stream:
        lines.append(line)
        size += len(line)
        if len(lines) >= n_lines or size >= n_bytes:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)
