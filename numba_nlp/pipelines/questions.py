"""Questions and the contexts that answer them, as callers give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from numba_nlp._arguments import shown
from numba_nlp.errors import MissingRowError, RowError
from numba_nlp.pipelines.rows import check_text, is_missing, take_texts

__all__ = ["check_question", "join_questions"]

_MISSING = object()


def join_questions(inputs: Any, question: Any, context: Any) -> Any:
    """Inputs of a call: those that were given, or pairs of questions and contexts.

    Parameters
    ----------
    inputs : dict, or many of them, or None
    question, context : str, list, column or iterator of str, or None
        Of two that hold many, one goes with the other; a single one goes with each of the other.

    Raises
    ------
    TypeError
        One is missing, or both ways are used.
    ValueError
        There are not as many of one as of the other.
    """
    if question is None and context is None:
        if inputs is None:
            raise TypeError("`inputs` must be dicts with question and context, or give `question` and `context`")
        if isinstance(inputs, str):
            raise TypeError(f"`inputs` must be dicts with question and context, got {shown(inputs)}")
        return inputs
    if inputs is not None:
        raise TypeError("give dicts, or `question` and `context`, not both")
    for name, value in (("question", question), ("context", context)):
        if value is None:
            raise TypeError(f"`{name}` is missing")
    questions, contexts = take_texts(question), take_texts(context)
    if questions.is_single and contexts.is_single:
        return {"question": question, "context": context}
    if questions.is_single:
        return _pairs(contexts.rows, lambda row: (question, row), contexts.is_stream)
    if contexts.is_single:
        return _pairs(questions.rows, lambda row: (row, context), questions.is_stream)
    if isinstance(questions.rows, Sequence) and isinstance(contexts.rows, Sequence):
        if len(questions.rows) != len(contexts.rows):
            raise ValueError(
                f"`question` holds {len(questions.rows)} texts and `context` {len(contexts.rows)}; give one context "
                "for each question, or a single one of either"
            )
        return _pairs(list(zip(questions.rows, contexts.rows, strict=True)), lambda row: row, False)
    return _streams(iter(questions.rows), iter(contexts.rows))


def _pairs(rows: Any, pair: Any, is_stream: bool) -> Any:
    dicts = ({"question": question, "context": context} for question, context in map(pair, rows))
    return dicts if is_stream else list(dicts)


def _streams(questions: Iterator[Any], contexts: Iterator[Any]) -> Iterator[dict[str, Any]]:
    for number, (question, context) in enumerate(zip_longest(questions, contexts, fillvalue=_MISSING)):
        for name, value in (("question", question), ("context", context)):
            if value is _MISSING:
                raise ValueError(f"`{name}` ends before row {number}, which the other one still has")
        yield {"question": question, "context": context}


def check_question(row: Any, number: int) -> tuple[str, str]:
    """Question and context of a row.

    Raises
    ------
    RowError, MissingRowError
        It is no dict that holds both as text, or one is missing or empty.
    """
    if is_missing(row):
        raise MissingRowError(f"row {number}: the question is missing ({row!r}); leave the row out")
    if not isinstance(row, Mapping):
        raise RowError(
            f"row {number}: must be a dict with question and context, got {type(row).__name__} {shown(row)}", number
        )
    texts = []
    for name in ("question", "context"):
        if name not in row:
            held = ", ".join(map(repr, row)) or "nothing"
            raise RowError(f"row {number}: has no {name!r}; it has {held}", number)
        text = check_text(row[name], number, name, "leave the row out")
        if not text:
            raise RowError(f"row {number}: the {name} is empty; leave the row out", number)
        texts.append(text)
    return texts[0], texts[1]
