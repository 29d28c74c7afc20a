"""What models are given: ids, masks and types, checked and moved to the device of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from numba_nlp.models.layers.masks import drop_full_mask

__all__ = ["take_ids", "take_like", "take_mask"]


def take_ids(values: Any, size: int, device: torch.device, name: str = "input_ids") -> torch.Tensor:
    """Ids as ``int64[rows, width]`` on a device.

    Parameters
    ----------
    values : array-like or Tensor
        ``[rows, width]``, whole numbers.
    size : int
        Each id must be below it. Ids that are on another device than the CPU already are not looked at: that would
        wait for the device.
    device : torch.device
        Where the model is.
    name : str
        What errors call them.

    Raises
    ------
    ValueError
        The shape is another, there is no token, or an id is not in ``[0, size)``.
    TypeError
        They are no whole numbers.
    """
    ids = _tensor(values, name)
    if ids.dim() != 2 or ids.shape[1] == 0:
        raise ValueError(
            f"`{name}` must be of the shape [rows, width] with at least one token in a row, got {list(ids.shape)}; "
            "one row alone goes into a list of one row"
        )
    if ids.dtype == torch.bool or ids.is_floating_point() or ids.is_complex():
        raise TypeError(f"`{name}` must be whole numbers, got {ids.dtype}")
    if ids.device.type == "cpu" and ids.numel():
        least, greatest = torch.aminmax(ids)
        if int(least) < 0 or int(greatest) >= size:
            row, position = ((ids < 0) | (ids >= size)).nonzero()[0].tolist()
            raise ValueError(
                f"`{name}` must be from 0 to {size - 1}, the model has no {int(ids[row, position])} "
                f"(row {row}, position {position})"
            )
    return ids.to(device, torch.int64)


def take_like(values: Any, ids: torch.Tensor, size: int, name: str) -> torch.Tensor | None:
    """Whole numbers of the same shape as the ids, or None; see :func:`take_ids`.

    Raises
    ------
    ValueError
        The shape is another, or a value is not in ``[0, size)``.
    """
    if values is None:
        return None
    taken = take_ids(values, size, ids.device, name)
    if taken.shape != ids.shape:
        raise ValueError(f"`{name}` must have the shape of `input_ids`, {list(ids.shape)}, got {list(taken.shape)}")
    return taken


def take_mask(values: Any, ids: torch.Tensor, name: str = "attention_mask") -> torch.Tensor | None:
    """A mask of the shape of the ids as bool, on their device; None where it masks nothing and that costs no wait.

    Parameters
    ----------
    values : array-like, Tensor or None
        1 or True for tokens that count, 0 or False for padding.
    ids : Tensor
        ``[rows, width]``.
    name : str
        What errors call it.

    Raises
    ------
    ValueError
        The shape is another, or a value is neither 0 nor 1.
    """
    if values is None:
        return None
    mask = _tensor(values, name)
    if mask.shape != ids.shape:
        raise ValueError(
            f"`{name}` must have the shape of the ids that it masks, {list(ids.shape)}, got {list(mask.shape)}"
        )
    if mask.dtype != torch.bool:
        if mask.device.type == "cpu" and bool(((mask != 0) & (mask != 1)).any()):
            raise ValueError(f"`{name}` must be 1 for tokens that count and 0 for padding, got other values")
        mask = mask != 0
    return drop_full_mask(mask.to(ids.device))


def _tensor(values: Any, name: str) -> torch.Tensor:
    if isinstance(values, torch.Tensor):
        return values
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"`{name}` must be rows of one length; pad them, with a mask: {error}") from error
    if array.dtype.kind not in "iufb":
        raise TypeError(f"`{name}` must be whole numbers or bool, got {array.dtype}")
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int64)  # torch's unsigned kinds have few operations
    # torch wants arrays that may be written, in the byte order of the machine
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))
