"""Masks that are added to the scores of attention, and the positions that follow from a mask."""

from __future__ import annotations

import torch

__all__ = ["causal_mask", "drop_full_mask", "mask_positions", "may_look", "padding_mask"]


def may_look(tensor: torch.Tensor) -> bool:
    """Whether its values may be looked at.

    On the CPU only, for a look at another device waits for it; and not while torch.compile traces, whose graph would
    end there.
    """
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def drop_full_mask(mask: torch.Tensor | None) -> torch.Tensor | None:
    """The mask, or None where it is on the CPU and masks nothing.

    A look at a mask on another device would wait for that device, so such a mask is kept.

    Parameters
    ----------
    mask : Tensor or None
        ``bool[rows, width]``, True for tokens that count.
    """
    if mask is not None and may_look(mask) and bool(mask.all()):
        return None
    return mask


def padding_mask(mask: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """What is added to scores so that no token attends to padding.

    Parameters
    ----------
    mask : Tensor or None
        ``bool[rows, width]``, True for tokens that count.
    dtype : torch.dtype
        Of the scores.

    Returns
    -------
    Tensor or None
        ``[rows, 1, 1, width]``: 0 or minus infinity. In a row without any token nothing is masked: its values mean
        nothing, but they stay finite.
    """
    if mask is None:
        return None
    return _added((mask | ~mask.any(-1, keepdim=True))[:, None, None, :], dtype)


def causal_mask(
    mask: torch.Tensor | None, width: int, dtype: torch.dtype, device: torch.device, *, past: int = 0
) -> torch.Tensor:
    """What is added to scores so that a token attends to itself and to the tokens before it that count.

    Parameters
    ----------
    mask : Tensor or None
        ``bool[rows, past + width]``, True for tokens that count.
    width : int
        Number of tokens that attend; they are the last ones.
    dtype, device
        Of the scores.
    past : int
        Number of tokens before them.

    Returns
    -------
    Tensor
        ``[rows or 1, 1, width, past + width]``: 0 or minus infinity. A token that may attend to nothing (padding at
        the left) attends to itself, so that its values stay finite.
    """
    here = torch.arange(past, past + width, device=device)[:, None]
    there = torch.arange(past + width, device=device)[None, :]
    allowed = there <= here
    if mask is not None:
        allowed = (allowed & mask[:, None, :]) | (there == here)
        return _added(allowed[:, None], dtype)
    return _added(allowed[None, None], dtype)


def mask_positions(mask: torch.Tensor) -> torch.Tensor:
    """Number of tokens that count before each token: its position if padding has none.

    Parameters
    ----------
    mask : Tensor
        ``bool[rows, width]``.

    Returns
    -------
    Tensor
        ``int64[rows, width]``; 0 for padding at the left.
    """
    return (mask.long().cumsum(-1) - 1).clamp(min=0)


def _added(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    added = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return added.masked_fill_(~allowed, float("-inf"))
