"""What models are given: ids, masks and types, checked and moved to the device of the model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from numba_nlp.errors import UnknownIdError
from numba_nlp.models.layers.masks import drop_full_mask, may_look

__all__ = ["as_tensor", "refuse_unknown", "take_ids", "take_like", "take_mask", "without_unread"]

#: What tokenizers give beside the inputs of models, here (``ModelInputs``) and in transformers; no model reads it.
_UNREAD = frozenset(
    {
        "ends",
        "length",
        "num_truncated_tokens",
        "offset_mapping",
        "overflow_to_sample_mapping",
        "overflowing_tokens",
        "sequence_ids",
        "special_tokens_mask",
        "starts",
        "word_ids",
    }
)


def without_unread(others: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without those of tokenizers that no model reads.

    Parameters
    ----------
    others : mapping
        Keywords of a call.
    """
    return {name: value for name, value in others.items() if name not in _UNREAD}


def refuse_unknown(others: Mapping[str, Any], call: Callable[..., Any], *unread: str) -> None:
    """Refuse arguments that a call does not know, but for those of tokenizers that no model reads.

    Parameters
    ----------
    others : mapping
        What is left of the keywords of a call.
    call : callable
        The bound method that was called.
    *unread : str
        More names that are left out, because this model does not read them.

    Raises
    ------
    TypeError
        There is another name.
    """
    for name in others:
        if name not in _UNREAD and name not in unread:
            known = (
                parameter.name
                for parameter in inspect.signature(call).parameters.values()
                if parameter.kind is not parameter.VAR_KEYWORD
            )
            raise TypeError(f"got an unexpected keyword argument {name!r}; this call takes {', '.join(known)}")


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
        The shape is another, or there is no token.
    UnknownIdError
        An id is not in ``[0, size)``.
    TypeError
        They are no whole numbers.
    """
    ids = as_tensor(values, name)
    if ids.dim() != 2:
        raise ValueError(
            f"`{name}` must be of the shape [rows, width], got {list(ids.shape)}; one row alone goes into a list of "
            "one row"
        )
    if ids.shape[1] == 0:
        raise ValueError(
            f"`{name}` must have at least one token in a row, got {ids.shape[0]} rows without any; leave empty texts "
            "out, or pad them and mask the padding"
        )
    if ids.dtype == torch.bool or ids.is_floating_point() or ids.is_complex():
        raise TypeError(f"`{name}` must be whole numbers, got {ids.dtype}")
    if may_look(ids) and ids.numel():
        least, greatest = torch.aminmax(ids)
        if int(least) < 0 or int(greatest) >= size:
            row, position = ((ids < 0) | (ids >= size)).nonzero()[0].tolist()
            raise UnknownIdError(name, int(ids[row, position]), size, row, position)
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
    mask = as_tensor(values, name)
    if mask.shape != ids.shape:
        raise ValueError(
            f"`{name}` must have the shape of the ids that it masks, {list(ids.shape)}, got {list(mask.shape)}"
        )
    if mask.dtype != torch.bool:
        if may_look(mask) and bool(((mask != 0) & (mask != 1)).any()):
            raise ValueError(f"`{name}` must be 1 for tokens that count and 0 for padding, got other values")
        mask = mask != 0
    return drop_full_mask(mask.to(ids.device))


def as_tensor(values: Any, name: str) -> torch.Tensor:
    """Numbers as a tensor, in place where that is possible.

    Parameters
    ----------
    values : array-like or Tensor
    name : str
        What errors call them.

    Raises
    ------
    TypeError
        They are no numbers, or a sparse or nested tensor.
    ValueError
        They are rows of several lengths.
    """
    if isinstance(values, torch.Tensor):
        if values.is_nested:
            raise TypeError(
                f"`{name}` must be a dense tensor, got a nested one; pad its rows, with a mask: "
                "torch.nested.to_padded_tensor(values, 0)"
            )
        if values.layout != torch.strided:
            raise TypeError(f"`{name}` must be a dense tensor, got one of {values.layout}; give values.to_dense()")
        # torch's wider unsigned kinds have few operations
        return values.to(torch.int64) if values.dtype in _FEW_OPERATIONS else values
    if isinstance(values, Mapping):
        raise TypeError(
            f"`{name}` must be whole numbers, got {type(values).__name__}, a mapping; unpack it with **: "
            "model(**tok(texts, padding=True))"
        )
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"`{name}` must be rows of one length; pad them, with a mask: {error}") from error
    if array.dtype.kind in "SU":
        raise TypeError(f"`{name}` must be whole numbers, got text; tokenize first: model(**tok(texts, padding=True))")
    if array.dtype.kind not in "iufb":
        raise TypeError(
            f"`{name}` must be rows of whole numbers or bool, of one length, got {type(values).__name__}"
            + ("" if values is None else f" of {array.dtype}; a tokenizer makes such rows with padding=True")
        )
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = array.astype(np.int64)
    # torch wants arrays that may be written, in the byte order of the machine
    return torch.from_numpy(np.require(array, array.dtype.newbyteorder("="), ["C", "W"]))


_FEW_OPERATIONS = (torch.uint16, torch.uint32, torch.uint64)
