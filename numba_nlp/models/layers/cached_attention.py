"""Attention over a KVCache: of new tokens over their row, and of all beams of a sentence over its source."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from numba_nlp.models.kv_cache import KVCache, Window
from numba_nlp.models.layers.attention import SelfAttention, join_heads

__all__ = ["attend_and_keep", "attend_to_cache", "attend_to_source"]


def attend_and_keep(
    attention: SelfAttention,
    hidden: Tensor,
    cache: KVCache,
    layer: int,
    window: Window,
    *,
    bias: Tensor | None = None,
) -> Tensor:
    """Self-attention of new tokens whose keys and values stay in the cache.

    Parameters
    ----------
    attention : SelfAttention
    hidden : Tensor
        [given, width, model width].
    cache, layer, window
        As of `KVCache.store`.
    bias : Tensor, optional
        As of `attend_to_cache`.

    Returns
    -------
    Tensor
        [given, width, model width].
    """
    queries, keys, values = attention.project(hidden)
    keys, values = cache.store(layer, keys, values, window)
    context = attend_to_cache(queries, keys, values, window, scale=attention.scale, bias=bias)
    return attention.output(join_heads(context))


def attend_to_cache(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    window: Window,
    *,
    scale: float | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Attention of the new tokens over what their rows hold.

    Parameters
    ----------
    query : Tensor
        [given, heads, width, head_width].
    keys, values : Tensor
        [given, heads, window.keys, head_width], as `KVCache.store` returns them.
    window : Window
    scale : float, optional
        Factor of the products; by default ``head_width ** -0.5``.
    bias : Tensor, optional
        Added to the scaled products, as relative positions are; broadcasts to [given, heads, width, window.keys].

    Returns
    -------
    Tensor
        [given, heads, width, head_width]; zeros for a token that sees nothing.
    """
    visible, causal = window.visible, window.causal
    if bias is not None:
        if causal:
            columns = window.slots
            visible = columns <= columns[:, None]
        visible, causal = bias if visible is None else bias.masked_fill(~visible, float("-inf")), False
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=visible, is_causal=causal, scale=scale)


def attend_to_source(query: Tensor, cache: KVCache, layer: int, *, scale: float | None = None) -> Tensor:
    """Attention over the source, whose keys and values all beams of a sentence share without a copy.

    Parameters
    ----------
    query : Tensor
        [rows, heads, width, head_width]; ``rows`` is a multiple of the cache's sentences.
    cache : KVCache
    layer : int
    scale : float, optional
        Factor of the products; by default ``head_width ** -0.5``.

    Returns
    -------
    Tensor
        [rows, heads, width, head_width].
    """
    keys, values, visible = cache.source(layer)
    rows, heads, width, head_width = query.shape
    beams = rows // cache.sentences
    if beams == 1:
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=visible, scale=scale)
    # The queries of a sentence's beams stand one below the other: [sentences, heads, beams * width, head_width].
    grouped = query.view(cache.sentences, beams, heads, width, head_width).transpose(1, 2)
    grouped = grouped.reshape(cache.sentences, heads, beams * width, head_width)
    context = F.scaled_dot_product_attention(grouped, keys, values, attn_mask=visible, scale=scale)
    context = context.view(cache.sentences, heads, beams, width, head_width).transpose(1, 2)
    return context.reshape(rows, heads, width, head_width)
