"""Inputs of a call: one, many, or a stream of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from numba_nlp._arguments import shown
from numba_nlp.errors import MissingRowError, RowError
from numba_nlp.text_rows import TextRows

__all__ = ["Inputs", "check_text", "is_missing", "take_inputs", "take_texts"]

#: What columns of NumPy, pandas, Arrow and polars have, one or another.
_COLUMN = ("__array__", "__arrow_array__", "__arrow_c_array__", "__arrow_c_stream__")


class Inputs(NamedTuple):
    """Rows of a call.

    Parameters
    ----------
    rows : sequence or iterator
    is_single : bool
        One input was given by itself, so that its result is given by itself.
    is_stream : bool
        ``rows`` is an iterator, whose results are given as they come.
    """

    rows: Sequence[Any] | Iterator[Any]
    is_single: bool = False
    is_stream: bool = False


def take_inputs(inputs: Any, single: type | tuple[type, ...]) -> Inputs:
    """Tell one input from many and from a stream.

    Parameters
    ----------
    inputs : object
        Lists and tuples hold rows; iterators are streams; columns (NumPy, Arrow, pandas, polars, TextRows) hold texts.
    single : type or types
        What one input is.

    Raises
    ------
    TypeError
        It is none of these.
    """
    if isinstance(inputs, single):
        return Inputs([inputs], is_single=True)
    if isinstance(inputs, (list, tuple)):
        return Inputs(inputs)
    if isinstance(inputs, Iterator):
        return Inputs(inputs, is_stream=True)
    if getattr(inputs, "ndim", 1) == 0:
        raise TypeError(
            f"`inputs` must be text, a list or column of texts, or an iterator, got the scalar {shown(inputs)}"
        )
    if isinstance(getattr(inputs, "dtype", None), np.dtype) and inputs.dtype == object:
        # of NumPy or pandas; what is no text there fails by its row
        return Inputs(inputs.tolist())
    if inputs is None or isinstance(inputs, (bool, int, float, Mapping, bytes, bytearray)):
        raise TypeError(f"`inputs` must be text, a list or column of texts, or an iterator, got {shown(inputs)}")
    if isinstance(inputs, TextRows) or any(hasattr(inputs, name) for name in _COLUMN):
        return Inputs(TextRows.from_any(inputs, nulls="null").to_list())
    if isinstance(inputs, Iterable):
        # a collection of another kind, or a data set that is read as it is gone through
        return Inputs(list(inputs)) if isinstance(inputs, Sized) else Inputs(iter(inputs), is_stream=True)
    raise TypeError(f"`inputs` must be text, a list or column of texts, or an iterator, got {shown(inputs)}")


def take_texts(inputs: Any) -> Inputs:
    """As :func:`take_inputs`, for tasks whose input is a text."""
    return take_inputs(inputs, str)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN of any kind of number, pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number) and bool(value != value)  # noqa: PLR0124 - what NaN is told by


def check_text(text: Any, row: int, what: str = "text", way: str = "leave it out or give ''") -> str:
    """A row that must be text; ``way``: what may be done where it is missing.

    Raises
    ------
    MissingRowError
        There is none.
    RowError
        It is no text, or not valid Unicode.
    """
    if is_missing(text):
        raise MissingRowError(f"row {row}: the {what} is missing ({text!r}); {way}")
    if not isinstance(text, str):
        raise RowError(f"row {row}: the {what} must be a str, got {type(text).__name__} {shown(text)}", row)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RowError(
            f"row {row}: the {what} holds a lone surrogate at character {error.start}, which is not valid Unicode", row
        ) from None
    return text
