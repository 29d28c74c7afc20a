"""Bytes of files: opened, unpacked where they are packed, and named in errors."""

from __future__ import annotations

import gzip
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from numba_nlp._extras import extra
from numba_nlp.commands.reading.sources import Source
from numba_nlp.errors import NumbaNlpError, SourceFormatError

__all__ = ["named_errors", "opened"]

_BUFFER = 1 << 20
#: How files begin that are no lines of text.
_BEGINNINGS = {
    b"\x1f\x8b": "is packed with gzip; call it *.gz",
    b"\x28\xb5\x2f\xfd": "is packed with zstd; call it *.zst",
    b"BZh": "is packed with bzip2; unpack it",
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
        pyarrow, which unpacks zstd, is not installed.
    """
    with named_errors(source):
        if source.is_stdin:
            yield sys.stdin.buffer, lambda: 0
            return
        if source.packing is None:
            with open(source.path, "rb", buffering=_BUFFER) as stream:
                _refuse_others(source, cast(io.BufferedReader, stream).peek(8))
                yield stream, _position(stream)
        elif source.packing == "gzip":
            with open(source.path, "rb") as raw, gzip.open(raw) as packed:
                buffered = io.BufferedReader(cast(Any, packed), _BUFFER)
                _refuse_others(source, buffered.peek(8))
                yield buffered, _position(raw)
        else:
            pa = extra("pyarrow")
            with pa.OSFile(source.path) as raw, pa.CompressedInputStream(raw, "zstd") as packed:
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
