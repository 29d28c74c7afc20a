"""Masks of XLNet's two streams: padding, order of factorisation, and direction (Yang et al. 2019, arXiv:1906.08237)."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["causal_order", "stream_masks"]

#: Added to scores that the order hides. Finite, so that a token from which everything is hidden attends to all real
#: tokens alike, as it does in transformers; padding gets minus infinity.
_HIDDEN = -1e30


def causal_order(width: int, memory: int, *, same_length: bool, device: torch.device) -> Tensor:
    """What a model that reads from left to right hides.

    Parameters
    ----------
    width, memory : int
        Number of tokens, and of remembered tokens before them.
    same_length : bool
        Also hide as many of the first columns as a token has others before it, so that all see equally many.
    device : torch.device

    Returns
    -------
    Tensor
        bool [width, memory + width], true where the row must not see the column.
    """
    row = torch.arange(width, device=device)[:, None]
    column = torch.arange(memory + width, device=device)
    hidden = column > memory + row
    return hidden | (column < row) if same_length else hidden


def stream_masks(
    real: Tensor | None, hidden: Tensor | None, memory: int, dtype: torch.dtype
) -> tuple[Tensor | None, Tensor | None]:
    """What is added to the scores of the content stream and of the query stream.

    Parameters
    ----------
    real : Tensor or None
        bool [rows, memory + width]: columns that hold real tokens. None: all do.
    hidden : Tensor or None
        bool [rows or 1, width, memory + width]: columns that the order of factorisation hides. None: none.
    memory : int
        Number of columns that are remembered.
    dtype : torch.dtype
        Of the scores.

    Returns
    -------
    content, query : Tensor or None
        [rows or 1, 1, width or 1, memory + width]. A token's content sees itself whatever the order says; its query
        does not.
    """
    padding = None
    if real is not None:
        # In a row without any token nothing is masked: its values mean nothing, but they stay finite.
        padding = ~(real | ~real.any(-1, keepdim=True))[:, None, :]
    if hidden is None:
        both = _added(None, padding, dtype)
        return both, both
    itself = torch.eye(hidden.shape[1], dtype=torch.bool, device=hidden.device)
    itself = torch.nn.functional.pad(itself, (memory, 0))
    return _added(hidden & ~itself, padding, dtype), _added(hidden, padding, dtype)


def _added(hidden: Tensor | None, padding: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    shapes = [mask.shape for mask in (hidden, padding) if mask is not None]
    if not shapes:
        return None
    device = (padding if hidden is None else hidden).device  # type: ignore[union-attr]
    added = torch.zeros(torch.broadcast_shapes(*shapes), dtype=dtype, device=device)
    if hidden is not None:
        added = added.masked_fill(hidden, max(_HIDDEN, torch.finfo(dtype).min))
    if padding is not None:
        added = added.masked_fill(padding, float("-inf"))
    return added[:, None]
