"""What a generation begins with: rows of ids as arrays of one width, with their masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from numba_nlp.models.inputs import take_ids, take_mask

__all__ = ["Rows", "guess_mask", "padded_left", "take_rows", "with_start"]

_CPU = torch.device("cpu")


class Rows(NamedTuple):
    """Rows of ids.

    Attributes
    ----------
    ids : ndarray
        int64 ``[rows, width]``.
    mask : ndarray or None
        bool of the same shape, true at tokens that count; None: all do.
    """

    ids: np.ndarray
    mask: np.ndarray | None

    def mask_array(self) -> np.ndarray:
        """The mask, bool ``[rows, width]``, whether or not there is one."""
        return np.ones(self.ids.shape, bool) if self.mask is None else self.mask.astype(bool)

    def lengths(self) -> np.ndarray:
        """Number of tokens that count in each row, int64 ``[rows]``."""
        if self.mask is None:
            return np.full(self.ids.shape[0], self.ids.shape[1], np.int64)
        return self.mask.sum(1, dtype=np.int64)


def take_rows(ids: Any, mask: Any, size: int, padding: int, *, side: str, name: str, mask_name: str) -> Rows:
    """Check rows and make arrays of them.

    Parameters
    ----------
    ids : array-like, Tensor, or sequence of rows of unlike lengths
        Whole numbers.
    mask : array-like, Tensor or rows, or None
        Of the same shape; rows of unlike lengths are padded here and need none.
    size : int
        Ids must be below it.
    padding : int
        Id that rows of unlike lengths are padded with.
    side : {"left", "right"}
        Where.
    name, mask_name : str
        What errors call them.

    Raises
    ------
    ValueError
        A row is empty, an id is not in the vocabulary, or shapes are others.
    TypeError
        They are no whole numbers.
    """
    ids, mask = _take_values(ids, name, "input_ids"), _take_values(mask, mask_name, "attention_mask")
    if isinstance(ids, list) and not ids:
        return Rows(np.zeros((0, 1), np.int64), None)
    if _is_ragged(ids):
        given = mask
        ids, mask = _pad(ids, padding, side, name)
        if given is not None:
            mask = _pad_mask(given, mask, name, mask_name)
    taken = take_ids(ids, size, _CPU, name)
    if taken.shape[0] and mask is not None:
        taken_mask = take_mask(mask, taken, mask_name)
        return Rows(taken.numpy(), None if taken_mask is None else taken_mask.numpy())
    return Rows(taken.numpy(), None)


def _take_values(values: Any, name: str, kind: str) -> Any:
    """Rows as they are, or as a list where they only iterate, as ``numba_nlp.Ragged`` and columns of lists do.

    Raises
    ------
    TypeError
        They are texts, or all that a tokenizer gave.
    """
    if values is None or isinstance(values, torch.Tensor):
        return values
    if isinstance(values, Mapping):
        whole = name in ("input_ids", "attention_mask")
        way = "unpack it with **: (**tok(texts, padding=True))" if whole else f'give its rows: tok(texts)["{kind}"]'
        raise TypeError(f"`{name}` must be whole numbers, got {type(values).__name__}, a mapping; {way}")
    if isinstance(values, (str, bytes)):
        raise _text(name, kind)
    if hasattr(values, "__array__"):
        array = np.asarray(values)
        is_object = array.dtype == object
        if array.dtype.kind in "SUT" or (is_object and any(isinstance(value, (str, bytes)) for value in array.flat)):
            raise _text(name, kind)
        return list(array) if is_object and array.ndim == 1 else values
    if not isinstance(values, Iterable):
        return values
    rows = values if isinstance(values, (list, tuple)) else list(values)
    if any(isinstance(row, (str, bytes)) for row in rows):
        raise _text(name, kind)
    return rows


def _text(name: str, kind: str) -> TypeError:
    way = "(**tok(texts, padding=True))" if name == "input_ids" else f'tok(texts)["{kind}"]'
    return TypeError(f"`{name}` must be whole numbers, got text; tokenize first: {way}")


def _is_ragged(ids: Any) -> bool:
    if isinstance(ids, (torch.Tensor, np.ndarray)) or not isinstance(ids, Sequence) or isinstance(ids, (str, bytes)):
        return False
    return len({len(row) for row in ids if hasattr(row, "__len__")}) > 1


def _pad(rows: Sequence[Any], padding: int, side: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    arrays = [np.asarray(row) for row in rows]
    for number, array in enumerate(arrays):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError(f"row {number} of `{name}` must be whole numbers, got {rows[number]!r}")
    width = max(array.size for array in arrays)
    ids = np.full((len(arrays), width), padding, np.int64)
    mask = np.zeros((len(arrays), width), bool)
    for number, array in enumerate(arrays):
        where = slice(0, array.size) if side == "right" else slice(width - array.size, width)
        ids[number, where] = array
        mask[number, where] = True
    return ids, mask


def _pad_mask(given: Any, mask: np.ndarray, name: str, mask_name: str) -> np.ndarray:
    """A mask of rows of unlike lengths, at their places in ``mask``, which is true at them all."""
    rows = [np.asarray(row) for row in given]
    if [row.shape for row in rows] != [(n,) for n in mask.sum(1).tolist()]:
        raise ValueError(
            f"`{name}` has rows of unlike lengths, which need no `{mask_name}`: leave it out, or give rows of the same "
            "lengths"
        )
    padded = np.zeros(mask.shape, np.int64)
    padded[mask] = np.concatenate(rows)
    return padded


def with_start(rows: Rows, start: int) -> Rows:
    """Rows behind a first token, unless any of them begins with it.

    It stands right before the tokens of a row, behind its padding, so that a row is what it is alone.

    Parameters
    ----------
    rows : Rows
        At least one; padded at the left, if at all.
    start : int
    """
    n, width = rows.ids.shape
    firsts = rows.mask_array().argmax(1)
    if (rows.ids[np.arange(n), firsts] == start).any():
        return rows
    ids = np.empty((n, width + 1), np.int64)
    # one column more of what the padding is
    ids[:, 1:], ids[:, 0] = rows.ids, rows.ids[:, 0]
    ids[np.arange(n), firsts] = start
    if rows.mask is None:
        return Rows(ids, None)
    mask = np.zeros((n, width + 1), bool)
    mask[:, 1:] = rows.mask
    mask[np.arange(n), firsts] = True
    return Rows(ids, mask)


def guess_mask(rows: Rows, padding: int | None, ends: tuple[int, ...]) -> Rows:
    """Rows with a mask where padding tokens tell what it is, as transformers guesses it for decoders.

    Parameters
    ----------
    rows : Rows
        Without a mask.
    padding : int or None
        The padding token.
    ends : tuple of int
        Tokens that end rows; one that is the padding token too may be meant.
    """
    if padding is None or padding in ends or rows.mask is not None:
        return rows
    counted = rows.ids != padding
    return rows if counted.all() else Rows(rows.ids, counted)


def padded_left(rows: Rows, padding: int) -> Rows:
    """Rows with their padding at the left; those that have it there already stay as they are.

    Parameters
    ----------
    rows : Rows
    padding : int
        Id for the padding of rows that are moved.
    """
    if rows.mask is None or rows.mask[:, -1].all():
        return rows
    ids, mask = rows.ids.copy(), rows.mask.copy()
    width = ids.shape[1]
    for number in np.flatnonzero(~mask[:, -1]):
        tokens = ids[number, mask[number]]
        ids[number] = padding
        mask[number] = False
        if tokens.size:
            ids[number, width - tokens.size :] = tokens
            mask[number, width - tokens.size :] = True
    # columns that no row uses any more
    first = int(mask.any(0).argmax()) if mask.any() else width - 1
    return Rows(np.ascontiguousarray(ids[:, first:]), np.ascontiguousarray(mask[:, first:]))
