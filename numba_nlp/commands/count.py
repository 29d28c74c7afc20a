"""The sub-command ``numba-nlp count``; needs typer (extra ``cli``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from numba_nlp._command_line import console, errors_in_one_line, one_line
from numba_nlp._version import __version__
from numba_nlp.commands import options
from numba_nlp.errors import NumbaNlpError

if TYPE_CHECKING:
    from numba_nlp.corpora.reading.pieces import Batch, Errors, Nulls
    from numba_nlp.corpora.reading.sources import Source
    from numba_nlp.corpora.tally import Tally
    from numba_nlp.corpora.writing.results import Counted
    from numba_nlp.tokenizer import Tokenizer

__all__ = ["count_command"]

_FORMATS = ("parquet", "arrow", "npz", "jsonl", "text")


def count_command(
    files: options.Files,
    vocabulary: options.Vocabulary,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the number of tokens of each row: *.parquet, *.arrow, *.npz, *.jsonl or *.txt, a "
            "folder, or -, the standard output. Default: nowhere, only the sums of each file are shown.",
        ),
    ] = None,
    column: options.Column = None,
    source_format: options.From = None,
    target_format: Annotated[
        str | None, typer.Option("--to", help="Format of the output: parquet, arrow, npz, jsonl or text.")
    ] = None,
    add_special_tokens: options.AddSpecialTokens = False,
    special: options.Special = "plain",
    errors: options.Errors = "replace",
    nulls: options.Nulls = "null",
    shard_rows: options.ShardRows = None,
    batch_rows: options.BatchRows = 65536,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    progress: options.Progress = None,
    option: options.Option = None,
    as_json: options.AsJson = False,
) -> None:
    """Count the tokens of files of texts."""
    # here, since these import Numba, which help and errors of the command line should not wait for
    import numpy as np

    from numba_nlp.commands.files import check_columns, find_sources, find_target
    from numba_nlp.commands.jobs import Job, run_job
    from numba_nlp.commands.progress import progress_bar
    from numba_nlp.commands.reports import Report, fail_with
    from numba_nlp.corpora.encoding import encode_rows
    from numba_nlp.corpora.reading.texts import TextReader
    from numba_nlp.corpora.tally import Tally
    from numba_nlp.corpora.writing.results import Counted, Origin

    report = Report(as_json, special=special, nulls=nulls)
    target = None if output is None else find_target(output, target_format, _FORMATS)
    with errors_in_one_line():
        sources = find_sources(files, source_format)
        reader = TextReader(column, cast("Errors", errors), cast("Nulls", nulls), batch_rows)
        check_columns(reader, sources, in_turn=output is None or (target is not None and target.is_folder))
        tok = options.load_vocabulary(vocabulary, option)
        made_by: dict[str, Any] = {
            "version": __version__,
            "vocabulary_digest": tok.vocabulary.digest,
            "special": special,
            "add_special_tokens": add_special_tokens,
        }

        def work(source: Source, batch: Batch, seen: Tally) -> Counted:
            rows = encode_rows(
                tok, source, batch, seen, special=special, add_special_tokens=add_special_tokens, num_threads=threads
            )
            return Counted(rows.row_lengths, rows.valid, Origin(source.name, batch.first))

        if target is not None:
            outcome = run_job(
                Job(
                    sources=sources,
                    target=target,
                    read=reader.read,
                    work=work,
                    empty=lambda _: Counted(np.zeros(0, np.int64), None, Origin("", 0)),
                    settings={
                        "command": "count",
                        **made_by,
                        "column": column,
                        "from": source_format,
                        "to": target.kind,
                        "errors": errors,
                        "nulls": nulls,
                        "shard_rows": shard_rows,
                    },
                    metadata={f"numba_nlp.{name}": str(value).lower() for name, value in made_by.items()},
                    shard_rows=shard_rows,
                    overwrite=overwrite,
                    progress=progress,
                    inputs=vocabulary.split(","),
                )
            )
            report.show(target, outcome, "tokens")
            return
        found: list[tuple[Source, Tally]] = []
        wrong: list[str] = []
        with progress_bar(sources, progress) as bar:
            for source in sources:
                seen = Tally()
                try:
                    for batch in reader.read(source):
                        work(source, batch, seen)
                        bar.move(batch.position)
                    found.append((source, seen))
                except NumbaNlpError as error:
                    wrong.append(one_line(error))
                bar.next_file(source)
        total = Tally()
        for _, seen in found:
            total += seen
        _show(tok, found, total, as_json)
        report.remark(total)
        fail_with(wrong)


def _show(tok: Tokenizer, found: list[tuple[Source, Tally]], total: Tally, as_json: bool) -> None:
    if as_json:
        files = [{"file": source.name, **seen.to_json()} for source, seen in found]
        said = {"vocabulary": tok.vocabulary.digest, "files": files, "total": total.to_json()}
        typer.echo(json.dumps(said, ensure_ascii=False))
        return
    if not found:
        return
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("file")
    for name in ("rows", "tokens", "bytes of text", "bytes per token"):
        table.add_column(name, justify="right")
    listed = [(source.name, seen) for source, seen in found]
    for name, seen in [*listed, ("all", total)] if len(listed) > 1 else listed:
        per_token = f"{seen.text_bytes / seen.tokens:.2f}" if seen.tokens else ""
        table.add_row(Text(name), f"{seen.rows:,}", f"{seen.tokens:,}", f"{seen.text_bytes:,}", per_token)
    console().print(table)
