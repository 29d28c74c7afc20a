"""What the names of a command line mean: the files to read, and the file or folder to write."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import typer

from numba_nlp.corpora.reading.kept import Keep
from numba_nlp.corpora.reading.sources import TEXT_FORMATS, Source, source_of
from numba_nlp.corpora.reading.texts import TextReader
from numba_nlp.corpora.writing.files import ENDINGS

__all__ = ["Target", "check_columns", "find_sources", "find_target", "take_keep"]

#: Formats that the standard output can be.
_STREAMED = ("text", "jsonl", "arrow")


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
        sources += [source_of(path, kind, formats) for path in _paths(one)]
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


def check_columns(reader: TextReader, sources: Sequence[Source], *, in_turn: bool) -> None:
    """See that files have the columns, as far as their formats say it, before anything is read.

    Parameters
    ----------
    reader : TextReader
    sources : sequence of Source
    in_turn : bool
        Each file has an output of its own: one that is damaged is left to its turn.

    Raises
    ------
    SourceFormatError, ModuleNotFoundError
        As :meth:`~numba_nlp.corpora.reading.texts.TextReader.check`.
    typer.BadParameter
        There is a column where no file has any.
    """
    if reader.column is not None and sources and all(source.kind == "text" for source in sources):
        raise typer.BadParameter(
            "text files have no columns; pass --from if these are of another format", param_hint="--column"
        )
    reader.check(sources, in_turn=in_turn)


class Target(NamedTuple):
    """Where rows go.

    Attributes
    ----------
    path : Path
    kind : str
        The format.
    is_folder : bool
        Each source gets files of its own there.
    """

    path: Path
    kind: str
    is_folder: bool

    @property
    def is_stdout(self) -> bool:
        """Whether it is the standard output."""
        return not self.is_folder and str(self.path) == "-"


def find_target(given: str, kind: str | None, formats: Sequence[str], *, on_stdout: str = "text") -> Target:
    """What an output is: a file by the ending of its name, else a folder.

    Parameters
    ----------
    given : str
        ``-`` is the standard output. Folders are: one that is there, a name that ends in ``/``, and a name without an
        ending of which there is nothing yet.
    kind : str, optional
        The format; needed where the name does not tell it. In folders the first one that the command has.
    formats : sequence of str
        What the command writes.
    on_stdout : str
        The format of the standard output unless ``kind`` says it.

    Raises
    ------
    typer.BadParameter
        The name tells no format, or one that the command does not write.
    """
    if kind is not None and kind not in formats:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(formats)}", param_hint="--to")
    if given == "-":
        streamed = [one for one in _STREAMED if one in formats]
        if kind is not None and kind not in streamed:
            raise typer.BadParameter(
                f"{kind} is not written to stdout; name a file, or take {', '.join(streamed)}", param_hint="--to"
            )
        return Target(Path(given), kind or on_stdout, False)
    path = Path(given)
    if path.is_dir() or given.endswith(("/", "\\")) or not (path.suffix or path.exists()):
        return Target(path, kind or formats[0], True)
    if kind is None:
        kind = next((name for name, endings in ENDINGS.items() if path.suffix.lower() in endings), None)
        if kind is None or kind not in formats:
            wanted = ", ".join(f"*{ENDINGS[name][0]}" for name in formats)
            raise typer.BadParameter(
                f"{given}: its name tells no format that this command writes; name it {wanted}, or a folder "
                "with / at its end, or pass --to",
                param_hint="--output",
            )
    return Target(path, kind, False)


def take_keep(
    names: Sequence[str],
    is_all: bool,
    target: Target,
    sources: Iterable[Source],
    *,
    texts: Iterable[str],
    taken: Iterable[str],
) -> Keep:
    """Which columns ``--keep`` and ``--keep-all`` carry from the files to the output.

    Parameters
    ----------
    names : sequence of str
    is_all : bool
    target : Target
    sources : iterable of Source
    texts : iterable of str
        Columns that are worked on, which "all" leaves out.
    taken : iterable of str
        Names that the results have.

    Raises
    ------
    typer.BadParameter
        The output has no room for columns, a source has none, or a name is one of the results'.
    """
    keep = Keep(tuple(dict.fromkeys(names)), is_all, tuple(texts), tuple(taken))
    flag = "--keep" if names else "--keep-all"
    if not keep:
        return keep
    if target.kind not in ("parquet", "arrow", "jsonl"):
        raise typer.BadParameter(
            f"{target.kind} has no room for other columns; write Parquet, Arrow or JSON lines", param_hint=flag
        )
    for name in keep.names:
        if name in keep.taken:
            raise typer.BadParameter(
                f"the results have a column {name!r} of their own; rename that of the files", param_hint=flag
            )
    for source in sources:
        if source.kind in ("text", "arguments"):
            what = "texts of the command line have" if source.kind == "arguments" else f"{source.name}: text has"
            raise typer.BadParameter(f"{what} no columns", param_hint=flag)
        if source.is_stdin and source.kind == "jsonl" and target.kind != "jsonl":
            raise typer.BadParameter(
                f"columns of {target.kind} have types, for which all JSON lines are looked at first; save the standard "
                "input and name the file, or write JSON lines",
                param_hint=flag,
            )
    return keep
