"""The block of encoders and decoders that belong together: self-attention, attention to the source, feed-forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from numba_nlp.models.kv_cache import KVCache, Window
from numba_nlp.models.layers.attention import CrossAttention, SelfAttention, join_heads, split_heads
from numba_nlp.models.layers.cached_attention import attend_to_cache, attend_to_source
from numba_nlp.models.layers.feed_forward import FeedForward
from numba_nlp.models.layers.norms import RmsNorm

__all__ = ["Block", "BlockShape", "Source"]


class Source(NamedTuple):
    """What a block attends to.

    Attributes
    ----------
    keys, values : Tensor
        Of the source, ``[rows, heads, source width, head width]``.
    mask : Tensor or None
        Added to the scores.
    """

    keys: Tensor
    values: Tensor
    mask: Tensor | None


@dataclass(frozen=True)
class BlockShape:
    """What the blocks of one stack share.

    Attributes
    ----------
    width, heads, head_width, inner_width : int
        Of the hidden states; number and width of heads; within the feed-forward layer.
    activation : str
        A name of ``ACTIVATIONS``.
    gated : bool
        Whether the feed-forward layer multiplies what is activated with a second linear map.
    bias : bool
        Whether linear maps have one.
    scale : float
        Factor of the products of queries and keys.
    norm_first : bool
        Whether what goes into a layer is normalised (pre-norm), or the sums are (post-norm).
    rms_norm : bool
        Whether norms divide by the root of the mean square only.
    norm_epsilon : float
        Of the norms.
    """

    width: int
    heads: int
    head_width: int
    inner_width: int
    activation: str
    gated: bool
    bias: bool
    scale: float
    norm_first: bool
    rms_norm: bool
    norm_epsilon: float

    def norm(self) -> nn.Module:
        """A normalisation of the hidden states."""
        if self.rms_norm:
            return RmsNorm(self.width, self.norm_epsilon)
        return nn.LayerNorm(self.width, eps=self.norm_epsilon)


class Block(nn.Module):
    """Self-attention, attention to a source where there is one, and feed-forward, each added to its input.

    Parameters
    ----------
    shape : BlockShape
    with_source : bool
        Whether there is attention to a source.
    """

    def __init__(self, shape: BlockShape, *, with_source: bool) -> None:
        super().__init__()
        s = shape
        self.norm_first = s.norm_first
        self.attention = SelfAttention(s.width, s.heads, head_width=s.head_width, bias=s.bias, scale=s.scale)
        self.attention_norm = s.norm()
        self.source_attention: Any = None
        self.source_norm: Any = None
        if with_source:
            self.source_attention = CrossAttention(
                s.width, s.heads, head_width=s.head_width, bias=s.bias, scale=s.scale
            )
            self.source_norm = s.norm()
        self.feed_forward = FeedForward(s.width, s.inner_width, s.activation, bias=s.bias, gated=s.gated)
        self.feed_forward_norm = s.norm()

    def forward(
        self,
        hidden: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        want_weights: bool = False,
        source: Source | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Hidden states of the same shape, and if wanted the weights of self-attention and of that to the source.

        Parameters
        ----------
        hidden : Tensor
            ``[rows, width, model width]``.
        mask, causal, want_weights
            As of ``attend``.
        source : Source, optional
            For blocks with attention to a source.
        """
        change, weights = self.attention(
            self._before(self.attention_norm, hidden), mask, causal=causal, want_weights=want_weights
        )
        hidden = self._after(self.attention_norm, hidden, change)
        source_weights = None
        if source is not None:
            change, source_weights = self.source_attention(
                self._before(self.source_norm, hidden), *source, want_weights=want_weights
            )
            hidden = self._after(self.source_norm, hidden, change)
        return self._feed(hidden), weights, source_weights

    def extend(self, hidden: Tensor, cache: KVCache, layer: int, window: Window) -> Tensor:
        """Hidden states of new tokens, whose keys and values are kept in the cache as those of `layer`."""
        queries, keys, values = self.attention.project(self._before(self.attention_norm, hidden))
        keys, values = cache.store(layer, keys, values, window)
        context = attend_to_cache(queries, keys, values, window, scale=self.attention.scale)
        hidden = self._after(self.attention_norm, hidden, self.attention.output(join_heads(context)))
        to_source = self.source_attention
        queries = split_heads(to_source.query(self._before(self.source_norm, hidden)), to_source.heads)
        context = attend_to_source(queries, cache, layer, scale=to_source.scale)
        hidden = self._after(self.source_norm, hidden, to_source.output(join_heads(context)))
        return self._feed(hidden)

    def _feed(self, hidden: Tensor) -> Tensor:
        change = self.feed_forward(self._before(self.feed_forward_norm, hidden))
        return self._after(self.feed_forward_norm, hidden, change)

    def _before(self, norm: nn.Module, hidden: Tensor) -> Tensor:
        return norm(hidden) if self.norm_first else hidden

    def _after(self, norm: nn.Module, hidden: Tensor, change: Tensor) -> Tensor:
        if not self.norm_first:
            return norm(hidden + change)
        # Sums that nothing normalises grow from layer to layer, and leave float16's range in large models.
        if change.dtype != torch.float16:
            return hidden + change
        if hidden.dtype == torch.float16:
            return _in_range(hidden + change)
        return hidden + _in_range(change)


def _in_range(halves: Tensor) -> Tensor:
    """Values of float16, infinite ones as the greatest that are not."""
    greatest = torch.finfo(torch.float16).max
    return halves.clamp(-greatest, greatest)
