"""The sub-commands ``vocab-tools prune`` and ``vocab-tools extend``; need typer and rich (extra ``cli``)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from numba_nlp.errors import SourceFormatError
from vocab_tools.command_line import errors_in_one_line, parse_values, refuse_overwriting, show_options

__all__ = ["extend_command", "prune_command"]

_Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="A .model, a tokenizer.json, a .tiktoken file, a vocab.txt, a vocab.json and its merges.txt, or a "
        "compiled vocabulary (.safetensors) of one of them.",
    ),
]
_Output = Annotated[
    Path,
    typer.Option(
        "--output",
        "-o",
        help="The file to write, in the format of the source; a folder for vocab.json and merges.txt; a name with "
        ".safetensors for a compiled vocabulary.",
    ),
]
_Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="Option for reading the source, as of compile; may be repeated."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Write the result as JSON.")]


def prune_command(
    sources: _Sources,
    output: _Output,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="A text file; pieces that occur in none go. - is the standard input; may be repeated."),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many ids to keep; with --corpus those that occur most, else the first merges or scores."
        ),
    ] = None,
    id_map: Annotated[
        Path | None,
        typer.Option("--map", help="Where to write the new id of every old one: .npy, .safetensors or .json."),
    ] = None,
    option: _Options = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; the result does not depend on it.")] = None,
    as_json: _Json = False,
) -> None:
    """Drop pieces that a corpus never uses, or all but a number, and say how ids change."""
    if not corpus and size is None:
        raise typer.BadParameter("--corpus or --size is needed", param_hint="--corpus")
    refuse_overwriting(output, [*sources, *(corpus or [])])
    options = parse_values(option or [], "--option")
    with errors_in_one_line():
        from vocab_tools.editing.api import prune

        source: Any = sources[0] if len(sources) == 1 else sources
        made = prune(source, output, corpus=corpus or None, size=size, id_map=id_map, num_threads=threads, **options)
        old, new = made.new_ids.size, made.kept.size
        if as_json:
            content = {"paths": list(map(str, made.paths)), "options": made.options, "ids": new, "ids_before": old}
            typer.echo(json.dumps(content, ensure_ascii=False))
            return
        typer.echo(f"{old:,} ids -> {new:,}: {', '.join(map(str, made.paths))}")
        show_options(made.options)


def extend_command(
    sources: _Sources,
    output: _Output,
    token: Annotated[list[str] | None, typer.Option(help="A token to add; may be repeated.")] = None,
    tokens: Annotated[
        str | None, typer.Option(help="A text file with a token on each line; - is the standard input.")
    ] = None,
    special: Annotated[
        bool, typer.Option("--special", help="The tokens are special ones (control pieces of a .model).")
    ] = False,
    option: _Options = None,
    as_json: _Json = False,
) -> None:
    """Add tokens, with ids behind the last one."""
    if not token and tokens is None:
        raise typer.BadParameter("--tokens or --token is needed", param_hint="--tokens")
    refuse_overwriting(output, [*sources, *([tokens] if tokens else [])])
    options = parse_values(option or [], "--option")
    with errors_in_one_line():
        from vocab_tools.editing.api import extend

        listed = list(token or [])
        if tokens is not None:
            listed += _lines(tokens)
        source: Any = sources[0] if len(sources) == 1 else sources
        made = extend(source, output, listed, special=special, **options)
        if as_json:
            content = {
                "paths": list(map(str, made.paths)),
                "options": made.options,
                "ids": made.ids,
                "notes": list(made.notes),
            }
            typer.echo(json.dumps(content, ensure_ascii=False))
            return
        typer.echo(f"{len(made.ids):,} tokens added: {', '.join(map(str, made.paths))}")
        for text, number in made.ids.items():
            typer.echo(f"{number}\t{text}")
        show_options(made.options)
        for note in made.notes:
            typer.echo(f"note: {note}")


def _lines(path: str) -> list[str]:
    """Lines that are not empty."""
    from vocab_tools.formats.reading import read_text, split_lines

    if path != "-":
        text = read_text(Path(path))[0]
    else:
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as error:
            raise SourceFormatError(f"standard input: the bytes from offset {error.start} on are not UTF-8") from error
    return [line for line in split_lines(text) if line]
