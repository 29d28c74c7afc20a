"""The sub-command ``vocab-tools verify``; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from vocab_tools.command_line import errors_in_one_line, parse_values

__all__ = ["verify_command"]


def verify_command(
    sources: Annotated[
        list[str], typer.Argument(metavar="SOURCE...", help="As of compile, or a compiled vocabulary (.safetensors).")
    ],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="A text file, on whose lines the installed library of the format must give the same ids; - is the "
            "standard input; may be repeated."
        ),
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="How many of the rows that differ to show.")] = 10,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option for reading the source, as of compile; may be repeated."),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; the result does not depend on it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the result as JSON.")] = False,
) -> None:
    """Check digests, samples, and agreement with the library of the format; exit code 1 when a check fails."""
    options = parse_values(option or [], "--option")
    with errors_in_one_line():
        from vocab_tools.verifying.api import verify

        source: Any = sources[0] if len(sources) == 1 else sources
        found = verify(source, corpus=corpus or None, show=show, num_threads=threads, **options)
    if as_json:
        typer.echo(json.dumps({"passed": found.passed, **asdict(found)}, ensure_ascii=False))
    else:
        for check in found.checks:
            typer.echo(f"{'passed' if check.passed else 'FAILED'}: {check.name}: {check.detail}")
        if not found.checks:
            typer.echo("passed: the source can be read; it carries nothing to check, and no --corpus is given")
        for row in found.shown:
            typer.echo(f"row {row.row}: {row.text}")
            typer.echo(f"  ours:    {' '.join(map(str, row.ours))}")
            typer.echo(f"  library: {' '.join(map(str, row.library))}")
    if not found.passed:
        raise typer.Exit(1)
