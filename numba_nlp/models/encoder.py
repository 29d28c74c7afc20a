"""The encoder that BERT and its kin share: summed embeddings, then blocks that normalise after each sum."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from numba_nlp.models.layers.embeddings import TokenEmbeddings
from numba_nlp.models.layers.feed_forward import PostNormBlock, run_blocks
from numba_nlp.models.layers.masks import padding_mask

__all__ = ["Encoder", "EncoderSettings"]


@dataclass(frozen=True)
class EncoderSettings:
    """Settings of BERT and its kin.

    Attributes
    ----------
    vocabulary, positions, types : int
        Numbers of tokens, positions and types of tokens that have embeddings; without types 0.
    width, embedding_width, inner_width : int
        Of the hidden states, of the embeddings, and within a feed-forward layer.
    layers, heads : int
        Numbers of layers, and of heads in each.
    activation : str
        Of the feed-forward layers.
    norm_epsilon : float
        Of the normalisations.
    tied : bool
        Whether the output layer of a masked language model has the matrix of the embeddings.
    labels : int
        Of classifiers.
    padding_id : int or None
        Id of the padding token, where positions depend on it.
    """

    vocabulary: int
    positions: int
    types: int
    width: int
    embedding_width: int
    inner_width: int
    layers: int
    heads: int
    activation: str
    norm_epsilon: float
    tied: bool
    labels: int
    padding_id: int | None = None


class Encoder(nn.Module):
    """Embeddings and blocks.

    Parameters
    ----------
    settings : EncoderSettings
    """

    def __init__(self, settings: EncoderSettings) -> None:
        super().__init__()
        s = settings
        self.embeddings = TokenEmbeddings(s.vocabulary, s.positions, s.types, s.embedding_width, s.norm_epsilon)
        self.projection = nn.Linear(s.embedding_width, s.width) if s.embedding_width != s.width else None
        self.blocks = nn.ModuleList(
            PostNormBlock(s.width, s.heads, s.inner_width, s.activation, s.norm_epsilon) for _ in range(s.layers)
        )

    def forward(
        self,
        ids: torch.Tensor,
        mask: torch.Tensor | None,
        positions: torch.Tensor,
        types: torch.Tensor | None = None,
        *,
        want_hidden: bool = False,
        want_weights: bool = False,
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...] | None, tuple[torch.Tensor, ...] | None]:
        """Hidden states, and as asked for those of each layer and its attention; see ``run_blocks``."""
        hidden = self.embeddings(ids, positions, types)
        if self.projection is not None:
            hidden = self.projection(hidden)
        return run_blocks(
            self.blocks,
            hidden,
            padding_mask(mask, hidden.dtype),
            want_hidden=want_hidden,
            want_weights=want_weights,
        )
