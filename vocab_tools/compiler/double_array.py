"""The double array of a set of pieces, and what the pieces say about where text may be cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp.kernels.tables.double_array import (
    BLOCK,
    MAX_UNITS,
    UNITS_BASE,
    UNITS_SIZE,
    UNITS_VALUE,
    check_units,
)
from numba_nlp.kernels.tables.double_array_build import KEYS_UNSORTED, UNITS_FULL, count_nodes, fill_units

__all__ = ["build_double_array", "check_double_array"]

_PROBLEMS = {
    UNITS_SIZE: f"its size is no multiple of {BLOCK}, or it has no root",
    UNITS_BASE: "a node lies outside of it",
    UNITS_VALUE: "a value is missing or too large",
}


def build_double_array(keys: Sequence[bytes], values: ArrayLike) -> NDArray[np.uint32]:
    """Units that map each key to its value; layout in :mod:`numba_nlp.kernels.tables.double_array`.

    Parameters
    ----------
    keys : sequence of bytes
        Sorted, distinct, none empty; any bytes.
    values : array_like of int
        One for each key, from 0 to ``2**31 - 1``.

    Returns
    -------
    uint32[n]

    Raises
    ------
    ValueError
        Keys that are not sorted, too many of them, or values out of range.

    Examples
    --------
    >>> from numba_nlp.kernels.tables.double_array import longest_prefix
    >>> units = build_double_array([b"car", b"carp", b"cat"], [0, 1, 2])
    >>> longest_prefix(units, np.frombuffer(b"carpooling", np.uint8), 0, 10)
    (4, 1)
    """
    numbers = np.asarray(values, dtype=np.int64)
    if numbers.shape != (len(keys),):
        raise ValueError(f"`values` has shape {numbers.shape}, expected one value for each of the {len(keys)} keys")
    if numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < 1 << 31:
        raise ValueError(f"`values` must lie in [0, 2**31), got {numbers.min()} to {numbers.max()}")
    data = np.frombuffer(b"".join(keys) + b"\0", dtype=np.uint8)
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum([len(key) for key in keys], out=offsets[1:])
    nodes = int(count_nodes(data, offsets))
    if nodes == KEYS_UNSORTED:
        raise ValueError("`keys` must be sorted and distinct, and none may be empty; pass sorted(set(keys))")

    queue = np.empty((nodes, 4), dtype=np.int32)
    labels = np.empty(257, dtype=np.int32)
    held = numbers.astype(np.int32)
    room = (nodes + len(keys)) * 9 // 8 // BLOCK * BLOCK + 8 * BLOCK
    while True:
        room = min(room, MAX_UNITS)
        units = np.empty(room, dtype=np.uint32)
        bases = np.empty(room, dtype=np.uint8)
        following, previous = np.empty(room + 1, dtype=np.int32), np.empty(room + 1, dtype=np.int32)
        used = int(fill_units(data, offsets, held, units, bases, following, previous, queue, labels))
        if used != UNITS_FULL:
            return units[:used].copy()
        if room == MAX_UNITS:
            raise ValueError(f"{len(keys)} keys with {nodes} nodes do not fit into {MAX_UNITS} units")
        room *= 2


def check_double_array(name: str, units: NDArray[Any], n_values: int) -> None:
    """Refuse units over which a walk could leave the array.

    Parameters
    ----------
    name : str
        What the error calls them.
    units : uint32[n]
    n_values : int
        Values must be below.

    Raises
    ------
    ValueError
        Says what is wrong.
    """
    problem = int(check_units(np.ascontiguousarray(units, dtype=np.uint32), n_values))
    if problem in _PROBLEMS:
        raise ValueError(f"`{name}` is no sound double array of {n_values} values: {_PROBLEMS[problem]}")
