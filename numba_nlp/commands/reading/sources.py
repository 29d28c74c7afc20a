"""The files that a command is to read: names and patterns, and the format that a name tells."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

import typer

from numba_nlp.errors import SourceFormatError

__all__ = ["ID_FORMATS", "TEXT_FORMATS", "Source", "find_sources"]

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
#: Endings of packed files.
_PACKINGS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
#: Formats that are packed inside, and read from several places.
_NOT_STREAMS = ("parquet", "arrow", "npz", "packed")
#: Endings that never are text, with the way out.
_OTHERS = {
    ".json": "pass --from jsonl if each of its lines is a JSON object",
    ".bz2": "unpack it, or pack it with gzip or zstd",
    ".xz": "unpack it, or pack it with gzip or zstd",
    ".lz4": "unpack it, or pack it with gzip or zstd",
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
    packing : {"gzip", "zstd"} or None
    """

    path: str
    kind: str
    packing: str | None = None

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
        """What messages call it."""
        return "standard input" if self.is_stdin else self.path

    @property
    def stem(self) -> str:
        """Its name without folder and endings, for files that are made of it."""
        if self.is_stdin:
            return "stdin"
        name = PurePath(self.path)
        if self.packing is not None and name.suffix.lower() in _PACKINGS:
            name = name.with_suffix("")
        return name.stem

    @property
    def size(self) -> int:
        """Bytes of the file; 0 for what is none."""
        return os.stat(self.path).st_size if self.is_file else 0


def find_sources(
    given: Iterable[str], kind: str | None = None, formats: Mapping[str, tuple[str, ...]] = TEXT_FORMATS
) -> list[Source]:
    """Files of names and patterns, in order; those of a pattern sorted.

    Parameters
    ----------
    given : iterable of str
        Names; ``-``; or patterns with ``*``, ``?``, ``[...]`` and ``**``, for shells that leave them as they are.
    kind : str, optional
        The format of all of them; by default what each name tells.
    formats : mapping
        Formats that the command reads.

    Raises
    ------
    SourceFormatError
        A name tells a format that is not read.
    FileNotFoundError, IsADirectoryError
        There is no such file, none for a pattern, or it is a folder.
    typer.BadParameter
        ``kind`` is no format; the standard input is named twice.
    """
    if kind is not None and kind not in formats:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(formats)}", param_hint="--from")
    sources: list[Source] = []
    for one in given:
        if one == "-" and any(source.is_stdin for source in sources):
            raise typer.BadParameter("- (the standard input) is given twice", param_hint="FILE...")
        sources += [_source(path, kind, formats) for path in _paths(one)]
    return sources


def _paths(given: str) -> list[str]:
    if given == "-":
        return [given]
    path = Path(given)
    if path.is_dir():
        raise IsADirectoryError(f"{given}: is a folder; name its files, or a pattern such as '{path / '*.parquet'}'")
    if path.exists():
        return [given]
    if not glob.has_magic(given):
        raise FileNotFoundError(f"{given}: there is no such file")
    found = sorted(name for name in glob.glob(given, recursive=True) if os.path.isfile(name))
    if not found:
        raise FileNotFoundError(f"{given}: no file matches this pattern")
    return found


def _source(path: str, kind: str | None, formats: Mapping[str, tuple[str, ...]]) -> Source:
    name = PurePath(path)
    packing = _PACKINGS.get(name.suffix.lower())
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
