"""What the sub-commands of ``vocab-tools`` share; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from numba_nlp._command_line import (
    Command,
    console,
    errors_in_one_line,
    in_flags,
    is_stdout,
    parse_values,
    source_of,
)

__all__ = [
    "Command",
    "console",
    "errors_in_one_line",
    "in_flags",
    "is_stdout",
    "parse_values",
    "refuse_overwriting",
    "show_options",
    "source_of",
    "written_to",
]


def refuse_overwriting(output: Path, sources: list[str] | list[Path], option: str = "--output") -> None:
    """Refuse to write over what is read, and a file called ``-``, which elsewhere is a stream.

    Raises
    ------
    typer.BadParameter
    """
    if is_stdout(output):
        raise typer.BadParameter("it goes into a file, not to stdout; name one", param_hint=option)
    if output.exists() and any(Path(source).exists() and output.samefile(source) for source in sources):
        raise typer.BadParameter(f"{output} is one of the sources and would be overwritten", param_hint=option)


@contextmanager
def written_to(output: Path) -> Iterator[Path]:
    """The path to write to; for ``-`` one whose content then goes to the standard output.

    Raises
    ------
    typer.BadParameter
        Several files were written, which a stream cannot hold.
    """
    if not is_stdout(output):
        yield output
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "output"
        yield place
        if place.is_dir():
            raise typer.BadParameter("this format is several files, which stdout cannot hold", param_hint="--output")
        sys.stdout.buffer.write(place.read_bytes())
        sys.stdout.buffer.flush()


def show_options(options: Mapping[str, Any], *, err: bool = False) -> None:
    """Say with which options a file that was written is read, as they are typed."""
    if options:
        typed = [shlex.quote(f"{name}={_typed(value)}") for name, value in options.items()]
        typer.echo(f"read it with: {' '.join(f'--option {one}' for one in typed)}", err=err)


def _typed(value: Any) -> str:
    """A value as :func:`parse_values` reads it."""
    if isinstance(value, str) and parse_values([f"value={value}"], "")["value"] == value:
        return value
    return json.dumps(value, ensure_ascii=False)
