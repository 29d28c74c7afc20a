"""What a command says in the end."""

from __future__ import annotations

import json
import time
from typing import Any

import typer

from numba_nlp.commands.files import Target
from numba_nlp.commands.jobs import Outcome
from numba_nlp.corpora.tally import Tally

__all__ = ["Report"]


class Report:
    """Says what came of a run, with the time that it took since this was made.

    Parameters
    ----------
    as_json : bool
    special, nulls : str, optional
        What the command was told to do with special tokens and with missing rows.
    """

    def __init__(self, as_json: bool, *, special: str | None = None, nulls: str | None = None) -> None:
        self._as_json = as_json
        self._special, self._nulls = special, nulls
        self._started = time.perf_counter()

    def show(self, target: Target, outcome: Outcome, what: str) -> None:
        """Report on stdout, or on stderr when rows went to stdout; remarks and errors on stderr.

        Parameters
        ----------
        target : Target
        outcome : Outcome
        what : str
            What was counted, such as "tokens".

        Raises
        ------
        typer.Exit
            With exit code 1: a source could not be read.
        """
        seconds = time.perf_counter() - self._started
        seen = outcome.seen
        if self._as_json:
            said: dict[str, Any] = {
                "output": str(target.path),
                "files": outcome.n_files,
                "skipped": outcome.n_skipped,
                **seen.to_json(),
                **({"blocks": seen.blocks} if target.kind == "packed" else {}),
                "errors": outcome.errors,
                "seconds": round(seconds, 3),
            }
            typer.echo(json.dumps(said, ensure_ascii=False), err=target.is_stdout)
        else:
            typer.echo(self._line(target, outcome, seconds, what), err=target.is_stdout)
        self.remark(seen)
        fail_with(outcome.errors)

    def _line(self, target: Target, outcome: Outcome, seconds: float, what: str) -> str:
        seen = outcome.seen
        files = ""
        if target.is_folder:
            finished = f", {outcome.n_skipped:,} finished before" if outcome.n_skipped else ""
            files = f"{outcome.n_files:,} files{finished}; "
        counted = f", {seen.tokens:,} {what}" if what else ""
        if target.kind == "packed":
            counted += f", {seen.blocks:,} full block{'' if seen.blocks == 1 else 's'}"
        name = "standard output" if target.is_stdout else target.path
        return f"{name}: {files}{seen.rows:,} rows{counted} ({seconds:.1f} s)"

    def remark(self, seen: Tally) -> None:
        """Say on stderr what was not as it should be."""
        for line in seen.remarks(self._special, self._nulls):
            typer.echo(f"note: {line}", err=True)


def fail_with(errors: list[str]) -> None:
    """Say which sources could not be read, if any.

    Raises
    ------
    typer.Exit
        With exit code 1.
    """
    for error in errors:
        typer.echo(f"error: {error}", err=True)
    if errors:
        raise typer.Exit(1)
