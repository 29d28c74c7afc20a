"""The ways of ``Ragged`` and of model inputs to and from Arrow, awkward and torch, imported only when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._extras import extra

__all__ = ["array_to_torch", "lists_from_arrow", "lists_to_arrow", "lists_to_awkward", "lists_to_torch"]


def lists_to_arrow(values: NDArray[Any], offsets: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> Any:
    """Arrow large_list over the memory of the arrays."""
    pa = extra("pyarrow")

    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    child = pa.array(values)
    buffers = [validity, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.large_list(child.type), offsets.size - 1, buffers, children=[child])


def lists_from_arrow(array: Any) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_] | None]:
    """Values, offsets and validity of an Arrow list of integers; see ``Ragged.from_arrow``."""
    pa = extra("pyarrow")

    kind = array.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not is_list or not pa.types.is_integer(kind.value_type):
        raise TypeError(f"expected an Arrow list of integers, got {kind}")
    wide = pa.large_list(pa.int32())
    try:
        array = array.cast(wide)
    except pa.ArrowInvalid as error:
        raise ValueError(f"a value of the Arrow array does not fit int32 ({error})") from None
    if isinstance(array, pa.ChunkedArray):
        chunks = array.chunks or [pa.array([], wide)]
        array = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
    offsets = array.offsets.to_numpy()
    child = array.values
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    lengths = np.diff(offsets)
    if child.null_count:
        # Nulls behind a null list, or outside of all lists, are harmless.
        nulls = child.slice(int(offsets[0]), int(offsets[-1] - offsets[0])).is_null().to_numpy(zero_copy_only=False)
        if (nulls if valid is None else nulls & np.repeat(valid, lengths)).any():
            raise ValueError("a list of the Arrow array holds a null; fill or drop it first")
    # The bytes, not `to_numpy`, which would copy a child with nulls.
    buffer = child.buffers()[1]
    values = np.zeros(0, np.int32)
    if buffer is not None and len(child):
        values = np.frombuffer(buffer, np.int32, len(child), child.offset * 4)
    if valid is not None and lengths[~valid].any():
        # Arrow allows a null list to span values; drop them.
        keep = np.repeat(valid, lengths)
        values = values[offsets[0] : offsets[-1]][keep]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.where(valid, lengths, 0))])
    return values, offsets, valid


def lists_to_awkward(values: NDArray[np.int32], offsets: NDArray[np.int64], valid: NDArray[np.bool_] | None) -> Any:
    """Awkward array over the memory of the arrays; missing rows are None."""
    ak = extra("awkward")

    layout: Any = ak.contents.ListOffsetArray(ak.index.Index64(offsets), ak.contents.NumpyArray(values))
    if valid is not None:
        mask = ak.index.Index8(valid.astype(np.int8))
        layout = ak.contents.ByteMaskedArray(mask, layout, valid_when=True)
    return ak.Array(layout)


def lists_to_torch(values: NDArray[np.int32], offsets: NDArray[np.int64]) -> Any:
    """Jagged nested tensor; shares the memory of arrays that can be written."""
    torch = extra("torch")

    # torch warns about memory that it could write to but must not.
    parts = [array if array.flags.writeable else array.copy() for array in (values, offsets)]
    return torch.nested.nested_tensor_from_jagged(*map(torch.from_numpy, parts))


def array_to_torch(array: NDArray[Any]) -> Any:
    """Tensor over the memory of an array that can be written."""
    torch = extra("torch")

    return torch.from_numpy(array)
