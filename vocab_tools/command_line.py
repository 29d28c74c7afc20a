"""What the sub-commands of ``vocab-tools`` share; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from numba_nlp._extras import EXTRAS
from numba_nlp.errors import NumbaNlpError

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["console", "errors_in_one_line", "parse_values", "refuse_overwriting", "source_of"]


def console() -> Console:
    """Where tables are printed; piped output keeps long lines."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=160)


def source_of(given: str) -> str | list[str]:
    """A vocabulary on the command line: a path, a name on the hub, or several paths with commas between."""
    parts = given.split(",")
    return parts if len(parts) > 1 and not Path(given).exists() else given


def refuse_overwriting(output: Path, sources: list[str] | list[Path], option: str = "--output") -> None:
    """Refuse to write over what is read.

    Raises
    ------
    typer.BadParameter
    """
    if output.exists() and any(Path(source).exists() and output.samefile(source) for source in sources):
        raise typer.BadParameter(f"{output} is one of the sources and would be overwritten", param_hint=option)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1; bugs keep their traceback."""
    try:
        yield
    except (NumbaNlpError, OSError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in EXTRAS:
            raise
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(1) from error


def parse_values(given: list[str], option: str) -> dict[str, Any]:
    """Values of ``NAME=VALUE``; what is JSON is taken as JSON, everything else as text.

    Parameters
    ----------
    given : list of str
    option : str
        For messages: the option that they were given with.

    Raises
    ------
    typer.BadParameter
    """
    values: dict[str, Any] = {}
    for entry in given:
        name, equals, value = entry.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"{entry!r} is not NAME=VALUE", param_hint=option)
        try:
            values[name] = json.loads(value)
        except json.JSONDecodeError:
            values[name] = value
    return values
