"""What the command lines ``numba-nlp`` and ``vocab-tools`` share; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
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

__all__ = ["Command", "console", "errors_in_one_line", "in_flags", "is_stdout", "one_line", "parse_values", "source_of"]


def console() -> Console:
    """Where tables are printed; piped output keeps long lines."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=160)


def source_of(given: str) -> str | list[str]:
    """A vocabulary on the command line: a path, a name on the hub, or several paths with commas between."""
    parts = given.split(",")
    return parts if len(parts) > 1 and not Path(given).exists() else given


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1; bugs keep their traceback."""
    try:
        yield
    except BrokenPipeError:
        # who reads the output has seen enough (``| head``): no error, typer ends quietly
        raise
    except (NumbaNlpError, OSError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name not in EXTRAS:
            raise
        typer.echo(f"error: {one_line(error)}", err=True)
        raise typer.Exit(1) from error


def one_line(error: Exception) -> str:
    """The message of an error, with flags in place of arguments; those of the system begin with their file."""
    message = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        message = f"{os.fsdecode(error.filename)}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return " ".join(in_flags(message).split())


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
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        finally:
            _running.reset(token)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """One line without the place in the code, which says nothing on a command line."""
    typer.echo(f"warning: {' '.join(str(message).split())}", err=True)


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
