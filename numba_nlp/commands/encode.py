"""The sub-command ``numba-nlp encode``; needs typer (extra ``cli``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from numba_nlp._command_line import errors_in_one_line
from numba_nlp._version import __version__
from numba_nlp.commands import options

if TYPE_CHECKING:
    from numba_nlp.corpora.reading.pieces import Batch, Errors, Nulls
    from numba_nlp.corpora.reading.sources import Source
    from numba_nlp.corpora.tally import Tally
    from numba_nlp.corpora.writing.results import Result

__all__ = ["encode_command"]

_FORMATS = ("parquet", "arrow", "npz", "packed", "jsonl", "text")


def encode_command(
    files: options.Files,
    vocabulary: options.Vocabulary,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, for all rows: *.parquet, *.arrow, *.npz, *.bin (packed blocks), *.jsonl or *.txt; "
            "a folder, for a file for each one read; or -, the standard output.",
        ),
    ],
    column: options.Column = None,
    keep: options.Keep = None,
    keep_all: options.KeepAll = False,
    source_format: options.From = None,
    target_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format of the output: parquet, arrow, npz, packed, jsonl or text; by default of its name, parquet in "
            "folders, text on the standard output.",
        ),
    ] = None,
    add_special_tokens: options.AddSpecialTokens = False,
    spans: Annotated[bool, typer.Option("--spans", help="Write where each id comes from, too.")] = False,
    unit: Annotated[
        str,
        typer.Option(callback=options.one_of("char", "byte"), help="Unit of the spans: char or byte."),
    ] = "char",
    special: options.Special = "plain",
    errors: options.Errors = "replace",
    nulls: options.Nulls = "null",
    block_size: Annotated[int | None, typer.Option(min=1, help="Ids of a block; for packed blocks.")] = None,
    separator: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="Token between rows, such as '<|endoftext|>'; for packed blocks."),
    ] = None,
    remainder: Annotated[
        str,
        typer.Option(
            callback=options.one_of("drop", "pad", "keep"),
            help="Ids behind the last full block: drop, pad (with the separator) or keep; for packed blocks.",
        ),
    ] = "drop",
    shard_rows: options.ShardRows = None,
    batch_rows: options.BatchRows = 65536,
    threads: options.Threads = None,
    overwrite: options.Overwrite = False,
    progress: options.Progress = None,
    option: options.Option = None,
    as_json: options.AsJson = False,
) -> None:
    """Turn files of texts into files of ids."""
    # here, since these import Numba, which help and errors of the command line should not wait for
    from numba_nlp.commands.encoding import as_written, take_packing
    from numba_nlp.commands.files import check_columns, find_sources, find_target, take_keep
    from numba_nlp.commands.jobs import Job, run_job
    from numba_nlp.commands.reports import Report
    from numba_nlp.corpora.encoding import encode_rows
    from numba_nlp.corpora.reading.texts import DEFAULT_COLUMN, TextReader
    from numba_nlp.corpora.writing.kept import KeptTypes
    from numba_nlp.corpora.writing.results import Encoded, Origin
    from numba_nlp.text_rows import TextRows

    target = find_target(output, target_format, _FORMATS)
    report = Report(as_json, special=special, nulls=nulls)
    with errors_in_one_line():
        sources = find_sources(files, source_format)
        texts, taken = [column or DEFAULT_COLUMN], ["ids", "starts", "ends"] if spans else ["ids"]
        kept = take_keep(keep or [], keep_all, target, sources, texts=texts, taken=taken)
        reader = TextReader(column, cast("Errors", errors), cast("Nulls", nulls), batch_rows, keep=kept)
        check_columns(reader, sources, in_turn=target.is_folder)
        tok = options.load_vocabulary(vocabulary, option)
        packing = take_packing(target, tok, block_size, separator, remainder)
        made_by: dict[str, Any] = {
            "version": __version__,
            "vocabulary_digest": tok.vocabulary.digest,
            "column": column,
            "special": special,
            "add_special_tokens": add_special_tokens,
            "unit": unit if spans else None,
        }
        keywords: dict[str, Any] = {"add_special_tokens": add_special_tokens, "spans": spans, "unit": unit}

        types = KeptTypes(kept, sources, is_typed=target.kind != "jsonl", is_one=not target.is_folder)

        def work(source: Source, batch: Batch, seen: Tally) -> Result:
            encoded = encode_rows(tok, source, batch, seen, special=special, num_threads=threads, **keywords)
            return types.beside(Encoded(encoded, Origin(source.name, batch.first)), source, batch.kept)

        def empty(source: Source) -> Result:
            return types.beside(
                Encoded(tok.encode_batch(TextRows.from_strings([]), **keywords), Origin("", 0)), source, []
            )

        outcome = run_job(
            Job(
                sources=sources,
                target=target,
                read=reader.read,
                work=work,
                empty=empty,
                settings={
                    "command": "encode",
                    **made_by,
                    "from": source_format,
                    "to": target.kind,
                    "errors": errors,
                    "nulls": nulls,
                    "shard_rows": shard_rows,
                    "packing": None if packing is None else [*packing[:3]],
                    **kept.settings(),
                },
                metadata={
                    f"numba_nlp.{name}": as_written(value) for name, value in made_by.items() if value is not None
                },
                shard_rows=shard_rows,
                overwrite=overwrite,
                packing=packing,
                progress=progress,
                inputs=vocabulary.split(","),
            )
        )
    report.show(target, outcome, "tokens")
