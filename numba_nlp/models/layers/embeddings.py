"""Embeddings of tokens, positions and types, summed and normalised; and the positions of sines and cosines."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["TokenEmbeddings", "sinusoids"]


class TokenEmbeddings(nn.Module):
    """The sum of the embeddings of token, position and type, normalised.

    Parameters
    ----------
    vocabulary, positions, types : int
        Numbers of rows; without types 0.
    width : int
        Of the embeddings.
    norm_epsilon : float
        Of the normalisation.
    """

    def __init__(self, vocabulary: int, positions: int, types: int, width: int, norm_epsilon: float) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.types = nn.Embedding(types, width) if types else None
        self.norm = nn.LayerNorm(width, eps=norm_epsilon)

    def forward(self, ids: torch.Tensor, positions: torch.Tensor, types: torch.Tensor | None = None) -> torch.Tensor:
        """Embeddings ``[rows, width, model width]``.

        Parameters
        ----------
        ids : Tensor
            ``int64[rows, width]``.
        positions : Tensor
            ``int64[rows or 1, width]``.
        types : Tensor or None
            ``int64[rows, width]``; None: all 0.
        """
        embedded = self.tokens(ids)
        if self.types is not None:
            embedded = embedded + (self.types.weight[0] if types is None else self.types(types))
        return self.norm(embedded + self.positions(positions))


def sinusoids(positions: int, width: int, *, device: torch.device | None = None) -> torch.Tensor:
    """Table of positions of Vaswani et al. 2017, section 3.5: all sines in the first half, then all cosines.

    Parameters
    ----------
    positions : int
        Number of rows.
    width : int
        Of a row; where it is odd the sines have one column more.
    device : torch.device, optional
        Where the table is made.

    Returns
    -------
    Tensor
        ``float32[positions, width]``, computed in float64.
    """
    columns = torch.arange(width, dtype=torch.float64, device=device)
    rates = 10000.0 ** (-2.0 * (columns // 2) / width)
    angles = torch.arange(positions, dtype=torch.float64, device=device)[:, None] * rates[None, :]
    return torch.cat([angles[:, 0::2].sin(), angles[:, 1::2].cos()], dim=1).float()
