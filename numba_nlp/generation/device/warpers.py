"""Warpers of :mod:`numba_nlp.kernels.generation.warpers` as tensors: the same order, the same ties."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from numba_nlp.generation.device.row_values import select_top, sort_descending, weigh_values
from numba_nlp.kernels.generation.rules import RowRules

__all__ = ["keep_min_p", "keep_top_k", "keep_top_p", "keep_typical", "scale_values", "warp_rows"]

_NOTHING = float("-inf")


def scale_values(rows: Tensor, temperature: float) -> None:
    """Divide all values, float32 ``[R, V]``, by a temperature, in place."""
    rows.div_(float(np.float32(temperature)))


def keep_top_k(rows: Tensor, k: int) -> None:
    """Remove what is smaller than the ``k``-th largest value of float32 ``[R, V]``, in place."""
    floor = rows.topk(min(k, rows.shape[1])).values[:, -1:]
    rows.masked_fill_(rows < floor, _NOTHING)


def _is_before_cut(weights: Tensor, share: float) -> Tensor:
    """Which places, in order, have less than a share of all weight before them; the first one has always.

    Parameters
    ----------
    weights : Tensor
        float32 ``[R, n]``, in order.
    share : float
        What is left is compared with ``1 - share`` in float32, as transformers compares it.
    """
    wide = weights.double()
    reached = wide.cumsum(-1)
    total = reached[:, -1:]
    left = ((total - (reached - wide)) / total).float()
    return (left > float(np.float32(1.0 - share))) | (torch.arange(weights.shape[1], device=weights.device) == 0)


def _keep(rows: Tensor, places: Tensor, kept: Tensor) -> None:
    """Remove what is not kept of the values at some places."""
    removed = torch.empty_like(kept).scatter_(1, places, ~kept)
    rows.masked_fill_(removed, _NOTHING)


def keep_top_p(rows: Tensor, share: float, least: int) -> None:
    """Keep the largest values until they have a share of the probability.

    Parameters
    ----------
    rows : Tensor
        float32 ``[R, V]``; changed.
    share : float
        ``top_p``.
    least : int
        So many are kept at least.
    """
    order, places = sort_descending(rows)
    weights, _ = weigh_values(order)
    kept = _is_before_cut(weights, share)
    kept = kept | (torch.arange(rows.shape[1], device=rows.device) < least)
    _keep(rows, places, kept)


def _best(order: Tensor, n: int) -> Tensor:
    """Where the ``n`` best places of each row are, bool ``[R, V]``."""
    places = select_top(order, min(n, order.shape[1]))[1]
    return torch.zeros_like(order, dtype=torch.bool).scatter_(1, places, True)


def keep_min_p(rows: Tensor, ratio: float, least: int) -> None:
    """Remove what is less probable than the most probable token by more than a ratio.

    Parameters
    ----------
    rows : Tensor
        float32 ``[R, V]``; changed.
    ratio : float
        ``min_p``.
    least : int
        So many are kept at least.
    """
    lowest = rows.amax(-1, keepdim=True).double() + (math.log(ratio) if ratio > 0 else _NOTHING)
    rows.masked_fill_((rows.double() < lowest) & ~_best(rows, least), _NOTHING)


def keep_typical(rows: Tensor, share: float, least: int) -> None:
    """Keep the tokens whose information is nearest to the entropy, until they have a share of the probability.

    Parameters
    ----------
    rows : Tensor
        float32 ``[R, V]``; changed.
    share : float
        ``typical_p``; tokens as near as the last one are kept too.
    least : int
        So many are kept at least.
    """
    weights, top = weigh_values(rows)
    removed = rows == _NOTHING
    below = rows.double() - top.double()
    total = weights.sum(-1, keepdim=True, dtype=torch.float64)
    mean = (weights.double() * below.masked_fill(removed, 0.0)).sum(-1, keepdim=True) / total
    # entropy less information of a token: what the two have of the logarithm of the sum falls out
    nearness = (-(below - mean).abs()).float().masked_fill(removed, _NOTHING)
    order, places = sort_descending(nearness)
    before = _is_before_cut(weights.gather(1, places), share)
    # all that are as near as the last one before the cut
    last = order.masked_fill(~before, float("inf")).amin(-1, keepdim=True)
    rows.masked_fill_((nearness < last) & ~_best(nearness, least), _NOTHING)


def warp_rows(rows: Tensor, rules: RowRules) -> None:
    """All of them in transformers' order.

    Parameters
    ----------
    rows : Tensor
        float32 ``[R, V]``; changed. Their shift is to be divided by the temperature.
    rules : RowRules
    """
    least = rules.min_tokens_to_keep
    if rules.temperature != 1.0:
        scale_values(rows, rules.temperature)
    if rules.top_k > 0:
        keep_top_k(rows, max(rules.top_k, least))
    if rules.top_p < 1.0:
        keep_top_p(rows, rules.top_p, least)
    if rules.min_p > 0.0:
        keep_min_p(rows, rules.min_p, least)
    if rules.typical_p < 1.0:
        keep_typical(rows, rules.typical_p, least)
