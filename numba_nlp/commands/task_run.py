"""Pipelines over texts of files or of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import typer

from numba_nlp._command_line import errors_in_one_line, in_flags
from numba_nlp._extras import extra
from numba_nlp._version import __version__
from numba_nlp.commands.files import Target, check_columns, find_sources, find_target, take_keep
from numba_nlp.commands.jobs import Job, run_job
from numba_nlp.commands.reports import Report
from numba_nlp.corpora.reading.pieces import Batch, Errors, Nulls, Piece, checked
from numba_nlp.corpora.reading.sources import Source
from numba_nlp.corpora.reading.texts import DEFAULT_COLUMN, TextReader
from numba_nlp.corpora.tally import Tally
from numba_nlp.corpora.writing.kept import KeptTypes
from numba_nlp.corpora.writing.results import Answered, Origin, Result
from numba_nlp.errors import NumbaNlpError

__all__ = ["FORMATS", "TaskCall", "run_task"]

FORMATS = ("jsonl", "parquet", "arrow", "text")
#: What tasks give that is no text.
_NO_LINES = {"answer": "answers with their places", "classify": "labels with their scores", "tag_tokens": "entities"}
#: How errors of rows begin; the number is that of a row in one call, which nobody knows.
_ROW = re.compile(r"^row \d+: ")


class TaskCall(NamedTuple):
    """What a command was told.

    Attributes
    ----------
    task : str
        Of :func:`numba_nlp.pipelines.pipeline`.
    texts, files : sequence of str
    model, tokenizer, device, dtype : str or None
    options : mapping
        Of the task.
    batching : mapping
        ``batch_size`` and ``batch_tokens``.
    question, question_column : str or None
        Of the task "answer": one question for all rows, or where they stand.
    """

    task: str
    texts: Sequence[str]
    files: Sequence[str]
    model: str | None
    tokenizer: str | None
    device: str | None
    dtype: str | None
    options: Mapping[str, Any]
    batching: Mapping[str, int | None]
    output: str
    source_format: str | None
    target_format: str | None
    column: str | None
    keep: Sequence[str]
    keep_all: bool
    errors: Any
    nulls: Any
    batch_rows: int
    shard_rows: int | None
    overwrite: bool
    progress: bool | None
    as_json: bool
    question: str | None = None
    question_column: str | None = None


def run_task(call: TaskCall) -> None:
    """Run a pipeline over texts, and write its results.

    Raises
    ------
    typer.BadParameter, typer.Exit
    """
    if not call.texts and not call.files:
        raise typer.BadParameter("give texts, or files with --file (- is the standard input)", param_hint="TEXT...")
    for text in call.texts:
        if _is_file(text):
            raise typer.BadParameter(f"{text} names a file; pass --file {text}", param_hint="TEXT...")
    target = find_target(call.output, call.target_format, FORMATS, on_stdout="jsonl")
    _refuse_text(call, target)
    report = Report(call.as_json, nulls=call.nulls)
    with errors_in_one_line():
        sources = [Source("arguments", "arguments")] if call.texts else []
        sources += find_sources(call.files, call.source_format)
        reader = _Reader(call, target, sources)
        reader.check(sources, in_turn=target.is_folder)
        pipe = _load(call)
        kind = _arrow_kind(call) if target.kind in ("parquet", "arrow") else None

        types = KeptTypes(reader.keep, sources, is_typed=kind is not None, is_one=not target.is_folder)

        def work(source: Source, batch: Batch, seen: Tally) -> Result:
            seen.add_batch(batch)
            given = reader.given(source, batch)
            results, failures = _results(call, pipe, given)
            seen.failed += sum(failure is not None for failure in failures)
            answered = Answered(given, results, failures, Origin(source.name, batch.first), kind)
            return types.beside(answered, source, batch.kept)

        def empty(source: Source) -> Result:
            return types.beside(Answered({name: [] for name in reader.names}, [], [], Origin("", 0), kind), source, [])

        described = pipe.describe()
        made_by = {
            "version": __version__,
            "task": call.task,
            "model": str(call.model),
            "vocabulary_digest": str(described.get("vocabulary")),
        }
        outcome = run_job(
            Job(
                sources=sources,
                target=target,
                read=reader.read,
                work=work,
                empty=empty,
                settings={
                    "command": call.task,
                    **made_by,
                    "files_of_model": _state_of(call.model),
                    "dtype": call.dtype,
                    "tokenizer": call.tokenizer,
                    "options": dict(call.options),
                    "column": call.column,
                    "question": call.question,
                    "question_column": call.question_column,
                    "from": call.source_format,
                    "to": target.kind,
                    "errors": call.errors,
                    "nulls": call.nulls,
                    "shard_rows": call.shard_rows,
                    **reader.keep.settings(),
                },
                metadata={f"numba_nlp.{name}": value for name, value in made_by.items()},
                shard_rows=call.shard_rows,
                overwrite=call.overwrite,
                progress=call.progress,
            )
        )
    # results of single texts speak for themselves
    if not target.is_stdout or call.as_json:
        report.show(target, outcome, "")
    else:
        report.remark(outcome.seen)


def _refuse_text(call: TaskCall, target: Target) -> None:
    """Refuse lines of text for results that are none.

    Raises
    ------
    typer.BadParameter
    """
    if target.kind != "text":
        return
    what = _NO_LINES.get(call.task)
    if what is None and call.options.get("num_return_sequences", 1) != 1:
        what = "several texts for each row"
    if what is not None:
        raise typer.BadParameter(
            f"text has a line for each row, and {what} are none; take jsonl, parquet or arrow",
            param_hint="--output" if call.target_format is None else "--to",
        )


def _is_file(text: str) -> bool:
    """Whether a text of the command line is the name of a file, or of the standard input."""
    try:
        return text == "-" or Path(text).is_file()
    except (OSError, ValueError):  # longer than names may be, or with a NUL
        return False


class _Reader:
    """Texts of files and of the command line; with questions where the task is to answer them."""

    def __init__(self, call: TaskCall, target: Target, sources: Sequence[Source]) -> None:
        self._call = call
        self._is_answer = call.task == "answer"
        column = call.column or ("context" if self._is_answer else None)
        policies: tuple[Errors, Nulls] = call.errors, call.nulls
        texts = [column or DEFAULT_COLUMN]
        if self._is_answer and call.question is None:
            texts.append(call.question_column or "question")
        taken = [*self.names, "result", "error"]
        self.keep = take_keep(call.keep, call.keep_all, target, sources, texts=texts, taken=taken)
        self._texts = TextReader(column, *policies, call.batch_rows, keep=self.keep)
        self._questions: TextReader | None = None
        if self._is_answer and call.question is None:
            self._questions = TextReader(texts[1], *policies, call.batch_rows)
        self._next_questions: dict[str, Iterator[str | None]] = {}

    @property
    def names(self) -> list[str]:
        """What the rows of the output were given."""
        return ["question", "context"] if self._is_answer else ["text"]

    def check(self, sources: Sequence[Source], *, in_turn: bool) -> None:
        """See that files have the columns, before anything is read."""
        files = [source for source in sources if source.kind != "arguments"]
        if self._questions is not None:
            plain = [source.name for source in sources if source.kind in ("arguments", "text") or source.is_stdin]
            if plain:
                raise typer.BadParameter(f"{plain[0]} holds contexts only; give the question", param_hint="--question")
            check_columns(self._questions, files, in_turn=in_turn)
        if all(source.kind == "text" for source in files):
            # the column of contexts is a default here, that nobody gave
            self._texts = self._texts._replace(column=self._call.column)
        check_columns(self._texts, files, in_turn=in_turn)

    def read(self, source: Source) -> Iterator[Batch]:
        """Rows of a file, or texts of the command line."""
        if source.kind == "arguments":
            piece = Piece(list(self._call.texts), 0, 0)
            yield checked(source, piece, self._call.errors, self._call.nulls)
            return
        if self._questions is not None:
            batches = self._questions.read(source)
            self._next_questions[source.path] = (text for batch in batches for text in batch.rows)
        yield from self._texts.read(source)

    def given(self, source: Source, batch: Batch) -> dict[str, list[str | None]]:
        """The texts of a batch, by name."""
        texts = batch.rows.to_list()
        if not self._is_answer:
            return {"text": texts}
        if self._questions is None:
            return {"question": [self._call.question] * len(texts), "context": texts}
        return {"question": list(islice(self._next_questions[source.path], len(texts))), "context": texts}


def _load(call: TaskCall) -> Any:
    """The pipeline, with the options of the task checked.

    Raises
    ------
    typer.BadParameter
        There is no such option, or it has a value that it cannot have.
    """
    from numba_nlp.pipelines import pipeline

    try:
        return pipeline(
            call.task, call.model, tokenizer=call.tokenizer, device=call.device, dtype=call.dtype, **call.options
        )
    except (TypeError, ValueError) as error:
        if isinstance(error, NumbaNlpError):
            raise
        raise typer.BadParameter(in_flags(str(error))) from error


def _state_of(model: str | None) -> dict[str, list[int]]:
    """Sizes and times of the files of a model's folder; by these a changed model is told."""
    if model is None or not Path(model).is_dir():
        return {}
    kept = (".bin", ".json", ".safetensors", ".model", ".txt")
    found = [(path.name, path.stat()) for path in sorted(Path(model).iterdir()) if path.suffix in kept]
    return {name: [state.st_size, state.st_mtime_ns] for name, state in found}


def _results(call: TaskCall, pipe: Any, given: Mapping[str, list[str | None]]) -> tuple[list[Any], list[str | None]]:
    """A result or the words of an error for each row; neither for rows that are missing."""
    from numba_nlp.pipelines import FailedRow

    columns = list(given.values())
    n_rows = len(columns[0])
    results: list[Any] = [None] * n_rows
    failures: list[str | None] = [None] * n_rows
    there = [row for row in range(n_rows) if all(column[row] is not None for column in columns)]
    rows: list[Any] = [columns[0][row] for row in there]
    if call.task == "answer":
        rows = [{name: column[row] for name, column in given.items()} for row in there]
    for row, result in zip(there, pipe(rows, errors="return", **call.batching) if rows else [], strict=True):
        if isinstance(result, FailedRow):
            failures[row] = f"{type(result.error).__name__}: {_ROW.sub('', str(result.error))}"
        else:
            results[row] = _plain(result)
    return results, failures


def _plain(result: Any) -> Any:
    """A result as JSON has it: numbers of numpy are numbers of Python."""
    if isinstance(result, Mapping):
        return {str(name): _plain(value) for name, value in result.items()}
    if isinstance(result, (list, tuple)):
        return [_plain(value) for value in result]
    return result.item() if hasattr(result, "item") else result


def _arrow_kind(call: TaskCall) -> Any:
    """What Arrow has for the results of a task; the same for all rows, those that failed too."""
    pa = extra("pyarrow")
    text, number, place = pa.large_string(), pa.float64(), pa.int64()
    is_listed = call.options.get("num_return_sequences", 1) != 1
    if call.task == "classify":
        is_listed = call.options.get("top_k", "best") != "best"
        kind = pa.struct({"label": text, "score": number})
    elif call.task == "answer":
        is_listed = call.options.get("top_k", 1) != 1
        kind = pa.struct({"score": number, "start": place, "end": place, "answer": text})
    elif call.task == "tag_tokens":
        is_listed = True
        kind = pa.struct(
            {
                "entity": text, "entity_group": text, "score": number, "index": place, "word": text, "start": place,
                "end": place,
            }
        )  # fmt: skip
    else:
        kind = text
    return pa.list_(kind) if is_listed else kind
