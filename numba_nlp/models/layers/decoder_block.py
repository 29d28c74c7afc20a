"""The block of a decoder alone: self-attention to what precedes, then feed-forward."""

from __future__ import annotations

from torch import Tensor, nn

from numba_nlp.models.kv_cache import KVCache, Window
from numba_nlp.models.layers.attention import SelfAttention
from numba_nlp.models.layers.cached_attention import attend_and_keep
from numba_nlp.models.layers.feed_forward import FeedForward

__all__ = ["DecoderBlock"]


class DecoderBlock(nn.Module):
    """Self-attention and feed-forward, each added to its input.

    Parameters
    ----------
    width, heads, inner_width, activation
        As of `SelfAttention` and `FeedForward`.
    norm_epsilon : float
        Of the normalisations.
    norm_first : bool
        True: what goes into attention and feed-forward is normalised (GPT-2). False: the sums are (GPT).
    scale : float
        Factor of the products of queries and keys.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        inner_width: int,
        activation: str,
        norm_epsilon: float,
        *,
        norm_first: bool,
        scale: float,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention = SelfAttention(width, heads, scale=scale)
        self.attention_norm = nn.LayerNorm(width, eps=norm_epsilon)
        self.feed_forward = FeedForward(width, inner_width, activation)
        self.feed_forward_norm = nn.LayerNorm(width, eps=norm_epsilon)

    def forward(
        self,
        hidden: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        want_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Hidden states of the same shape, and the attention weights if wanted."""
        attended, weights = self.attention(self._before(hidden), mask, causal=causal, want_weights=want_weights)
        return self._after(hidden, attended), weights

    def extend(self, hidden: Tensor, cache: KVCache, layer: int, window: Window) -> Tensor:
        """Hidden states of new tokens, whose keys and values are kept in the cache as those of `layer`."""
        return self._after(hidden, attend_and_keep(self.attention, self._before(hidden), cache, layer, window))

    def _before(self, hidden: Tensor) -> Tensor:
        return self.attention_norm(hidden) if self.norm_first else hidden

    def _after(self, hidden: Tensor, attended: Tensor) -> Tensor:
        hidden = hidden + attended
        if self.norm_first:
            return hidden + self.feed_forward(self.feed_forward_norm(hidden))
        hidden = self.attention_norm(hidden)
        return self.feed_forward_norm(hidden + self.feed_forward(hidden))
