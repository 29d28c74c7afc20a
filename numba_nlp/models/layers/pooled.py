"""The first and the last token of a row that count."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["first_position", "last_position", "pick_position"]


def last_position(counts: Tensor | None, hidden: Tensor) -> Tensor:
    """Position of the last token that counts.

    Parameters
    ----------
    counts : Tensor or None
        bool ``[rows, width]``; None: all do.
    hidden : Tensor
        ``[rows, width, ...]``.

    Returns
    -------
    Tensor
        int64 ``[rows]``; 0 in a row where none counts.
    """
    rows, width = hidden.shape[:2]
    if counts is None:
        return torch.full((rows,), width - 1, device=hidden.device)
    return (torch.arange(width, device=hidden.device) * counts).amax(1)


def first_position(counts: Tensor | None, hidden: Tensor) -> Tensor:
    """Position of the first token that counts; as `last_position`."""
    if counts is None:
        return torch.zeros(hidden.shape[0], dtype=torch.int64, device=hidden.device)
    return counts.long().argmax(1)


def pick_position(hidden: Tensor, position: Tensor) -> Tensor:
    """The vector at one position of each row: ``[rows, width, model width]`` -> ``[rows, model width]``."""
    return hidden[torch.arange(hidden.shape[0], device=hidden.device), position]
