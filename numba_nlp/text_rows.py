"""``TextRows``: rows of valid UTF-8 over one buffer; the form in which all text enters and leaves the kernels."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import path as checked_path
from numba_nlp._extras import extra
from numba_nlp._text_sources import (
    Errors,
    Nulls,
    apply_nulls,
    check_choices,
    dispatch,
    gather_arrow,
    gather_strings,
    validated,
)
from numba_nlp.kernels.tables import rows as kernels

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TextRows"]


class TextRows:
    """Rows of text: row ``i`` is ``data[offsets[i]:ends[i]]``, valid UTF-8.

    Immutable, but the bytes are those of the buffer that it was made from, checked once: nobody may write to that
    buffer, or to a mapped file, while the rows are in use. Indexing with an int gives a ``str`` (None for a missing
    row), slicing gives rows over the same buffer.

    Parameters
    ----------
    data : uint8[n]
        The bytes.
    offsets : int64[rows + 1]
        Where each row starts; the last value bounds the last row. Need not start at 0.
    ends : int64[rows], optional
        Where each row ends when that is before the next row starts (stripped line ends); default ``offsets[1:]``.
    valid : bool[rows], optional
        False for missing rows, whose bytes are left out; default: none is missing.
    errors : {"strict", "replace"}
        What to do with bytes that are not UTF-8; see :meth:`from_strings`.

    Raises
    ------
    TypeError, ValueError
        An array has the wrong dtype, shape or values.
    InvalidTextError
        A row is not UTF-8 and ``errors="strict"``.
    """

    __slots__ = ("_data", "_ends", "_offsets", "_valid")

    def __init__(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        ends: NDArray[np.int64] | None = None,
        valid: NDArray[np.bool_] | None = None,
        *,
        errors: Errors = "strict",
    ) -> None:
        check_choices(errors, "error")
        self._data = _frozen("data", data, np.uint8)
        self._offsets = _frozen("offsets", offsets, np.int64)
        self._ends = None if ends is None else _frozen("ends", ends, np.int64)
        self._valid = None if valid is None else _frozen("valid", valid, np.bool_)
        self._check_bounds()
        parts = apply_nulls(self._data, self._offsets, self._ends, self._valid, "null")
        self._data, self._offsets, self._ends = validated(*parts, errors)
        self._valid = parts[3]

    def _check_bounds(self) -> None:
        offsets, ends = self._offsets, self._ends
        if not offsets.size:
            raise ValueError("`offsets` is empty, expected one value more than there are rows")
        if offsets[0] < 0 or offsets[-1] > self._data.size:
            raise ValueError(
                f"`offsets` go from {offsets[0]} to {offsets[-1]}, expected them within 0 and {self._data.size}, "
                "the length of `data`"
            )
        if (offsets[1:] < offsets[:-1]).any():
            row = int(np.argmax(offsets[1:] < offsets[:-1]))
            raise ValueError(f"`offsets` decrease from {offsets[row]} to {offsets[row + 1]} at row {row}")
        for name, array in (("ends", ends), ("valid", self._valid)):
            if array is not None and array.size != offsets.size - 1:
                raise ValueError(f"`{name}` has length {array.size}, expected one value a row, {offsets.size - 1}")
        if ends is not None:
            outside = (ends < offsets[:-1]) | (ends > offsets[1:])
            if outside.any():
                row = int(np.argmax(outside))
                raise ValueError(f"`ends` is {ends[row]} at row {row}, expected {offsets[row]} to {offsets[row + 1]}")

    @classmethod
    def _trusted(
        cls,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        ends: NDArray[np.int64] | None = None,
        valid: NDArray[np.bool_] | None = None,
    ) -> TextRows:
        """Rows from arrays that were checked already; the arrays become read-only views."""
        result = cls.__new__(cls)
        result._data = _read_only(data)
        result._offsets = _read_only(offsets)
        result._ends = None if ends is None else _read_only(ends)
        result._valid = None if valid is None or valid.all() else _read_only(valid)
        return result

    # --- where text comes from ---------------------------------------------------------------------------------

    @classmethod
    def from_strings(cls, strings: Iterable[Any], *, errors: Errors = "strict", nulls: Nulls = "error") -> TextRows:
        """Rows from ``str``, ``bytes`` and missing values.

        Parameters
        ----------
        strings : iterable or numpy array of kind O, U, S or T
            Each item is a ``str``, ``bytes``, or missing (None, NaN, ``pandas.NA``).
        errors : {"strict", "replace"}
            ``"strict"`` raises at the first row that is not valid. ``"replace"`` gives exactly what
            ``bytes.decode("utf-8", "replace")`` gives (U+FFFD for each maximal subpart), and U+FFFD for each lone
            surrogate of a ``str``.
        nulls : {"error", "empty", "null"}
            A missing row raises, becomes an empty row, or stays missing (recorded in :attr:`valid`).

        Raises
        ------
        InvalidTextError
            With the row and the byte.
        MissingRowError
            A row is missing and ``nulls="error"``.
        TypeError
            An item is of another type; names the type and the row.
        """
        check_choices(errors, nulls)
        return cls._trusted(*gather_strings(strings, errors, nulls))

    @classmethod
    def from_arrow(
        cls, array: pa.Array | pa.ChunkedArray, *, errors: Errors = "strict", nulls: Nulls = "error"
    ) -> TextRows:
        """Rows from an Arrow array of strings or binaries.

        The bytes of string, large_string, binary and large_binary arrays are not copied, sliced or not. String views
        and dictionaries are laid out first, several chunks are joined: :meth:`iter_arrow` spares the joining.

        Parameters
        ----------
        array : pyarrow.Array or pyarrow.ChunkedArray
        errors, nulls
            As in :meth:`from_strings`.

        Raises
        ------
        InvalidTextError, MissingRowError
            As :meth:`from_strings`.
        TypeError
            The array is of another type.
        """
        check_choices(errors, nulls)
        return cls._trusted(*gather_arrow(array, errors, nulls))

    @classmethod
    def iter_arrow(
        cls, array: pa.Array | pa.ChunkedArray, *, errors: Errors = "strict", nulls: Nulls = "error"
    ) -> Iterator[TextRows]:
        """Rows of an Arrow array chunk by chunk, each as :meth:`from_arrow` without joining them.

        Row numbers in errors count from the start of the whole array.
        """
        check_choices(errors, nulls)
        first_row = 0
        for chunk in array.chunks if hasattr(array, "chunks") else [array]:
            yield cls._trusted(*gather_arrow(chunk, errors, nulls, first_row))
            first_row += len(chunk)

    @classmethod
    def from_any(cls, source: Any, *, errors: Errors = "strict", nulls: Nulls = "error") -> TextRows:
        """Rows from whatever holds text.

        Parameters
        ----------
        source : TextRows, str, bytes, iterable, numpy array, Arrow array, or Series
            One ``str`` or ``bytes`` is one row. Whatever speaks Arrow's C interface (polars, pandas) goes through
            Arrow, other iterables but mappings and sets, which have no rows in order, through :meth:`from_strings`.
        errors, nulls
            As in :meth:`from_strings`.

        Raises
        ------
        InvalidTextError, MissingRowError, TypeError
            As :meth:`from_strings`.
        """
        check_choices(errors, nulls)
        if isinstance(source, TextRows):
            if source._valid is None or nulls == "null":
                return source
            parts = source._data, source._offsets, source._ends, source._valid
            return cls._trusted(*apply_nulls(*parts, nulls))
        return cls._trusted(*dispatch(source, errors, nulls))

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], keep_line_ends: bool = False, *, errors: Errors = "strict"
    ) -> TextRows:
        r"""Rows that are the lines of a memory-mapped UTF-8 file.

        A line ends at ``\n`` only; bytes after the last ``\n`` are a line too, and an empty file has none. A
        byte-order mark is text. The file must not be changed or shortened while the rows are in use.

        Parameters
        ----------
        path : path-like
        keep_line_ends : bool, default False
            Keep ``\n`` and ``\r\n`` in the rows instead of leaving them out; a lone ``\r`` always stays.
        errors : {"strict", "replace"}
            As in :meth:`from_strings`. The file is checked in one pass; it is copied to memory only if there is
            something to replace.

        Raises
        ------
        InvalidTextError
            Names the line (row, counted from 0) and the byte.
        OSError
            The file cannot be opened.
        """
        check_choices(errors, "error")
        location = checked_path("path", path)
        data = np.zeros(0, np.uint8)
        # An empty file cannot be mapped.
        if location.stat().st_size:
            data = np.memmap(location, np.uint8, mode="r").view(np.ndarray)
        data = _read_only(data)
        n_lines = kernels.count_lines(data)
        offsets = np.empty(n_lines + 1, np.int64)
        ends = np.empty(n_lines, np.int64)
        kernels.find_lines(data, not keep_line_ends, offsets, ends)
        stripped = None if keep_line_ends else _read_only(ends)
        return cls._trusted(*validated(data, _read_only(offsets), stripped, None, errors))

    # --- what is there -----------------------------------------------------------------------------------------

    @property
    def data(self) -> NDArray[np.uint8]:
        """The buffer; it may hold more than the rows."""
        return self._data

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each row starts, and a bound of the last row: int64[rows + 1]."""
        return self._offsets

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each row starts in :attr:`data`: int64[rows]."""
        return self._offsets[:-1]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each row ends in :attr:`data`: int64[rows]."""
        return self._offsets[1:] if self._ends is None else self._ends

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """False for missing rows: bool[rows], or None when no row is missing."""
        return self._valid

    @property
    def n_rows(self) -> int:
        """Number of rows, as ``len``."""
        return self._offsets.size - 1

    @property
    def nbytes(self) -> int:
        """Bytes of text in all rows together."""
        return int((self.ends - self.starts).sum())

    def __len__(self) -> int:
        return self._offsets.size - 1

    @overload
    def __getitem__(self, index: int) -> str | None: ...

    @overload
    def __getitem__(self, index: slice) -> TextRows: ...

    def __getitem__(self, index: int | slice) -> str | TextRows | None:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError(f"the step of a slice of TextRows must be 1, got {step}")
            stop = max(start, stop)
            return self._trusted(
                self._data,
                self._offsets[start : stop + 1],
                None if self._ends is None else self._ends[start:stop],
                None if self._valid is None else self._valid[start:stop],
            )
        try:
            row = operator.index(index)
        except TypeError:
            raise TypeError(f"index of TextRows must be an int or a slice, got {type(index).__name__}") from None
        n_rows = len(self)
        if not -n_rows <= row < n_rows:
            raise IndexError(f"row {row} is outside of {n_rows} rows")
        row %= n_rows
        if self._valid is not None and not self._valid[row]:
            return None
        return self._data[self._offsets[row] : self.ends[row]].tobytes().decode("utf-8")

    def __iter__(self) -> Iterator[str | None]:
        view = self._data.data
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        if self._valid is None:
            for start, end in bounds:
                yield str(view[start:end], "utf-8")
        else:
            for (start, end), is_there in zip(bounds, self._valid.tolist(), strict=True):
                yield str(view[start:end], "utf-8") if is_there else None

    def __repr__(self) -> str:
        missing = "" if self._valid is None else f", {int((~self._valid).sum())} missing"
        return f"<TextRows of {len(self)} rows, {self.nbytes} bytes{missing}>"

    def equals(self, other: TextRows) -> bool:
        """Whether both have the same rows, missing ones included; where the bytes lie does not matter."""
        if len(self) != len(other):
            return False
        mine, theirs = self.compact(), other.compact()
        same_missing = np.array_equal(self._is_there(), other._is_there())
        return (
            same_missing and np.array_equal(mine._offsets, theirs._offsets) and np.array_equal(mine._data, theirs._data)
        )

    def _is_there(self) -> NDArray[np.bool_]:
        return np.ones(len(self), np.bool_) if self._valid is None else self._valid

    # --- where text goes ---------------------------------------------------------------------------------------

    def to_list(self) -> list[str | None]:
        """The rows as ``str``, None for missing ones."""
        return list(self)

    def to_arrow(self) -> pa.Array:
        """The rows as a large_string array; copies the bytes only if rows end before the next one starts."""
        pa = extra("pyarrow")
        tight = self if self._ends is None else self.compact()
        validity = None
        if self._valid is not None:
            validity = pa.py_buffer(np.packbits(self._valid, bitorder="little"))
        buffers = [validity, pa.py_buffer(tight._offsets), pa.py_buffer(tight._data)]
        return pa.Array.from_buffers(pa.large_string(), len(self), buffers)

    def compact(self) -> TextRows:
        """The same rows with nothing before, between or behind them.

        Returns
        -------
        TextRows
            ``self`` when it is like that already, else a copy.
        """
        starts, ends = self.starts, self.ends
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(ends - starts, out=offsets[1:])
        if offsets[-1] == self._data.size and np.array_equal(offsets, self._offsets):
            return self if self._ends is None else self._trusted(self._data, offsets, None, self._valid)
        out = np.empty(offsets[-1], np.uint8)
        kernels.copy_rows(self._data, _read_only(starts), _read_only(ends), _read_only(offsets), out)
        return self._trusted(out, offsets, None, self._valid)

    def __reduce__(self) -> tuple[Any, ...]:
        tight = self.compact()
        return _unpickled, (tight._data, tight._offsets, tight._valid)


def _unpickled(data: NDArray[np.uint8], offsets: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> TextRows:
    return TextRows._trusted(data, offsets, None, valid)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels are compiled for one kind of array, and rows never change."""
    view = array.view()
    view.flags.writeable = False
    return view


def _frozen(name: str, array: Any, dtype: type[np.generic]) -> NDArray[Any]:
    """Check dtype and shape of an array that a caller gave, and freeze a view of it."""
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype) or array.ndim != 1:
        got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"`{name}` must be a one-dimensional array of {np.dtype(dtype)}, got {got}")
    return _read_only(np.ascontiguousarray(array).view(np.ndarray))
