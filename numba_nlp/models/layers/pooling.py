"""One vector for a row from the hidden states of its tokens."""

from __future__ import annotations

import torch

__all__ = ["POOLINGS", "pool"]

#: "first": the first token that counts; "mean_sqrt": the sum divided by the square root of the number of tokens.
POOLINGS = ("mean", "first", "max", "mean_sqrt")


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
        (but for "first", which gives its first).

    Raises
    ------
    ValueError
        There is no such way to pool.

    References
    ----------
    Reimers and Gurevych 2019, arXiv:1908.10084; its library sentence-transformers has the same ways.
    """
    if how not in POOLINGS:
        raise ValueError(f"pooling= must be one of {', '.join(map(repr, POOLINGS))}, got {how!r}")
    if mask is None:
        mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
    if how == "first":
        at = mask.int().argmax(-1)
        return hidden[torch.arange(hidden.shape[0], device=hidden.device), at]
    counts = mask.sum(-1, keepdim=True)
    if how == "max":
        highest = hidden.masked_fill(~mask[..., None], float("-inf")).amax(1)
        return torch.where(counts > 0, highest, torch.zeros((), dtype=hidden.dtype, device=hidden.device))
    kept = hidden.masked_fill(~mask[..., None], 0.0)
    total = kept.sum(1, dtype=torch.promote_types(hidden.dtype, torch.float32))
    counts = counts.clamp(min=1).to(total.dtype)
    return (total / (counts if how == "mean" else counts.sqrt())).to(hidden.dtype)
