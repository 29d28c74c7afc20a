"""A block of XLNet: one attention for two streams, contents and queries (Yang et al. 2019, section 2.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from numba_nlp.models.kv_cache import KVCache, Window
from numba_nlp.models.layers.feed_forward import FeedForward
from numba_nlp.models.layers.relative_attention import RelativeAttention, shift_to_columns

__all__ = ["CachedStreams", "Streams", "XlnetBlock", "other_segment"]


@dataclass(frozen=True)
class Streams:
    """What the layers of one call share.

    Attributes
    ----------
    sinusoids : Tensor
        ``[distances, model width]``, in falling order of the distance; see `shift_to_columns`.
    content_mask, query_mask : Tensor or None
        Added to the scores of the two streams; see `stream_masks`.
    other_segment : Tensor or None
        bool ``[rows, width, columns]``: query and key are of different segments. None: there are no segments.
    targets : Tensor or None
        ``[rows, predictions, width]``: weights of the tokens that a prediction is for, in the query stream.
    want_weights : bool
        Whether attention weights are returned.
    """

    sinusoids: Tensor
    content_mask: Tensor | None
    query_mask: Tensor | None
    other_segment: Tensor | None
    targets: Tensor | None
    want_weights: bool


@dataclass(frozen=True)
class CachedStreams:
    """What the layers of one call over a cache share.

    Attributes
    ----------
    content_positions, query_positions : sequence of Tensor
        For each layer keys of positions ``[heads, distances, head width]``, in falling order of the distance; see
        `shift_to_columns`.
    content_mask, query_mask : Tensor or None
        Added to the scores of the two streams.
    """

    content_positions: Sequence[Tensor]
    query_positions: Sequence[Tensor]
    content_mask: Tensor | None
    query_mask: Tensor | None


class XlnetBlock(nn.Module):
    """Relative attention and feed-forward, each added to its input and normalised then.

    Parameters
    ----------
    width, heads, head_width, inner_width, activation
        As of `RelativeAttention` and `FeedForward`.
    norm_epsilon : float
        Of the normalisations.
    """

    def __init__(
        self, width: int, heads: int, head_width: int, inner_width: int, activation: str, norm_epsilon: float
    ) -> None:
        super().__init__()
        self.attention = RelativeAttention(width, heads, head_width)
        self.attention_norm = nn.LayerNorm(width, eps=norm_epsilon)
        self.feed_forward = FeedForward(width, inner_width, activation)
        self.feed_forward_norm = nn.LayerNorm(width, eps=norm_epsilon)

    def finish(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """What follows attention; the same for both streams."""
        hidden = self.attention_norm(hidden + attended)
        return self.feed_forward_norm(hidden + self.feed_forward(hidden))

    def forward(
        self, content: Tensor, query: Tensor | None, before: Tensor | None, streams: Streams
    ) -> tuple[Tensor, Tensor | None, Any]:
        """Both streams through the block.

        Parameters
        ----------
        content : Tensor
            ``[rows, width, model width]``.
        query : Tensor or None
            ``[rows, predictions, model width]``; None: there is no query stream.
        before : Tensor or None
            ``[rows, memory, model width]``: what this block read in earlier calls.
        streams : Streams

        Returns
        -------
        content, query : Tensor, Tensor or None
            Of the same shapes.
        weights : Tensor, pair of Tensor, or None
            Attention of the content stream, or of both, if wanted.
        """
        attention = self.attention
        keys, values = attention.keys_and_values(content if before is None else torch.cat([before, content], dim=1))
        position_keys = attention.position_keys(streams.sinusoids)

        def attend(queries: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
            scores = shift_to_columns(attention.by_distance(queries, position_keys), keys.shape[2])
            if streams.other_segment is not None:
                scores = scores + attention.by_segment(queries, streams.other_segment)
            return attention.combine(queries, keys, values, scores, mask, want_weights=streams.want_weights)

        attended, weights = attend(attention.queries(content), streams.content_mask)
        after = self.finish(content, attended)
        if query is None:
            return after, None, weights
        targets = streams.targets
        assert targets is not None, "a query stream has targets"
        # Each prediction asks from the place of its token, and gets back what that place got.
        from_places = targets.transpose(1, 2)[:, None] @ attention.queries(query)
        attended, query_weights = attend(from_places, streams.query_mask)
        return after, self.finish(query, targets @ attended), (weights, query_weights)

    def extend(
        self, content: Tensor, query: Tensor, cache: KVCache, layer: int, window: Window, streams: CachedStreams
    ) -> tuple[Tensor, Tensor]:
        """New contents, kept in the cache as those of `layer`, and the query of the token behind them.

        Parameters
        ----------
        content : Tensor
            ``[given, width, model width]``.
        query : Tensor
            ``[given, 1, model width]``.
        cache, layer, window
            As of `KVCache.store`.
        streams : CachedStreams

        Returns
        -------
        content, query : Tensor
            Of the same shapes.
        """
        attention = self.attention
        keys, values = cache.store(layer, *attention.keys_and_values(content), window)

        def attend(hidden: Tensor, position_keys: Tensor, mask: Tensor | None) -> Tensor:
            queries = attention.queries(hidden)
            scores = shift_to_columns(attention.by_distance(queries, position_keys), keys.shape[2])
            return self.finish(hidden, attention.combine(queries, keys, values, scores, mask)[0])

        after = attend(content, streams.content_positions[layer], streams.content_mask)
        return after, attend(query, streams.query_positions[layer], streams.query_mask)


def other_segment(types: Tensor, past: int) -> Tensor:
    """Where query and key are of different segments.

    Parameters
    ----------
    types : Tensor
        int64 ``[rows, width]``.
    past : int
        Remembered columns before them, which are of segment 0.

    Returns
    -------
    Tensor
        bool ``[rows, width, past + width]``.
    """
    columns = nn.functional.pad(types, (past, 0))
    return types[:, :, None] != columns[:, None, :]
