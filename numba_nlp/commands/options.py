"""Arguments and options that several commands have, and how they are checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from numba_nlp._command_line import parse_values, source_of

if TYPE_CHECKING:
    from numba_nlp.tokenizer import Tokenizer

__all__ = [
    "AddSpecialTokens",
    "AsJson",
    "BatchRows",
    "Column",
    "Errors",
    "Files",
    "From",
    "Keep",
    "KeepAll",
    "Nulls",
    "Option",
    "Overwrite",
    "Progress",
    "ShardRows",
    "Special",
    "Threads",
    "Vocabulary",
    "load_vocabulary",
    "one_of",
]


def one_of(*allowed: str) -> Callable[[str | None], str | None]:
    """A check of an option's value."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in allowed:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(allowed)}")
        return value

    return check


def load_vocabulary(vocabulary: str, option: list[str] | None) -> Tokenizer:
    """The tokenizer that ``--vocabulary`` and ``--option`` name.

    Raises
    ------
    typer.BadParameter
        An option is no NAME=VALUE, or a compiled vocabulary is given one.
    NumbaNlpError, OSError
        As :func:`numba_nlp.load_tokenizer`.
    """
    from numba_nlp.loading import load_tokenizer

    options = parse_values(option or [], "--option")
    if options and vocabulary.endswith(".safetensors"):
        raise typer.BadParameter("a compiled vocabulary takes none", param_hint="--option")
    return load_tokenizer(source_of(vocabulary), **options)


Files: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Files of texts: *.jsonl, *.csv, *.tsv, *.parquet, *.arrow, and text, a row a line, of other names; "
        "those that are lines also as *.gz, *.bz2, *.lz4, *.zst; patterns such as 'data/**/*.txt'; - is the standard "
        "input.",
    ),
]
Vocabulary: TypeAlias = Annotated[
    str,
    typer.Option(
        "--vocabulary",
        "-v",
        help="A compiled vocabulary (.safetensors), a source of one, several files of one with commas between, the "
        "folder of a checkpoint, or its name on the hub.",
    ),
]
Option: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Option for reading a source, as of vocab-tools compile; may be repeated."),
]
Column: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Where texts stand in files that have columns, with dots into nested ones (default: text)."),
]
Keep: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="A column of the files that the output has too, as it is; of Parquet, Arrow, JSON lines, CSV and TSV, to "
        "Parquet, Arrow and JSON lines. May be repeated.",
    ),
]
KeepAll: TypeAlias = Annotated[
    bool, typer.Option("--keep-all", help="Keep all columns of the files but that of the texts.")
]
From: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from", help="Format of the files: text, jsonl, csv, tsv, parquet or arrow; by default of its name."
    ),
]
AddSpecialTokens: TypeAlias = Annotated[
    bool, typer.Option("--add-special-tokens", help="Put each row into the vocabulary's template, as models want it.")
]
Special: TypeAlias = Annotated[
    str,
    typer.Option(
        callback=one_of("plain", "match", "raise"),
        help="Special tokens in the text: plain text, their ids (match), or an error (raise). They are counted.",
    ),
]
Errors: TypeAlias = Annotated[
    str,
    typer.Option(
        callback=one_of("replace", "strict"),
        help="Rows that are no valid text: put U+FFFD there (replace), or an error (strict). Lines that cannot be "
        "read at all are missing rows, or an error. What is there is counted.",
    ),
]
Nulls: TypeAlias = Annotated[
    str,
    typer.Option(
        callback=one_of("null", "empty", "error"),
        help="Missing rows stay missing (null), are taken as empty text, or are an error.",
    ),
]
Threads: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Threads (default: all processors); the result does not depend on it.")
]
BatchRows: TypeAlias = Annotated[int, typer.Option(min=1, help="Most rows in memory at a time.")]
ShardRows: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, help="Most rows of a file in an output folder (default: a file of output for each one read)."),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Make files of an output folder anew that are finished.")
]
Progress: TypeAlias = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="Show a bar on stderr (default: on a terminal).")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Write what was done as JSON.")]
