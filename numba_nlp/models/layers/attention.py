"""Attention of many heads (Vaswani et al. 2017, arXiv:1706.03762), of tokens among themselves and to a source."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

__all__ = ["CrossAttention", "SelfAttention", "attend", "join_heads", "split_heads"]


def attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None = None,
    *,
    scale: float | None = None,
    causal: bool = False,
    want_weights: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Values averaged by the softmax of the scaled products of queries and keys.

    Parameters
    ----------
    queries : Tensor
        ``[rows, heads, width, head width]``.
    keys, values : Tensor
        ``[rows, heads, source width, head width]``.
    mask : Tensor or None
        Added to the scores: broadcasts to ``[rows, heads, width, source width]``, of the same dtype as the queries.
    scale : float or None
        Factor of the products; None: one over the square root of the head width.
    causal : bool
        No token attends to later ones; for as many queries as keys, and in place of a mask.
    want_weights : bool
        Also give the weights; this computes them in the open, in float32, and takes memory for all of them.

    Returns
    -------
    Tensor
        ``[rows, heads, width, head width]``.
    Tensor or None
        The weights, ``[rows, heads, width, source width]``.
    """
    if not want_weights:
        return F.scaled_dot_product_attention(queries, keys, values, mask, scale=scale, is_causal=causal), None
    scores = queries.float() @ keys.float().transpose(-1, -2)
    scores = scores * (queries.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    if mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    return (weights @ values.float()).to(values.dtype), weights.to(values.dtype)


def split_heads(hidden: torch.Tensor, heads: int) -> torch.Tensor:
    """``[rows, width, heads * head width]`` seen as ``[rows, heads, width, head width]``."""
    return hidden.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(context: torch.Tensor) -> torch.Tensor:
    """``[rows, heads, width, head width]`` as ``[rows, width, heads * head width]``."""
    return context.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Attention of tokens among themselves; queries, keys and values come from one product of matrices.

    Parameters
    ----------
    width : int
        Of the hidden states.
    heads : int
        Number of heads.
    head_width : int, optional
        Width of a head; by default ``width // heads``.
    bias : bool
        Whether the linear maps have one.
    scale : float, optional
        Factor of the products; by default one over the square root of the head width.
    """

    def __init__(
        self, width: int, heads: int, *, head_width: int | None = None, bias: bool = True, scale: float | None = None
    ) -> None:
        super().__init__()
        inner = heads * (width // heads if head_width is None else head_width)
        self.heads = heads
        self.scale = scale
        self.qkv = nn.Linear(width, 3 * inner, bias=bias)
        self.output = nn.Linear(inner, width, bias=bias)

    def project(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Queries, keys and values, each ``[rows, heads, width, head width]``, views of one tensor."""
        queries, keys, values = self.qkv(hidden).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return queries, keys, values

    def forward(
        self,
        hidden: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        causal: bool = False,
        want_weights: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend; see :func:`attend`. Returns ``[rows, width, model width]`` and the weights if wanted."""
        context, weights = attend(
            *self.project(hidden), mask, scale=self.scale, causal=causal, want_weights=want_weights
        )
        return self.output(join_heads(context)), weights


class CrossAttention(nn.Module):
    """Attention to a source; its keys and values come from one product of matrices, once for each source.

    Parameters
    ----------
    width, heads, head_width, bias, scale
        As of :class:`SelfAttention`.
    """

    def __init__(
        self, width: int, heads: int, *, head_width: int | None = None, bias: bool = True, scale: float | None = None
    ) -> None:
        super().__init__()
        inner = heads * (width // heads if head_width is None else head_width)
        self.heads = heads
        self.scale = scale
        self.query = nn.Linear(width, inner, bias=bias)
        self.kv = nn.Linear(width, 2 * inner, bias=bias)
        self.output = nn.Linear(inner, width, bias=bias)

    def project_source(self, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of a source, each ``[rows, heads, source width, head width]``."""
        keys, values = self.kv(source).unflatten(-1, (2, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return keys, values

    def forward(
        self,
        hidden: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        want_weights: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Attend to a source whose keys and values :meth:`project_source` gave; see :func:`attend`."""
        queries = split_heads(self.query(hidden), self.heads)
        context, weights = attend(queries, keys, values, mask, scale=self.scale, want_weights=want_weights)
        return self.output(join_heads(context)), weights
