"""Files to read, and the format that a name tells."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

from numba_nlp.errors import SourceFormatError

__all__ = ["ID_FORMATS", "PACKINGS", "TEXT_FORMATS", "Source", "source_of"]

#: Formats of texts and the endings that tell them; files with other names are text.
TEXT_FORMATS: dict[str, tuple[str, ...]] = {
    "text": (".txt", ".text"),
    "jsonl": (".jsonl", ".ndjson"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
}
#: The same of ids.
ID_FORMATS: dict[str, tuple[str, ...]] = {
    "text": (".txt", ".text"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "npz": (".npz",),
    "packed": (".bin",),
}
#: Endings of packed files. Arrow knows them by these names.
PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".lz4": "lz4", ".zst": "zstd", ".zstd": "zstd"}
#: Formats that are packed inside, and read from several places.
_NOT_STREAMS = ("parquet", "arrow", "npz", "packed")
#: Endings that never are text, with the way out.
_OTHERS = {
    ".json": "pass --from jsonl if each of its lines is a JSON object",
    ".xz": "unpack it, or pack it with gzip or zstd",
    ".zip": "unpack it",
    ".tar": "unpack it",
    ".tgz": "unpack it",
    ".xlsx": "save it as CSV",
    ".orc": "write it as Parquet",
    ".avro": "write it as Parquet",
    ".npy": "write an .npz with `values` and `offsets`",
    ".safetensors": "a vocabulary goes behind --vocabulary",
}
_OF_IDS_ONLY = {".npz": "decode reads it", ".bin": "decode reads it"}


class Source(NamedTuple):
    """A file to read.

    Attributes
    ----------
    path : str
        ``-`` is the standard input.
    kind : str
        Its format; "arguments" are texts of the command line, whose path is no path.
    packing : {"gzip", "bz2", "lz4", "zstd"} or None
    part : pair of int, optional
        Half-open; bytes in which lines start (text, JSON lines), or row groups (Parquet). None: all of it.
    """

    path: str
    kind: str
    packing: str | None = None
    part: tuple[int, int] | None = None

    @property
    def is_stdin(self) -> bool:
        """Whether it is the standard input."""
        return self.path == "-"

    @property
    def is_file(self) -> bool:
        """Whether it is a file, that has a size and stays as it is; a pipe is none."""
        return not self.is_stdin and self.kind != "arguments" and os.path.isfile(self.path)

    @property
    def name(self) -> str:
        """What messages call it, with where its part begins; rows and lines count from there."""
        if self.part is not None and self.part[0]:
            return f"{self.path}, from {'row group' if self.kind == 'parquet' else 'byte'} {self.part[0]} on"
        return "standard input" if self.is_stdin else self.path

    @property
    def has_beginning(self) -> bool:
        """Whether its part, if it has one, is the first."""
        return self.part is None or self.part[0] == 0

    @property
    def stem(self) -> str:
        """Its name without folder and endings, for files that are made of it."""
        if self.is_stdin:
            return "stdin"
        name = PurePath(self.path)
        if self.packing is not None and name.suffix.lower() in PACKINGS:
            name = name.with_suffix("")
        return name.stem

    @property
    def size(self) -> int:
        """Bytes of the file; 0 for what is none."""
        return os.stat(self.path).st_size if self.is_file else 0


def source_of(path: str, kind: str | None = None, formats: Mapping[str, tuple[str, ...]] = TEXT_FORMATS) -> Source:
    """A file by its name.

    Parameters
    ----------
    path : str
        ``-`` is the standard input.
    kind : str, optional
        Its format; by default what the name tells.
    formats : mapping
        Formats that are read, and their endings.

    Raises
    ------
    SourceFormatError
        The name tells a format that is not read, or not so.
    """
    name = PurePath(path)
    packing = PACKINGS.get(name.suffix.lower())
    ending = (name.with_suffix("") if packing else name).suffix.lower()
    if kind is None:
        kind = "text"
        for format_name, endings in formats.items():
            if ending in endings:
                kind = format_name
        if kind == "text" and ending in (others := _OTHERS if "npz" in formats else {**_OTHERS, **_OF_IDS_ONLY}):
            raise SourceFormatError(f"{path}: {ending} files are not read as they are; {others[ending]}")
        if kind == "text" and "npz" in formats and ending in (".csv", ".tsv"):
            raise SourceFormatError(
                f"{path}: ids are not read from {ending} files; write them as Parquet or JSON lines"
            )
    if packing is not None and kind in _NOT_STREAMS:
        raise SourceFormatError(f"{path}: {kind} files are not read packed with {packing}; unpack it")
    if path == "-" and kind in ("parquet", "npz", "packed"):
        raise SourceFormatError(f"{kind} is read from a file, not from the standard input; save it and name the file")
    return Source(path, kind, packing)
