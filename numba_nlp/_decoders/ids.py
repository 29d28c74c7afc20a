"""Checks of the ids that somebody wants decoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp._arguments import choice, shown
from numba_nlp.errors import UnknownTokenError
from numba_nlp.kernels.segment.decode import KIND_ABSENT
from numba_nlp.ragged import Ragged
from numba_nlp.vocabulary import Vocabulary

__all__ = ["check_errors", "checked_ids", "gathered_rows", "known_id", "read_only", "refuse", "refuse_in_rows"]


_ERRORS = ("strict", "replace", "ignore")


def check_errors(errors: str) -> None:
    """Refuse unknown values of the option.

    Raises
    ------
    ValueError
    """
    if type(errors) is not str or errors not in _ERRORS:
        choice("errors", errors, _ERRORS)


def gathered_rows(vocabulary: Vocabulary, ids: Ragged | NDArray[Any] | Iterable[ArrayLike]) -> Ragged:
    """Rows of ids from whatever holds them.

    Raises
    ------
    TypeError, UnknownTokenError
    """
    if isinstance(ids, Ragged):
        return ids
    is_scalar = isinstance(ids, (str, bytes)) or (isinstance(ids, np.ndarray) and ids.ndim == 0)
    if is_scalar or not isinstance(ids, Iterable):
        raise TypeError(f"`ids` must be a Ragged, a two-dimensional array or rows of ids, got {type(ids).__name__}")
    if type(ids).__module__.partition(".")[0] == "pyarrow":
        return Ragged.from_arrow(ids)
    rows = [checked_ids(vocabulary, row, number) for number, row in enumerate(ids)]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([row.size for row in rows], out=offsets[1:])
    return Ragged(np.concatenate(rows) if rows else np.zeros(0, np.int32), offsets)


def _which(row: int | None) -> str:
    return "ids" if row is None else f"ids (row {row})"


def _hint(row: int | None) -> str:
    return "; decode_batch takes rows" if row is None else ""


def checked_ids(vocabulary: Vocabulary, ids: ArrayLike, row: int | None) -> NDArray[np.int32]:
    """One row of ids as a read-only int32 array; ids that int32 cannot hold are refused like other unknown ones.

    Where rows have no number, one id alone is a row of it.
    """
    if type(ids) is np.ndarray and ids.dtype == np.int32 and ids.ndim == 1 and ids.flags.c_contiguous:
        return read_only(ids)
    try:
        given = np.asarray(ids)
    except ValueError:  # rows of different lengths
        raise TypeError(f"{_which(row)} must be one-dimensional, and is not{_hint(row)}") from None
    if row is None and given.ndim == 0 and (given.dtype.kind in "iu" or isinstance(ids, int)):
        ids = [given[()]]
        given = np.asarray(ids)
    if given.ndim == 0:
        raise TypeError(
            f"{_which(row)} must be a list or array of whole numbers, got {shown(ids)}"
            + ("" if row is None else "; `decode` takes a single row")
        )
    if given.ndim != 1:
        raise TypeError(f"{_which(row)} must be one-dimensional, got {given.ndim} dimensions{_hint(row)}")
    exact = None
    if given.dtype.kind in ("f", "O"):
        # numpy makes floats or objects of lists with whole numbers beyond 64 bits
        exact = np.asarray(ids, object)
        if all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in exact):
            given = exact
    if given.size and given.dtype.kind not in "iu" and given is not exact:
        raise TypeError(f"{_which(row)} must be whole numbers, got {given.dtype}")
    if given.dtype != np.int32:
        if given.dtype == np.int64:
            narrow = given.astype(np.int32)
            if (narrow == given).all():  # negative ones are refused with other unknown ones
                return read_only(narrow)
        outside = (given < 0) | (given > np.iinfo(np.int32).max) if given.size else np.zeros(0, np.bool_)
        if outside.any():
            at = int(np.argmax(outside))
            refuse(vocabulary, given, at, row, at)
        given = given.astype(np.int32)
    return read_only(np.ascontiguousarray(given))


def known_id(vocabulary: Vocabulary, token_id: int) -> int:
    """An id that the vocabulary has.

    Raises
    ------
    UnknownTokenError, TypeError
    """
    given = checked_ids(vocabulary, [token_id], None)
    number = int(given[0])
    if not 0 <= number < vocabulary.size or vocabulary["piece_kinds"][number] == KIND_ABSENT:
        refuse(vocabulary, given, 0, None, 0)
    return number


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for one kind of array."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def refuse(vocabulary: Vocabulary, ids: NDArray[Any], index: int, row: int | None, place: int) -> NoReturn:
    """Raise the error of an id that the vocabulary does not have."""
    where = f"place {place}" if row is None else f"row {row}, place {place}"
    raise UnknownTokenError(
        f"id {int(ids[index])} ({where}) is not in the vocabulary, whose ids go from 0 to {vocabulary.size - 1}"
        + (" with gaps" if 0 <= int(ids[index]) < vocabulary.size else "")
    )


def refuse_in_rows(
    vocabulary: Vocabulary, values: NDArray[np.int32], offsets: NDArray[np.int64], index: int, single: bool
) -> NoReturn:
    """The same for the ids of rows; ``single``: there is one row, which the caller does not count."""
    row = int(np.searchsorted(offsets, index, side="right")) - 1
    refuse(vocabulary, values, index, None if single else row, index - int(offsets[row]))
