"""Ids to bytes and text with one vocabulary: checks of what was given, and the kernel calls."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp.errors import UnknownTokenError
from numba_nlp.kernels.segment.decode import decode_ids, decode_rows, decoded_length
from numba_nlp.ragged import Ragged
from numba_nlp.vocabulary import Vocabulary

__all__ = ["check_errors", "decode_batch", "decode_bytes"]

#: Spare bytes that let the kernel copy 16 at a time.
_SPARE = 16


def decode_bytes(vocabulary: Vocabulary, ids: ArrayLike, skip_special: bool) -> bytes:
    """Bytes of one row of ids.

    Raises
    ------
    UnknownTokenError, TypeError
    """
    given = _checked_ids(vocabulary, ids, None)
    where = np.zeros(1, np.int64)
    pieces = vocabulary["piece_offsets"], vocabulary["piece_kinds"]
    n = int(decoded_length(*pieces, given, 0, given.size, int(skip_special), where))
    if n < 0:
        _refuse(vocabulary, given, int(where[0]), None, int(where[0]))
    out = np.empty(n + _SPARE, np.uint8)
    decode_ids(vocabulary["piece_bytes"], *pieces, given, 0, given.size, int(skip_special), 0, out, where)
    return out[:n].tobytes()


def decode_batch(
    vocabulary: Vocabulary, ids: Ragged | NDArray[Any] | Iterable[ArrayLike], skip_special: bool, errors: str
) -> list[str | None]:
    """Text of each row of ids.

    Raises
    ------
    UnknownTokenError, TypeError, ValueError, UnicodeDecodeError
    """
    check_errors(errors)
    rows = ids if isinstance(ids, Ragged) else _gather(vocabulary, ids)
    where = np.zeros(1, np.int64)
    pieces = vocabulary["piece_offsets"], vocabulary["piece_kinds"]
    values, offsets = _read_only(rows.values), _read_only(rows.offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    n = int(decoded_length(*pieces, values, first, last, int(skip_special), where))
    if n < 0:
        row = int(np.searchsorted(offsets, where[0], side="right")) - 1
        _refuse(vocabulary, values, int(where[0]), row, int(where[0] - offsets[row]))
    out = np.empty(n + _SPARE, np.uint8)
    ends = np.empty(len(rows) + 1, np.int64)
    decode_rows(vocabulary["piece_bytes"], *pieces, values, offsets, int(skip_special), out, ends, where)
    text = out.data
    bounds = ends.tolist()
    decoded: list[str | None] = [str(text[a:b], "utf-8", errors) for a, b in pairwise(bounds)]
    if rows.valid is not None:
        for row in np.flatnonzero(~rows.valid).tolist():
            decoded[row] = None
    return decoded


def check_errors(errors: str) -> None:
    """Refuse unknown values of the option.

    Raises
    ------
    ValueError
    """
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"`errors` must be 'strict', 'replace' or 'ignore', got {errors!r}")


def _gather(vocabulary: Vocabulary, ids: NDArray[Any] | Iterable[ArrayLike]) -> Ragged:
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise TypeError(f"`ids` must be a Ragged, a two-dimensional array or rows of ids, got {type(ids).__name__}")
    if type(ids).__module__.partition(".")[0] == "pyarrow":
        return Ragged.from_arrow(ids)
    rows = [_checked_ids(vocabulary, row, number) for number, row in enumerate(ids)]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([row.size for row in rows], out=offsets[1:])
    return Ragged(np.concatenate(rows) if rows else np.zeros(0, np.int32), offsets)


def _checked_ids(vocabulary: Vocabulary, ids: ArrayLike, row: int | None) -> NDArray[np.int32]:
    """One row of ids as a read-only int32 array; ids that int32 cannot hold are refused like other unknown ones."""
    place = "" if row is None else f" (row {row})"
    try:
        given = np.asarray(ids)
    except ValueError:  # rows of different lengths
        raise TypeError(f"ids{place} must be one-dimensional; decode_batch takes rows") from None
    if given.ndim != 1:
        raise TypeError(f"ids{place} must be one-dimensional, got {given.ndim} dimensions; decode_batch takes rows")
    exact = None
    if given.dtype.kind in ("f", "O"):
        # numpy makes floats or objects of lists with whole numbers beyond 64 bits
        exact = np.asarray(ids, object)
        if all(isinstance(item, (int, np.integer)) and not isinstance(item, bool) for item in exact):
            given = exact
    if given.size and given.dtype.kind not in "iu" and given is not exact:
        raise TypeError(f"ids{place} must be whole numbers, got {given.dtype}")
    if given.dtype != np.int32:
        outside = (given < 0) | (given > np.iinfo(np.int32).max) if given.size else np.zeros(0, np.bool_)
        if outside.any():
            at = int(np.argmax(outside))
            _refuse(vocabulary, given, at, row, at)
        given = given.astype(np.int32)
    return _read_only(np.ascontiguousarray(given))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for one kind of array."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view


def _refuse(vocabulary: Vocabulary, ids: NDArray[Any], index: int, row: int | None, place: int) -> NoReturn:
    where = f"place {place}" if row is None else f"row {row}, place {place}"
    raise UnknownTokenError(
        f"id {int(ids[index])} ({where}) is not in the vocabulary, whose ids go from 0 to {vocabulary.size - 1}"
        + (" with gaps" if 0 <= int(ids[index]) < vocabulary.size else "")
    )
