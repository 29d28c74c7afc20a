"""The two linear maps with an activation between them, and the block of layers that normalises after each sum."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from numba_nlp.models.layers.activations import ACTIVATIONS
from numba_nlp.models.layers.attention import SelfAttention

__all__ = ["FeedForward", "PostNormBlock", "run_blocks"]


class FeedForward(nn.Module):
    """``output(activation(inner(x)))``, or gated, ``output(activation(gate(x)) * inner(x))`` (arXiv:2002.05202).

    Parameters
    ----------
    width, inner_width : int
        Of the hidden states, and between the maps.
    activation : str
        A name of ``ACTIVATIONS``.
    bias : bool
        Whether the maps have one.
    gated : bool
        Whether there is a gate; ``inner`` holds the rows of both maps then, those of the gate first.
    """

    def __init__(
        self, width: int, inner_width: int, activation: str, *, bias: bool = True, gated: bool = False
    ) -> None:
        super().__init__()
        self.inner = nn.Linear(width, inner_width * (2 if gated else 1), bias=bias)
        self.output = nn.Linear(inner_width, width, bias=bias)
        self.activation = ACTIVATIONS[activation]
        self.gated = gated

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Hidden states of the same shape."""
        inner = self.inner(hidden)
        if self.gated:
            gate, inner = inner.chunk(2, dim=-1)
            inner = self.activation(gate) * inner
        else:
            inner = self.activation(inner)
        return self.output(inner.to(self.output.weight.dtype))  # float32 in T5 of float16


class PostNormBlock(nn.Module):
    """Self-attention and feed-forward, each added to its input and normalised then (post-norm).

    Parameters
    ----------
    width, heads, inner_width, activation
        As of :class:`SelfAttention` and :class:`FeedForward`.
    norm_epsilon : float
        Of the normalisations.
    """

    def __init__(self, width: int, heads: int, inner_width: int, activation: str, norm_epsilon: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width, eps=norm_epsilon)
        self.feed_forward = FeedForward(width, inner_width, activation)
        self.feed_forward_norm = nn.LayerNorm(width, eps=norm_epsilon)

    def forward(
        self,
        hidden: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        causal: bool = False,
        want_weights: bool = False,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Hidden states of the same shape, and the attention weights if wanted."""
        attended, weights = self.attention(hidden, mask, causal=causal, want_weights=want_weights)
        hidden = self.attention_norm(hidden + attended)
        return self.feed_forward_norm(hidden + self.feed_forward(hidden)), weights


def run_blocks(
    blocks: Iterable[nn.Module],
    hidden: torch.Tensor,
    mask: torch.Tensor | None,
    *,
    causal: bool = False,
    want_hidden: bool = False,
    want_weights: bool = False,
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...] | None, tuple[torch.Tensor, ...] | None]:
    """Hidden states through a stack of blocks.

    Returns
    -------
    Tensor
        What comes out of the last block.
    tuple of Tensor or None
        If wanted: what goes into the first block and what comes out of each.
    tuple of Tensor or None
        If wanted: the attention weights of each block.
    """
    states = [hidden]
    attentions = []
    for block in blocks:
        hidden, weights = block(hidden, mask, causal=causal, want_weights=want_weights)
        if want_hidden:
            states.append(hidden)
        if want_weights:
            attentions.append(weights)
    return hidden, tuple(states) if want_hidden else None, tuple(attentions) if want_weights else None
