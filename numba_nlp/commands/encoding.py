"""What the metadata of files of ids and packed blocks need."""

from __future__ import annotations

from typing import Any

import typer

from numba_nlp.commands.files import Target
from numba_nlp.corpora.writing.files import Packing
from numba_nlp.errors import UnknownTokenError
from numba_nlp.tokenizer import Tokenizer

__all__ = ["as_written", "take_packing"]


def as_written(value: Any) -> str:
    """A value as metadata of files have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def take_packing(
    target: Target, tok: Tokenizer, block_size: int | None, separator: str | None, remainder: Any
) -> Packing | None:
    """What packed blocks need.

    Raises
    ------
    typer.BadParameter
        An option is missing, or there for another format; the separator is no token of the vocabulary.
    """
    if target.kind != "packed":
        for value, name in ((block_size, "--block-size"), (separator, "--separator")):
            if value is not None:
                raise typer.BadParameter("is for packed blocks: write *.bin, or pass --to packed", param_hint=name)
        return None
    if block_size is None or separator is None:
        missing, what = ("--block-size", "such as 1024") if block_size is None else ("--separator", _separators(tok))
        raise typer.BadParameter(f"packed blocks need it, {what}", param_hint=missing)
    try:
        number = tok.token_to_id(separator)
    except UnknownTokenError as error:
        raise typer.BadParameter(f"{error}; {_separators(tok)}", param_hint="--separator") from error
    return Packing(block_size, number, remainder, tok.vocabulary)


def _separators(tok: Tokenizer) -> str:
    named = ", ".join(repr(token) for token in list(tok.special_tokens)[:5])
    return f"special tokens are {named}" if named else "the vocabulary has no special tokens: take an ordinary one"
