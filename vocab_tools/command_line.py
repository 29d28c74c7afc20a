"""What the sub-commands of ``vocab-tools`` share; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from numba_nlp.errors import NumbaNlpError

__all__ = ["errors_in_one_line", "parse_values"]


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Turn what a user can mend into one line on stderr and exit code 1; bugs keep their traceback."""
    try:
        yield
    except (NumbaNlpError, OSError) as error:
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
