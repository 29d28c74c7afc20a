"""The sub-command ``vocab-tools convert``; needs typer and rich (extra ``cli``)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from vocab_tools.command_line import errors_in_one_line, is_stdout, parse_values, show_options, written_to

__all__ = ["convert_command"]

_MARKS = {"yes": "yes", "some": "some", "no": "-"}


def convert_command(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="SOURCE...", help="As of compile, or a compiled vocabulary (.safetensors)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write, or the folder for several files; - is stdout."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="sentencepiece, tokenizer.json, merges.txt, tiktoken, vocab.txt, subword-nmt, fastbpe, marian, "
            "compiled, or source: what a compiled vocabulary was made of. Default: what the name of the output tells."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="What may be lost: template, padding, truncation or spans; may be repeated."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option for reading the source, as of compile; may be repeated."),
    ] = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Show what converts to what, and what would be lost.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the result, or the table, as JSON.")] = False,
) -> None:
    """Write a vocabulary in another format, if nothing of it is lost."""
    if matrix:
        if sources or output is not None or to is not None:
            raise typer.BadParameter("it takes no source, --output or --to", param_hint="--matrix")
        _show_matrix(as_json)
        return
    if not sources or output is None:
        raise typer.BadParameter("a SOURCE and --output are needed (or --matrix)", param_hint="SOURCE")
    if any(output.exists() and source.exists() and output.samefile(source) for source in sources):
        raise typer.BadParameter(f"{output} is one of the sources and would be overwritten", param_hint="--output")
    options = parse_values(option or [], "--option")
    with errors_in_one_line():
        from vocab_tools.converting.api import convert

        source = str(sources[0]) if len(sources) == 1 else sources
        try:
            if is_stdout(output) and to is None:
                raise typer.BadParameter("stdout has no name that tells the format; say which", param_hint="--to")
            with written_to(output) as place:
                made = convert(source, place, to=to, ignore=ignore or (), **options)
        except TypeError as error:
            if "is no option of" not in str(error):
                raise
            raise typer.BadParameter(str(error), param_hint="--option") from error
        beside = is_stdout(output)
        paths = ["-"] if beside else [str(path) for path in made.paths]
        if as_json:
            content = {
                "source": made.source, "target": made.target, "paths": paths,
                "options": made.options, "notes": list(made.notes),
            }  # fmt: skip
            typer.echo(json.dumps(content, ensure_ascii=False, default=str), err=beside)
            return
        typer.echo(f"{made.source} -> {made.target}: {', '.join(paths)}", err=beside)
        show_options(made.options, err=beside)
        for note in made.notes:
            typer.echo(f"note: {note}", err=beside)


def _show_matrix(as_json: bool) -> None:
    from vocab_tools.converting.formats import FORMATS
    from vocab_tools.converting.table import conversion_matrix

    cells = conversion_matrix()
    if as_json:
        listed = [
            {
                "source": cell.source,
                "target": cell.target,
                "works": cell.works,
                "which": cell.which,
                "loses": cell.loses,
            }
            for cell in cells.values()
        ]
        typer.echo(json.dumps(listed, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console() if sys.stdout.isatty() else Console(width=160)
    table = Table(title="from (rows) to (columns)")
    table.add_column("")
    for name in FORMATS:
        table.add_column(name, justify="center")
    for source in FORMATS:
        table.add_row(source, *(_MARKS[cells[source, target].works] for target in FORMATS))
    console.print(table)
    for cell in cells.values():
        if cell.works == "some" and cell.source != "compiled":
            typer.echo(f"{cell.source} -> {cell.target}: {cell.which}; lost otherwise: {cell.loses}")
    for source in FORMATS:
        lost: dict[str, list[str]] = {}
        for target in FORMATS:
            if cells[source, target].works == "no":
                lost.setdefault(cells[source, target].loses, []).append(target)
        for words, targets in lost.items():
            typer.echo(f"{source} -> {', '.join(targets)}: - lost: {words}")
    typer.echo(
        "compiled -> another format: what the vocabulary was compiled of (--to source), and what that converts to"
    )
