"""``Ragged``: rows of ids of different lengths as two flat arrays, with spans and missing rows."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp._ragged_edges import lists_from_arrow, lists_to_arrow, lists_to_awkward, lists_to_torch
from numba_nlp.kernels.segment import assemble

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Ragged"]

Side: TypeAlias = Literal["left", "right"]


class Ragged:
    """Rows of ids: row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Parameters
    ----------
    values : int32[m]
        The ids of all rows.
    offsets : int64[rows + 1]
        Where rows start and end; need not start at 0 (slices do not).
    starts, ends : int64[m], optional
        Span of each id in its row's text, both or none; -1 where an id comes from no text.
    valid : bool[rows], optional
        False for missing rows, which must be empty; default: none is missing.

    Raises
    ------
    TypeError, ValueError
        An array has the wrong dtype, shape or values.
    """

    __slots__ = ("_ends", "_offsets", "_starts", "_valid", "_values")

    def __init__(
        self,
        values: NDArray[np.int32],
        offsets: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
        ends: NDArray[np.int64] | None = None,
        valid: NDArray[np.bool_] | None = None,
    ) -> None:
        self._values = _checked("values", values, np.int32)
        self._offsets = _checked("offsets", offsets, np.int64)
        if (starts is None) != (ends is None):
            raise ValueError("give both `starts` and `ends`, or none of them")
        self._starts = None if starts is None else _checked("starts", starts, np.int64)
        self._ends = None if ends is None else _checked("ends", ends, np.int64)
        self._valid = None if valid is None else _checked("valid", valid, np.bool_)
        self._check()
        if self._valid is not None and self._valid.all():
            self._valid = None

    def _check(self) -> None:
        offsets, values = self._offsets, self._values
        if not offsets.size:
            raise ValueError("`offsets` is empty, expected one value more than there are rows")
        if offsets[0] < 0 or offsets[-1] > values.size:
            raise ValueError(
                f"`offsets` go from {offsets[0]} to {offsets[-1]}, expected them within 0 and {values.size}, "
                "the length of `values`"
            )
        decreasing = offsets[1:] < offsets[:-1]
        if decreasing.any():
            row = int(np.argmax(decreasing))
            raise ValueError(f"`offsets` decrease from {offsets[row]} to {offsets[row + 1]} at row {row}")
        for name, array in (("starts", self._starts), ("ends", self._ends)):
            if array is not None and array.size != values.size:
                raise ValueError(f"`{name}` has length {array.size}, expected that of `values`, {values.size}")
        if self._valid is not None:
            if self._valid.size != len(self):
                raise ValueError(f"`valid` has length {self._valid.size}, expected one value a row, {len(self)}")
            filled = ~self._valid & (self.row_lengths > 0)
            if filled.any():
                row = int(np.argmax(filled))
                raise ValueError(f"row {row} is missing in `valid` but has {self.row_lengths[row]} values")

    @classmethod
    def _trusted(
        cls,
        values: NDArray[np.int32],
        offsets: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
        ends: NDArray[np.int64] | None = None,
        valid: NDArray[np.bool_] | None = None,
    ) -> Ragged:
        """Rows from arrays that are known to be right."""
        result = cls.__new__(cls)
        result._values = values
        result._offsets = offsets
        result._starts = starts
        result._ends = ends
        result._valid = None if valid is None or valid.all() else valid
        return result

    # --- what is there -----------------------------------------------------------------------------------------

    @property
    def values(self) -> NDArray[np.int32]:
        """The ids; of a slice, those of all rows that it was cut from."""
        return self._values

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where rows start and end in :attr:`values`: int64[rows + 1]."""
        return self._offsets

    @property
    def starts(self) -> NDArray[np.int64] | None:
        """Where the span of each id starts: int64[m], or None when no spans were asked for."""
        return self._starts

    @property
    def ends(self) -> NDArray[np.int64] | None:
        """Where the span of each id ends: int64[m], or None."""
        return self._ends

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """False for missing rows: bool[rows], or None when no row is missing."""
        return self._valid

    @property
    def row_lengths(self) -> NDArray[np.int64]:
        """Number of ids of each row: int64[rows]."""
        return np.diff(self._offsets)

    @property
    def n_values(self) -> int:
        """Number of ids in all rows together."""
        return int(self._offsets[-1] - self._offsets[0])

    def __len__(self) -> int:
        return self._offsets.size - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[np.int32]: ...

    @overload
    def __getitem__(self, index: slice) -> Ragged: ...

    def __getitem__(self, index: int | slice) -> NDArray[np.int32] | Ragged:
        """Ids of one row (a view; a missing row is empty), or the rows of a slice over the same arrays."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError(f"the step of a slice of Ragged must be 1, got {step}; use take(indices)")
            stop = max(start, stop)
            valid = None if self._valid is None else self._valid[start:stop]
            offsets = self._offsets[start : stop + 1]
            return self._trusted(self._values, offsets, self._starts, self._ends, valid)
        row = self._row(index)
        return self._values[self._offsets[row] : self._offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        bounds = self._offsets.tolist()
        for row in range(len(self)):
            yield self._values[bounds[row] : bounds[row + 1]]

    def spans(self, row: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of the ids of one row, as views.

        Raises
        ------
        ValueError
            There are no spans.
        """
        if self._starts is None or self._ends is None:
            raise ValueError("there are no spans; encode with spans=True")
        number = self._row(row)
        part = slice(self._offsets[number], self._offsets[number + 1])
        return self._starts[part], self._ends[part]

    def _row(self, index: int) -> int:
        try:
            row = operator.index(index)
        except TypeError:
            raise TypeError(f"index of Ragged must be an int or a slice, got {type(index).__name__}") from None
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} is outside of {len(self)} rows")
        return row % len(self)

    def __repr__(self) -> str:
        missing = "" if self._valid is None else f", {int((~self._valid).sum())} missing"
        spans = "" if self._starts is None else ", with spans"
        return f"<Ragged of {len(self)} rows, {self.n_values} values{spans}{missing}>"

    def equals(self, other: Ragged) -> bool:
        """Whether both have the same rows, spans and missing rows; where the values lie does not matter."""
        mine, theirs = self.compact(), other.compact()
        pairs = (
            (mine._offsets, theirs._offsets),
            (mine._values, theirs._values),
            (mine._starts, theirs._starts),
            (mine._ends, theirs._ends),
            (mine._valid, theirs._valid),
        )
        return all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b))  # type: ignore[arg-type]
            for a, b in pairs
        )

    # --- other rows --------------------------------------------------------------------------------------------

    def compact(self) -> Ragged:
        """The same rows with offsets from 0 and no values before or behind them; arrays are views."""
        first, last = int(self._offsets[0]), int(self._offsets[-1])
        if first == 0 and last == self._values.size:
            return self
        return self._trusted(
            self._values[first:last],
            self._offsets - first,
            None if self._starts is None else self._starts[first:last],
            None if self._ends is None else self._ends[first:last],
            self._valid,
        )

    def take(self, indices: ArrayLike) -> Ragged:
        """Copy of chosen rows, in the given order.

        Parameters
        ----------
        indices : array_like of int, one-dimensional
            Row numbers, negative ones counted from the end; may repeat.

        Raises
        ------
        TypeError, IndexError
            The indices are no integers, or outside of the rows.
        """
        given = np.asarray(indices)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise TypeError(
                f"`indices` must be a one-dimensional array of int, got {given.dtype}{list(given.shape)}; "
                "for a mask use np.flatnonzero(mask)"
            )
        wanted = given.astype(np.int64)
        wanted[wanted < 0] += len(self)
        outside = (wanted < 0) | (wanted >= len(self))
        if outside.any():
            at = int(np.argmax(outside))
            raise IndexError(f"`indices` holds {given[at]} at {at}, outside of {len(self)} rows")
        offsets = np.zeros(wanted.size + 1, np.int64)
        np.cumsum(self.row_lengths[wanted], out=offsets[1:])

        def taken(values: NDArray[Any]) -> NDArray[Any]:
            out = np.empty(offsets[-1], values.dtype)
            assemble.take_rows(_view(values), _view(self._offsets), _view(wanted), _view(offsets), out)
            return out

        return self._trusted(
            taken(self._values),
            offsets,
            None if self._starts is None else taken(self._starts),
            None if self._ends is None else taken(self._ends),
            None if self._valid is None else self._valid[wanted],
        )

    @classmethod
    def concatenate(cls, parts: Iterable[Ragged]) -> Ragged:
        """All rows of several ``Ragged``, in order.

        Raises
        ------
        ValueError
            Some parts have spans and some have none.
        """
        tight = [part.compact() for part in parts]
        with_spans = [part for part in tight if part._starts is not None]
        if with_spans and len(with_spans) != len(tight):
            raise ValueError("some parts have spans and some have none; encode all with the same `spans`")
        offsets = np.zeros(sum(map(len, tight)) + 1, np.int64)
        if tight:
            np.cumsum(np.concatenate([part.row_lengths for part in tight]), out=offsets[1:])
        valid = None
        if any(part._valid is not None for part in tight):
            valid = np.concatenate(
                [np.ones(len(part), np.bool_) if part._valid is None else part._valid for part in tight]
            )

        def joined(arrays: list[Any], dtype: type[np.generic]) -> NDArray[Any]:
            return np.concatenate(arrays) if arrays else np.zeros(0, dtype)

        return cls._trusted(
            joined([part._values for part in tight], np.int32),
            offsets,
            joined([part._starts for part in tight], np.int64) if with_spans else None,
            joined([part._ends for part in tight], np.int64) if with_spans else None,
            valid,
        )

    # --- other forms -------------------------------------------------------------------------------------------

    def to_list(self) -> list[list[int] | None]:
        """The rows as lists of int, None for missing rows."""
        first = int(self._offsets[0])
        bounds = (self._offsets - first).tolist()
        flat = self._values[first : int(self._offsets[-1])].tolist()
        rows: list[list[int] | None] = [flat[bounds[row] : bounds[row + 1]] for row in range(len(self))]
        if self._valid is not None:
            for row in np.flatnonzero(~self._valid).tolist():
                rows[row] = None
        return rows

    def to_padded(
        self,
        pad_id: int = 0,
        *,
        max_length: int | None = None,
        side: Side = "right",
        truncation_side: Side = "right",
        pad_to_multiple_of: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows as a matrix, as wide as the longest row.

        Parameters
        ----------
        pad_id : int, default 0
            Fills short rows.
        max_length : int, optional
            Longer rows are cut to this many ids.
        side : {"right", "left"}
            Where short rows are filled.
        truncation_side : {"right", "left"}
            Where long rows lose ids.
        pad_to_multiple_of : int, optional
            Round the width up to a multiple of this, beyond ``max_length`` if need be.

        Returns
        -------
        input_ids, attention_mask : int64[rows, width]
            Fresh and C-contiguous; the mask is 1 at ids and 0 at padding. Missing rows are all padding.

        Raises
        ------
        ValueError
            An argument is out of range.
        """
        _check_number("pad_id", pad_id, -(2**63))
        for name, value in (("side", side), ("truncation_side", truncation_side)):
            if value not in ("left", "right"):
                raise ValueError(f"`{name}` must be 'left' or 'right', got {value!r}")
        limit = int(self.row_lengths.max(initial=0))
        if max_length is not None:
            _check_number("max_length", max_length, 0)
            limit = min(limit, max_length)
        width = limit
        if pad_to_multiple_of is not None:
            _check_number("pad_to_multiple_of", pad_to_multiple_of, 1)
            width = -(-limit // pad_to_multiple_of) * pad_to_multiple_of
        input_ids = np.empty((len(self), width), np.int64)
        attention_mask = np.empty((len(self), width), np.int64)
        assemble.pad_rows(
            _view(self._values),
            _view(self._offsets),
            int(pad_id),
            limit,
            side == "left",
            truncation_side == "left",
            input_ids,
            attention_mask,
        )
        return input_ids, attention_mask

    def to_arrow(self, field: Literal["values", "starts", "ends"] = "values") -> pa.LargeListArray:
        """The rows as an Arrow large_list over the same memory.

        Parameters
        ----------
        field : {"values", "starts", "ends"}
            The ids, or where their spans start or end.

        Raises
        ------
        ValueError
            The field is unknown, or there are no spans.
        """
        if field not in ("values", "starts", "ends"):
            raise ValueError(f"`field` must be 'values', 'starts' or 'ends', got {field!r}")
        values: NDArray[Any] | None = getattr(self, field)
        if values is None:
            raise ValueError(f"there are no {field}; encode with spans=True")
        return lists_to_arrow(values, self._offsets, self._valid)

    @classmethod
    def from_arrow(cls, array: pa.Array | pa.ChunkedArray) -> Ragged:
        """Rows from an Arrow list or large_list of integers; null lists become missing rows.

        The values of one chunk of int32 are not copied; other integers are cast, several chunks are joined.

        Raises
        ------
        TypeError
            The array is of another type.
        ValueError
            A value is null or does not fit int32.
        """
        values, offsets, valid = lists_from_arrow(array)
        return cls(values, offsets, valid=valid)

    def to_awkward(self) -> Any:
        """The rows as an awkward array over the same memory; missing rows are None."""
        return lists_to_awkward(self._values, self._offsets, self._valid)

    def to_torch_nested(self) -> Any:
        """The rows as a jagged nested tensor of int32; missing rows are empty.

        Jagged tensors are a prototype in torch; :meth:`to_padded` is the safe way.
        """
        tight = self.compact()
        return lists_to_torch(tight._values, tight._offsets)

    def __reduce__(self) -> tuple[Any, ...]:
        tight = self.compact()
        return Ragged, (tight._values, tight._offsets, tight._starts, tight._ends, tight._valid)


def _checked(name: str, array: Any, dtype: type[np.generic]) -> NDArray[Any]:
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype) or array.ndim != 1:
        got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"`{name}` must be a one-dimensional array of {np.dtype(dtype)}, got {got}")
    return np.ascontiguousarray(array)


def _check_number(name: str, value: Any, least: int) -> None:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be an int, got {type(value).__name__}") from None
    if not least <= number < 2**63:
        raise ValueError(f"`{name}` must be at least {least} and below 2**63, got {number}")


def _view(array: NDArray[Any]) -> NDArray[Any]:
    """Read-only view, so that kernels are compiled once whether or not the caller's array can be written."""
    view = array.view()
    view.flags.writeable = False
    return view
