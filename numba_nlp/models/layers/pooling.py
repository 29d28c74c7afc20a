"""One vector for a row from the hidden states of its tokens."""

from __future__ import annotations

import torch

from numba_nlp.models.layers.pooled import first_position, last_position, pick_position

__all__ = ["POOLINGS", "check_pooling", "pool"]

#: "first", "last": that token of those that count; "mean_sqrt": the sum divided by the square root of their number.
POOLINGS = ("mean", "first", "last", "max", "mean_sqrt")


def check_pooling(how: str, *, pooler: bool = False) -> None:
    """Refuse what is no way to pool.

    Parameters
    ----------
    how : str
    pooler : bool, default False
        Whether the model has a pooler of its own, which is one more way.

    Raises
    ------
    ValueError
        It is not.
    """
    ways = (*POOLINGS, "pooler") if pooler else POOLINGS
    if how not in ways:
        hint = {
            "cls": '; [CLS] is the "first" token',
            "pooler": '; "pooler" takes a model with head="none" whose checkpoint has a pooler',
        }.get(how, "")
        raise ValueError(f"pooling= must be one of {', '.join(map(repr, ways))}, got {how!r}{hint}")


def pool(hidden: torch.Tensor, mask: torch.Tensor | None, how: str) -> torch.Tensor:
    """Pool the hidden states of the tokens that count.

    Parameters
    ----------
    hidden : Tensor
        ``[rows, width, model width]``.
    mask : Tensor or None
        ``bool[rows, width]``, True for tokens that count; None: all.
    how : str
        One of ``POOLINGS``.

    Returns
    -------
    Tensor
        ``[rows, model width]``, of the same dtype, summed in float32 at least; zeros for a row without any token
        (but for "first" and "last", which give its first).

    Raises
    ------
    ValueError
        There is no such way to pool.

    References
    ----------
    Reimers and Gurevych 2019, arXiv:1908.10084; its library sentence-transformers has the same ways.
    """
    check_pooling(how)
    if how in ("first", "last"):
        return pick_position(hidden, (first_position if how == "first" else last_position)(mask, hidden))
    if mask is None:
        mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
    counts = mask.sum(-1, keepdim=True)
    if how == "max":
        highest = hidden.masked_fill(~mask[..., None], float("-inf")).amax(1)
        return torch.where(counts > 0, highest, torch.zeros((), dtype=hidden.dtype, device=hidden.device))
    kept = hidden.masked_fill(~mask[..., None], 0.0)
    total = kept.sum(1, dtype=torch.promote_types(hidden.dtype, torch.float32))
    counts = counts.clamp(min=1).to(total.dtype)
    return (total / (counts if how == "mean" else counts.sqrt())).to(hidden.dtype)
