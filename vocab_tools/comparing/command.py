"""The sub-command ``vocab-tools compare``; needs typer and rich (extra ``cli``)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vocab_tools.command_line import console, errors_in_one_line, parse_values, source_of

if TYPE_CHECKING:
    from vocab_tools.comparing.api import Comparison, TokenizerCounts

__all__ = ["compare_command"]


def compare_command(
    first: Annotated[
        str,
        typer.Argument(
            metavar="FIRST",
            help="As of compile, or a compiled vocabulary; several files of one vocabulary with commas between.",
        ),
    ],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="The same.")],
    corpus: Annotated[
        list[str], typer.Option(help="A text file, each line a row; - is the standard input; may be repeated.")
    ],
    show: Annotated[int, typer.Option(min=0, help="How many of the rows that are cut differently to show.")] = 10,
    first_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option for reading FIRST, as of compile; may be repeated."),
    ] = None,
    second_option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Option for reading SECOND, as of compile; may be repeated."),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; the result does not depend on it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write the result as JSON.")] = False,
) -> None:
    """Compare what two vocabularies make of a corpus: fertility, coverage, common pieces, rows that differ."""
    options = [
        parse_values(given or [], name)
        for given, name in ((first_option, "--first-option"), (second_option, "--second-option"))
    ]
    with errors_in_one_line():
        from vocab_tools.comparing.api import compare

        found = compare(
            source_of(first),
            source_of(second),
            corpus,
            show=show,
            first_options=options[0],
            second_options=options[1],
            num_threads=threads,
        )
        if as_json:
            typer.echo(json.dumps(_as_json(found), ensure_ascii=False))
        else:
            _print(found)


_RATES = ("tokens_per_word", "tokens_per_byte", "unknown_rate", "coverage", "used_share")


def _as_json(found: Comparison) -> dict[str, Any]:
    """All counts and what is computed of them; NaN, which is not JSON, as null."""

    def side(counts: TokenizerCounts) -> dict[str, Any]:
        listed = asdict(counts)
        del listed["corpus"]
        rates = {name: getattr(counts, name) for name in _RATES}
        return {**listed, **{name: None if rate != rate else rate for name, rate in rates.items()}}  # noqa: PLR0124

    return {
        "corpus": asdict(found.corpus),
        "first": side(found.first),
        "second": side(found.second),
        "common_pieces": found.common_pieces,
        "common_of_first": found.common_of_first,
        "common_of_second": found.common_of_second,
        "differing_rows": found.differing_rows,
        "shown": [asdict(row) for row in found.shown],
    }


def _percent(share: float, digits: int) -> str:
    """A share; a dash where there is nothing of which it could be one."""
    return "-" if share != share else f"{share:.{digits}%}"  # noqa: PLR0124


def _print(found: Comparison) -> None:
    from rich.table import Table
    from rich.text import Text

    corpus, sides = found.corpus, (found.first, found.second)
    table = Table(
        title=f"{corpus.rows:,} rows, {corpus.words:,} words, {corpus.characters:,} characters, {corpus.bytes:,} bytes",
        title_justify="left",
    )
    table.add_column("")
    for side in sides:
        table.add_column(Text(side.name), justify="right")
    shares = (found.common_of_first, found.common_of_second)
    for label, values in {
        "algorithm": [side.algorithm for side in sides],
        "ids": [f"{side.vocab_size:,}" for side in sides],
        "tokens": [f"{side.tokens:,}" for side in sides],
        "tokens per word": [f"{side.tokens_per_word:.4f}" for side in sides],
        "tokens per byte": [f"{side.tokens_per_byte:.4f}" for side in sides],
        "unknown tokens": [f"{side.unknown_tokens:,} ({_percent(side.unknown_rate, 4)})" for side in sides],
        "coverage of characters": [_percent(side.coverage, 4) for side in sides],
        "ids that occur": [f"{side.used:,} ({_percent(side.used_share, 2)})" for side in sides],
        "pieces in common": [f"{found.common_pieces:,} ({_percent(share, 2)})" for share in shares],
    }.items():
        table.add_row(label, *values)
    output = console()
    output.print(table)
    typer.echo(f"rows cut differently: {found.differing_rows:,} of {corpus.rows:,}")
    for row in found.shown:
        typer.echo(f"row {row.row}: {row.text}")
        typer.echo(f"  {found.first.name}: {' '.join(row.first)}")
        typer.echo(f"  {found.second.name}: {' '.join(row.second)}")
