"""What the sub-commands of ``vocab-tools`` share; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from numba_nlp._extras import EXTRAS
from numba_nlp.errors import NumbaNlpError

if TYPE_CHECKING:
    from rich.console import Console

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


def console() -> Console:
    """Where tables are printed; piped output keeps long lines."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=160)


def source_of(given: str) -> str | list[str]:
    """A vocabulary on the command line: a path, a name on the hub, or several paths with commas between."""
    parts = given.split(",")
    return parts if len(parts) > 1 and not Path(given).exists() else given


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
def errors_in_one_line() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1; bugs keep their traceback."""
    try:
        yield
    except (NumbaNlpError, OSError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in EXTRAS:
            raise
        typer.echo(f"error: {' '.join(in_flags(_said(error)).split())}", err=True)
        raise typer.Exit(1) from error


def _said(error: Exception) -> str:
    """The message; those of the system begin with their file."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return str(error)


_QUOTE = "'"
#: The command that runs.
_running: ContextVar[TyperCommand | None] = ContextVar("_running", default=None)
_ARGUMENT = re.compile(r"(?<![\w.'\"`-])([a-z_]+)=(True|False|'[^']*'|\d+)?|`([a-z_]+)`")


class Command(TyperCommand):
    """A sub-command whose errors speak of its flags."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        token = _running.set(self)
        try:
            return super().invoke(ctx)
        finally:
            _running.reset(token)


def in_flags(message: str) -> str:
    """A message of a function with the flags of the command that runs in place of the function's arguments."""
    command = _running.get()
    parameters: list[Any] = command.params if command is not None else []
    options = {one.name: one for one in parameters if one.param_type_name == "option"}

    def flag(found: re.Match[str]) -> str:
        option = options.get(found[1] or found[3])
        if option is None:
            return found[0]
        name, value = max(option.opts, key=len), found[2] or ""
        if value == "False":
            return max(option.secondary_opts, key=len) if option.secondary_opts else f"no {name}"
        return name if value == "True" else f"{name} {value.strip(_QUOTE)}".rstrip()

    return _ARGUMENT.sub(flag, message)


def is_stdout(output: Path) -> bool:
    """Whether what is written goes to the standard output."""
    return str(output) == "-"


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
