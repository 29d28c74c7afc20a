"""Which row goes on from which: what a reorder is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from numba_nlp.models.inputs import as_tensor
from numba_nlp.models.layers.masks import may_look

__all__ = ["out_of_range", "take_parents"]


def out_of_range(values: Tensor, size: int) -> int | None:
    """Where the first number that is not in ``[0, size)`` is, None where all are; of a tensor on the CPU."""
    array = values.detach().numpy()
    if not array.size or (array.min() >= 0 and array.max() < size):
        return None
    return int(np.flatnonzero((array < 0) | (array >= size))[0])


def take_parents(parents: Any, rows: int, group: int, device: torch.device, *, static: bool) -> Tensor:
    """Parents of rows as int64 ``[rows]`` on a device.

    Parameters
    ----------
    parents : array-like or Tensor
        Whole numbers ``[rows]``. A tensor is not looked at where it is on a CUDA device, or the cache is static.
    rows : int
    group : int
        So many rows side by side share what was read once for them: a parent is one of them.
    device : torch.device
    static : bool
        Whether the cache is.

    Raises
    ------
    ValueError
        The shape is another, a parent is no row, or not one of the same group.
    TypeError
        They are no whole numbers.
    """
    taken = as_tensor(parents, "parents")
    if taken.shape != (rows,):
        raise ValueError(f"`parents` must name one row for each of the {rows} rows, got the shape {list(taken.shape)}")
    if taken.dtype == torch.bool or taken.is_floating_point() or taken.is_complex():
        raise TypeError(f"`parents` must be whole numbers, got {taken.dtype}")
    if may_look(taken) and not (static and isinstance(parents, Tensor)):
        wrong = out_of_range(taken, rows)
        if wrong is not None:
            raise ValueError(f"`parents` must be rows from 0 to {rows - 1}, row {wrong} has {int(taken[wrong])}")
        array = taken.detach().numpy()
        apart = np.flatnonzero(array // group != np.arange(rows) // group)
        if apart.size:
            row = int(apart[0])
            first = row // group * group
            raise ValueError(
                f"row {row} cannot go on from row {int(array[row])}: rows {first} to {first + group - 1} share a "
                "prompt or a source that was read once for them, and their parents must be among them"
            )
    return taken.to(device, torch.int64)
