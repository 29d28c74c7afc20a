"""The sub-command ``numba-nlp decode``; needs typer (extra ``cli``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from numba_nlp._command_line import errors_in_one_line
from numba_nlp._version import __version__
from numba_nlp.commands import options
from numba_nlp.errors import InvalidTextError, SourceFormatError, UnknownTokenError

if TYPE_CHECKING:
    from numba_nlp.corpora.reading.ids import IdBatch
    from numba_nlp.corpora.reading.sources import Source
    from numba_nlp.corpora.tally import Tally
    from numba_nlp.corpora.writing.results import Decoded
    from numba_nlp.tokenizer import Tokenizer

__all__ = ["decode_command"]

_FORMATS = ("jsonl", "parquet", "arrow", "text")


def decode_command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files of ids, as encode writes them: *.parquet, *.arrow, *.npz, *.bin (packed; a block is a row), "
            "*.jsonl, and text of other names, a row of ids a line; patterns; - is the standard input.",
        ),
    ],
    vocabulary: options.Vocabulary,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="The file to write: *.jsonl, *.parquet, *.arrow or *.txt; a folder; or -, stdout."
        ),
    ],
    column: Annotated[str, typer.Option(help="Where ids stand in files that have columns.")] = "ids",
    source_format: Annotated[
        str | None,
        typer.Option(
            "--from", help="Format of the files: text, jsonl, parquet, arrow, npz or packed; by default of its name."
        ),
    ] = None,
    target_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Format of the output: jsonl, parquet, arrow or text; by default of its name, jsonl in folders, text "
            "on the standard output.",
        ),
    ] = None,
    skip_special_tokens: Annotated[
        bool, typer.Option("--skip-special-tokens", help="Leave special tokens out of the text.")
    ] = False,
    errors: Annotated[
        str,
        typer.Option(
            callback=options.one_of("replace", "strict", "ignore"),
            help="Rows that end within a character: U+FFFD (replace), an error (strict), or nothing (ignore).",
        ),
    ] = "replace",
    any_vocabulary: Annotated[
        bool,
        typer.Option("--any-vocabulary", help="Decode files, too, that say that their ids are of another vocabulary."),
    ] = False,
    batch_rows: options.BatchRows = 65536,
    overwrite: options.Overwrite = False,
    progress: options.Progress = None,
    option: options.Option = None,
    as_json: options.AsJson = False,
) -> None:
    """Turn files of ids into files of texts."""
    # here, since these import Numba, which help and errors of the command line should not wait for
    from numba_nlp.commands.files import find_sources, find_target
    from numba_nlp.commands.jobs import Job, run_job
    from numba_nlp.commands.reports import Report
    from numba_nlp.corpora.reading.ids import read_ids
    from numba_nlp.corpora.reading.sources import ID_FORMATS
    from numba_nlp.corpora.writing.results import Decoded, Origin

    target = find_target(output, target_format, _FORMATS)
    report = Report(as_json)
    with errors_in_one_line():
        sources = find_sources(files, source_format, ID_FORMATS)
        tok = options.load_vocabulary(vocabulary, option)
        if not any_vocabulary:
            for source in sources:
                _check_vocabulary(tok, source)

        def work(source: Source, batch: IdBatch, seen: Tally) -> Decoded:
            texts = _decoded(tok, source, batch, skip_special_tokens, errors)
            seen.rows += batch.n_rows
            seen.tokens += batch.ids.n_values
            seen.missing += texts.count(None)
            return Decoded(texts, Origin(source.name, batch.first))

        outcome = run_job(
            Job(
                sources=sources,
                target=target,
                read=lambda source: read_ids(source, column, batch_rows),
                work=work,
                empty=lambda _: Decoded([], Origin("", 0)),
                settings={
                    "command": "decode",
                    "version": __version__,
                    "vocabulary_digest": tok.vocabulary.digest,
                    "column": column,
                    "from": source_format,
                    "to": target.kind,
                    "skip_special_tokens": skip_special_tokens,
                    "errors": errors,
                },
                metadata={"numba_nlp.version": __version__, "numba_nlp.vocabulary_digest": tok.vocabulary.digest},
                overwrite=overwrite,
                progress=progress,
                inputs=vocabulary.split(","),
            )
        )
    report.show(target, outcome, "tokens")


def _check_vocabulary(tok: Tokenizer, source: Source) -> None:
    from numba_nlp.corpora.reading.ids import recorded_digest

    digest = recorded_digest(source)
    if digest is not None and digest != tok.vocabulary.digest:
        raise SourceFormatError(
            f"{source.name}: its ids are of the vocabulary with the digest {digest[:12]}..., --vocabulary has "
            f"{tok.vocabulary.digest[:12]}...; give that one, or pass --any-vocabulary"
        )


def _decoded(
    tok: Tokenizer, source: Source, batch: IdBatch, skip_special_tokens: bool, errors: Any
) -> list[str | None]:
    where = f"{source.name}, rows counted from row {batch.first}"
    try:
        return tok.decode_batch(batch.ids, skip_special_tokens=skip_special_tokens, errors=errors)
    except UnknownTokenError as error:
        raise UnknownTokenError(f"{where}: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidTextError(f"{where}: a row of ids gives no valid text ({error}); pass errors='replace'") from error
