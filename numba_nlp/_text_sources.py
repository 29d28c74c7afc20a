"""The ways in for ``TextRows``: Python strings, numpy and Arrow, gathered into one buffer, then validated once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from importlib.util import find_spec
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from numba_nlp._arguments import choice
from numba_nlp._extras import extra
from numba_nlp.errors import InvalidTextError, MissingRowError
from numba_nlp.kernels.tables import utf8

__all__ = ["Errors", "Nulls", "Parts", "apply_nulls", "check_choices", "dispatch", "gather_arrow"]
__all__ += ["gather_strings", "validated"]

Errors: TypeAlias = Literal["strict", "replace"]
Nulls: TypeAlias = Literal["error", "empty", "null"]
#: data, offsets, ends, valid of ``TextRows``.
Parts: TypeAlias = tuple[NDArray[np.uint8], NDArray[np.int64], "NDArray[np.int64] | None", "NDArray[np.bool_] | None"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_choices(errors: str, nulls: str) -> None:
    """Refuse unknown values of the two options.

    Raises
    ------
    ValueError
    """
    choice("errors", errors, ("strict", "replace"))
    choice("nulls", nulls, ("error", "empty", "null"))


def dispatch(source: Any, errors: Errors, nulls: Nulls) -> Parts:
    """Gather rows from anything that ``TextRows.from_any`` accepts, ``TextRows`` itself apart.

    Raises
    ------
    InvalidTextError, MissingRowError, TypeError
    """
    if isinstance(source, (str, bytes)):
        return gather_strings([source], errors, nulls)
    if isinstance(source, (list, tuple, np.ndarray)):
        return gather_strings(source, errors, nulls)
    home = type(source).__module__.partition(".")[0]
    if home == "pyarrow":
        return gather_arrow(source, errors, nulls)
    # A pandas column of Python objects may mix str, bytes and NaN, which Arrow refuses.
    is_objects = getattr(source, "dtype", None) == np.dtype(object)
    if home == "pandas" and (is_objects or find_spec("pyarrow") is None):
        return gather_strings(source.to_numpy(dtype=object), errors, nulls)
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        pa = extra("pyarrow")

        if home == "polars" and str(getattr(source, "dtype", "")).startswith(("Categorical", "Enum")):
            # the stream of such a column contradicts its own schema in polars 1.20 to 1.30
            return gather_arrow(source.to_arrow(), errors, nulls)
        is_stream = hasattr(source, "__arrow_c_stream__")
        return gather_arrow(pa.chunked_array(source) if is_stream else pa.array(source), errors, nulls)
    if home == "pandas" and hasattr(source, "to_numpy"):
        return gather_strings(source.to_numpy(dtype=object), errors, nulls)
    if isinstance(source, Iterable) and not isinstance(source, (Mapping, Set, bytearray, memoryview)):
        return gather_strings(source, errors, nulls)
    raise TypeError(
        f"text must be str, bytes, an iterable of them, a numpy or Arrow array or a Series, got {_type_name(source)}"
    )


# --- Python and numpy strings ----------------------------------------------------------------------------------


def gather_strings(strings: Iterable[Any], errors: Errors, nulls: Nulls) -> Parts:
    """Gather an iterable or numpy array of str, bytes and missing values.

    Raises
    ------
    InvalidTextError, MissingRowError, TypeError
    """
    if isinstance(strings, np.ndarray):
        if strings.ndim != 1 or strings.dtype.kind not in "OUST":
            raise TypeError(
                "an array of text must be one-dimensional of kind O, U, S or T, "
                f"got {strings.dtype}{list(strings.shape)}"
            )
        items = tuple(strings.tolist())
    elif isinstance(strings, (str, bytes)):
        raise TypeError(f"`strings` is one {type(strings).__name__}; pass [text], or use from_any for a single text")
    elif not isinstance(strings, Iterable):
        raise TypeError(f"`strings` must hold str and bytes, got {_type_name(strings)}")
    else:
        # A copy: another thread may change the caller's list meanwhile.
        items = tuple(strings)
    plain = _gather_plain(items)
    if plain is not None:
        return (*plain, None, None)
    return _gather_mixed(items, errors, nulls)


def _gather_plain(items: tuple[Any, ...]) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
    """Gather rows that are all valid ``str``, or return None for the general way to decide."""
    from numba_nlp import _fastcall

    if _fastcall.AVAILABLE:
        return _fastcall.gather_strings(items)
    try:
        joined = "".join(items)
    except TypeError:
        return None
    # Methods of str itself, here and below: a subclass may say anything about its length.
    if joined.isascii():
        return _buffer(joined.encode("ascii"), list(map(str.__len__, items)))
    try:
        data = joined.encode()
    except UnicodeEncodeError:
        return None
    # The whole is encoded at once; only rows that are not ASCII are encoded again, for their length.
    return _buffer(data, [str.__len__(item) if str.isascii(item) else len(str.encode(item)) for item in items])


def _gather_mixed(items: tuple[Any, ...], errors: Errors, nulls: Nulls) -> Parts:
    """Gather str, bytes and missing values row by row."""
    encoded: list[bytes] = []
    missing: list[int] = []
    for row, item in enumerate(items):
        if isinstance(item, str):
            text = _SURROGATE.sub("\ufffd", item) if errors == "replace" else item
            # A lone surrogate becomes bytes that the validation below refuses at the right place.
            encoded.append(str.encode(text, "utf-8", "surrogatepass"))
        elif isinstance(item, bytes):
            encoded.append(item)
        elif _is_missing(item):
            encoded.append(b"")
            missing.append(row)
        else:
            raise TypeError(f"row {row} must be str, bytes or missing (None, NaN), got {_type_name(item)}")
    data, offsets = _buffer(b"".join(encoded), [bytes.__len__(item) for item in encoded])
    valid = None
    if missing:
        valid = np.ones(len(items), np.bool_)
        valid[missing] = False
    parts = apply_nulls(data, offsets, None, valid, nulls)
    return (*validated(data, offsets, None, valid, errors), parts[3])


def _buffer(data: bytes, lengths: list[int]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.array(lengths, np.int64), out=offsets[1:])
    offsets.flags.writeable = False
    return np.frombuffer(data, np.uint8), offsets


def _is_missing(item: Any) -> bool:
    if item is None:
        return True
    if isinstance(item, (float, np.floating)):
        return bool(np.isnan(item))
    # pandas.NA and pandas.NaT, without importing pandas.
    return type(item).__name__ in ("NAType", "NaTType")


def _type_name(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


# --- Arrow -----------------------------------------------------------------------------------------------------


def gather_arrow(array: Any, errors: Errors, nulls: Nulls, first_row: int = 0) -> Parts:
    """Gather an Arrow array; ``first_row`` is added to row numbers in errors.

    Raises
    ------
    InvalidTextError, MissingRowError, TypeError
    """
    pa = extra("pyarrow")

    if not isinstance(array, (pa.Array, pa.ChunkedArray)):
        raise TypeError(f"expected a pyarrow Array or ChunkedArray, got {_type_name(array)}; pick one column")
    if isinstance(array, pa.ChunkedArray):
        chunks = [_flat_arrow(chunk, joined=array.num_chunks > 1) for chunk in array.chunks]
        if not chunks:
            chunks = [_flat_arrow(pa.nulls(0, array.type), joined=False)]
        array = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
    else:
        array = _flat_arrow(array, joined=False)

    n_rows = len(array)
    _, offset_buffer, data_buffer = array.buffers()
    width = np.int32 if array.type in (pa.string(), pa.binary()) else np.int64
    if n_rows:
        first = array.offset * np.dtype(width).itemsize
        offsets = np.frombuffer(offset_buffer, width, n_rows + 1, first).astype(np.int64, copy=False)
    else:
        # An array without rows may come without any buffer.
        offsets = np.zeros(1, np.int64)
    if offsets[-1] and data_buffer is not None:
        data = np.frombuffer(data_buffer, np.uint8)
    else:
        data = np.zeros(0, np.uint8)
    if offsets[0] < 0 or offsets[-1] > data.size or (offsets[1:] < offsets[:-1]).any():
        raise ValueError("the Arrow array's offsets are inconsistent; array.validate(full=True) tells more")
    offsets.flags.writeable = False
    data.flags.writeable = False

    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    data, offsets, ends, valid_out = apply_nulls(data, offsets, None, valid, nulls, first_row)
    return (*validated(data, offsets, ends, valid, errors, first_row), valid_out)


def _flat_arrow(array: Any, *, joined: bool) -> Any:
    """The array as string, large_string, binary or large_binary; always with 64-bit offsets when ``joined``."""
    pa = extra("pyarrow")
    kinds = pa.types

    kind = array.type
    if kinds.is_dictionary(kind):
        # Arrow cannot take from string views, so the dictionary is laid out first; wide, since taking may repeat it.
        return _flat_arrow(array.dictionary, joined=True).take(array.indices)
    if kinds.is_null(kind):
        return array.cast(pa.large_string())
    is_text = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
    binary = (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view, kinds.is_fixed_size_binary)
    if not is_text and not any(is_kind(kind) for is_kind in binary):
        way_out = "; pass one column of the table" if kinds.is_struct(kind) else ""
        raise TypeError(f"an Arrow array of text must be of a string or binary type, got {kind}{way_out}")
    # Joined 32-bit offsets could overflow, views have no offsets, fixed sizes none either.
    if joined or not (kinds.is_string(kind) or kinds.is_binary(kind)):
        wide = pa.large_string() if is_text else pa.large_binary()
        return array if kind == wide else array.cast(wide)
    return array


# --- rules for all sources -------------------------------------------------------------------------------------


def apply_nulls(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ends: NDArray[np.int64] | None,
    valid: NDArray[np.bool_] | None,
    nulls: Nulls,
    first_row: int = 0,
) -> Parts:
    """Treat missing rows as ``nulls`` says; missing rows come out empty.

    Raises
    ------
    MissingRowError
    """
    if valid is None or valid.all():
        return data, offsets, ends, None
    if nulls == "error":
        row = int(np.argmin(valid)) + first_row
        raise MissingRowError(
            f"row {row} is missing (None, NaN or null); pass nulls='empty' to take missing rows as empty text, or "
            "nulls='null' to keep them missing"
        )
    last = offsets[1:] if ends is None else ends
    if (last > offsets[:-1])[~valid].any():
        ends = np.where(valid, last, offsets[:-1])
        ends.flags.writeable = False
    return data, offsets, ends, valid if nulls == "null" else None


def validated(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    ends: NDArray[np.int64] | None,
    valid: NDArray[np.bool_] | None,
    errors: Errors,
    first_row: int = 0,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64] | None]:
    """Check that all rows are UTF-8; the same arrays when they are, repaired copies with ``errors="replace"``.

    Parameters
    ----------
    data, offsets, ends : arrays of ``TextRows``
        Read-only.
    valid : bool[rows] or None
        Rows that are False are not looked at.
    errors : {"strict", "replace"}
    first_row : int
        Added to row numbers in errors.

    Raises
    ------
    InvalidTextError
        The first bad row, when ``errors="strict"``.
    """
    starts = offsets[:-1]
    last = offsets[1:] if ends is None else ends
    if valid is not None:
        last = np.where(valid, last, starts)
        last.flags.writeable = False
    bad_byte = np.zeros(1, np.int64)
    row = utf8.validate_rows(data, starts, last, 0, bad_byte)
    if row < 0:
        return data, offsets, ends
    if errors == "strict":
        raise_invalid(data, int(starts[row]), int(last[row]), int(row) + first_row, int(bad_byte[0]))

    lengths = last - starts
    pieces: list[Any] = []
    copied = 0
    while row >= 0:
        repaired = data[starts[row] : last[row]].tobytes().decode("utf-8", "replace").encode()
        pieces += _row_pieces(data, starts, last, copied, row)
        pieces.append(repaired)
        lengths[row] = len(repaired)
        copied = row + 1
        row = utf8.validate_rows(data, starts, last, copied, bad_byte)
    pieces += _row_pieces(data, starts, last, copied, starts.size)
    new_data, new_offsets = _buffer(b"".join(pieces), lengths.tolist())
    return new_data, new_offsets, None


def _row_pieces(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], first: int, stop: int
) -> list[NDArray[np.uint8]]:
    """Bytes of the rows ``first`` to ``stop``, in one piece where no bytes lie between them."""
    if first == stop:
        return []
    if np.array_equal(starts[first + 1 : stop], ends[first : stop - 1]):
        return [data[starts[first] : ends[stop - 1]]]
    return [data[starts[row] : ends[row]] for row in range(first, stop)]


def raise_invalid(data: NDArray[np.uint8], start: int, end: int, row: int, byte: int) -> NoReturn:
    """Raise the error of a row that is not UTF-8.

    Parameters
    ----------
    data, start, end
        The row is ``data[start:end]``.
    row : int
        Its number, for the message.
    byte : int
        Offset of the first bad sequence within the row.
    """
    shown = data[start + byte : min(start + byte + 4, end)].tobytes()
    what = f"bytes {shown.hex(' ')} are not UTF-8"
    if len(shown) >= 3 and shown[0] == 0xED and 0xA0 <= shown[1] <= 0xBF:
        what = f"lone surrogate U+{0xD000 | (shown[1] & 0x3F) << 6 | shown[2] & 0x3F:04X} is no character"
    raise InvalidTextError(
        f"row {row}, byte {byte}: {what}; pass errors='replace' to put U+FFFD there", row=row, byte=byte
    )
