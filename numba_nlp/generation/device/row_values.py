"""What :mod:`~numba_nlp.kernels.generation.row_values` and ``row_selection`` read from a row, as tensors."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["log_sum_exp", "select_top", "sort_descending", "weigh_values"]

_NOTHING = float("-inf")


def weigh_values(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Exponentials of values less the largest one of their row.

    Parameters
    ----------
    rows : Tensor
        float32 ``[R, V]``.

    Returns
    -------
    weights : Tensor
        float32 ``[R, V]``; zeros for a row without any value above minus infinity, NaN where one is NaN or infinity.
    top : Tensor
        float32 ``[R, 1]``: the largest value; 0 for a row without any.
    """
    top = rows.amax(-1, keepdim=True)
    top = top.masked_fill(top == _NOTHING, 0.0)
    return (rows - top).exp(), top


def log_sum_exp(rows: Tensor) -> Tensor:
    """Logarithm of the sum of the exponentials, float64 ``[R]``, of float32 ``[R, V]``.

    Minus infinity when all values are; NaN when one is NaN or infinity.
    """
    weights, top = weigh_values(rows)
    return top[:, 0].double() + weights.sum(-1, dtype=torch.float64).log()


def select_top(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The ``k`` largest values in descending order, ties by the lower index.

    ``torch.topk`` leaves open which of equal values it takes, so it is given whole numbers that hold value and index.

    Parameters
    ----------
    rows : Tensor
        float32 ``[R, V]``, without NaN.
    k : int
        At most V.

    Returns
    -------
    values, indices : Tensor
        float32 and int64 ``[R, k]``.
    """
    bits = (rows + 0.0).view(torch.int32)  # the sum makes one zero of both
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    last = rows.shape[-1] - 1
    keys = (ordered.long() << 32) | (last - torch.arange(last + 1, device=rows.device))
    indices = last - (keys.topk(k).values & 0xFFFFFFFF)
    return rows.gather(-1, indices), indices


def sort_descending(values: Tensor) -> tuple[Tensor, Tensor]:
    """Values along the last axis, the largest first, and their indices; of equal ones the lower index first."""
    ordered: tuple[Tensor, Tensor] = torch.sort(values, dim=-1, descending=True, stable=True)
    return ordered[0], ordered[1]
