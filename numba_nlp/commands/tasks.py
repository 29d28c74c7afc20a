"""The sub-commands ``translate``, ``summarize``, ``generate``, ``classify``, ``tag`` and ``answer``.

They have one set of options, to which some add their own; each is a function that typer can read. Needs typer (extra
``cli``).
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from numba_nlp._command_line import Command, parse_values
from numba_nlp.commands import options

__all__ = ["add_tasks"]

_TEXTS = Annotated[list[str] | None, typer.Argument(metavar="TEXT...", help="Texts, in place of files.")]
_FILES = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="A file of texts: *.jsonl, *.csv, *.tsv, *.parquet, *.arrow, or text, a row a line; *.gz, *.bz2, "
        "*.lz4, *.zst; a pattern; - is the standard input. May be repeated.",
    ),
]
_SHARED: tuple[tuple[str, Any, Any], ...] = (
    ("texts", _TEXTS, None),
    (
        "model",
        Annotated[
            str | None, typer.Option("--model", "-m", help="The folder of a checkpoint, or its name on the hub.")
        ],
        None,
    ),
    ("files", _FILES, None),
    (
        "output",
        Annotated[
            str,
            typer.Option(
                "--output",
                "-o",
                help="The file to write: *.jsonl, *.parquet, *.arrow or *.txt; a folder, for a file for each one read; "
                "or -, the standard output.",
            ),
        ],
        "-",
    ),
    ("column", options.Column, None),
    ("keep", options.Keep, None),
    ("keep_all", options.KeepAll, False),
    ("source_format", options.From, None),
    (
        "target_format",
        Annotated[
            str | None,
            typer.Option(
                "--to",
                help="Format of the output: jsonl, parquet, arrow or, where a task writes a text for each row, text; "
                "by default of its name, or jsonl.",
            ),
        ],
        None,
    ),
    (
        "option",
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="NAME=VALUE",
                help="Option of the task, such as num_beams=4 or top_k=2; values are JSON or text. May be repeated.",
            ),
        ],
        None,
    ),
    (
        "tokenizer",
        Annotated[str | None, typer.Option(help="What load_tokenizer takes; by default of the model's folder.")],
        None,
    ),
    ("device", Annotated[str | None, typer.Option(help="Where the model runs, such as cpu or cuda.")], None),
    (
        "dtype",
        Annotated[str | None, typer.Option(help="Kind of the model's numbers, such as float32 or bfloat16.")],
        None,
    ),
    (
        "batch_size",
        Annotated[int | None, typer.Option(min=1, help="Most inputs of the model that run together.")],
        None,
    ),
    (
        "batch_tokens",
        Annotated[int | None, typer.Option(min=1, help="Most tokens that run together, padding included.")],
        None,
    ),
    ("errors", options.Errors, "replace"),
    ("nulls", options.Nulls, "null"),
    ("shard_rows", options.ShardRows, None),
    (
        "batch_rows",
        Annotated[int, typer.Option(min=1, help="Most rows that are in memory, and sorted by length, at a time.")],
        1024,
    ),
    ("overwrite", options.Overwrite, False),
    ("progress", options.Progress, None),
    ("as_json", options.AsJson, False),
)
#: Options of tasks that have a flag of their own.
_LANGUAGES = tuple(
    (name, Annotated[str | None, typer.Option(help=help_text)], None)
    for name, help_text in (
        ("source_language", "Language of the texts, by its code or English name; for models of several."),
        ("target_language", "Language of the result, by its code or English name; for models of several."),
    )
)
_MAX_NEW_TOKENS = (
    ("max_new_tokens", Annotated[int | None, typer.Option(min=1, help="Most tokens that are generated.")], None),
)
_QUESTION = (
    (
        "question",
        Annotated[str | None, typer.Option("--question", "-q", help="A question for all texts, the contexts.")],
        None,
    ),
    (
        "question_column",
        Annotated[
            str | None,
            typer.Option(
                help="Where questions stand in files that have columns, without --question (default: question)."
            ),
        ],
        None,
    ),
)
_COMMANDS: tuple[tuple[str, str, str, tuple[tuple[str, Any, Any], ...]], ...] = (
    ("translate", "translate", "Translate texts by an encoder-decoder.", (*_LANGUAGES, *_MAX_NEW_TOKENS)),
    ("summarize", "summarize", "Summarize texts by an encoder-decoder.", _MAX_NEW_TOKENS),
    (
        "generate",
        "generate",
        "Continue texts by a language model; without --model by the package's own.",
        _MAX_NEW_TOKENS,
    ),
    ("classify", "classify", "Give texts labels by a sequence classifier.", ()),
    ("tag", "tag_tokens", "Find entities in texts, or give words labels, by a token classifier.", ()),
    ("answer", "answer", "Find the answers to questions in texts, the contexts.", _QUESTION),
)
#: Not options of a pipeline, though only one task has them.
_OF_CALL = ("question", "question_column")


def add_tasks(app: typer.Typer) -> None:
    """Add the commands to an app."""
    for name, task, help_text, own in _COMMANDS:
        app.command(name, cls=Command, help=help_text)(_function(name, task, help_text, own))


def _function(name: str, task: str, help_text: str, own: tuple[tuple[str, Any, Any], ...]) -> Callable[..., None]:
    """A command as typer reads it: by its signature."""
    own_names = [option for option, _, _ in own if option not in _OF_CALL]

    def command(**given: Any) -> None:
        # here, since this imports Numba, which help and errors of the command line should not wait for
        from numba_nlp.commands.task_run import TaskCall, run_task

        task_options = parse_values(given.pop("option") or [], "--option")
        for option in own_names:
            value = given.pop(option)
            if value is not None:
                if option in task_options:
                    flag = f"--{option.replace('_', '-')}"
                    raise typer.BadParameter(f"{option!r} is given by {flag} too", param_hint="--option")
                task_options[option] = value
        batching = {option: given.pop(option) for option in ("batch_size", "batch_tokens")}
        texts, files, keep = (given.pop(name) or () for name in ("texts", "files", "keep"))
        run_task(
            TaskCall(task=task, texts=texts, files=files, keep=keep, options=task_options, batching=batching, **given)
        )

    first, *rest = _SHARED
    listed = (first, *own, *rest)
    kind = Parameter.POSITIONAL_OR_KEYWORD
    command.__name__ = command.__qualname__ = f"{name}_command"
    command.__doc__ = help_text
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(option, kind, default=default, annotation=hint) for option, hint, default in listed]
    )
    command.__annotations__ = {option: hint for option, hint, _ in listed}
    return command
