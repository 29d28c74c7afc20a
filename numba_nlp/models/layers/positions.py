"""Positions that are added to the embeddings of tokens: learned ones, and tables of sines and cosines."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from numba_nlp.models.layers.embeddings import sinusoids
from numba_nlp.models.layers.masks import mask_positions
from numba_nlp.models.layers.pooled import first_position

__all__ = ["CountedSines", "LearnedPositions", "Positions", "Sines"]


class Positions(nn.Module):
    """Embeddings of positions; subclasses have a matrix.

    Positions of a source count from the first token of a row that is no padding, so that padding at the left changes
    nothing. transformers numbers the columns instead, for all but M2M100.
    """

    def of_source(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Position of each token, ``int64[rows or 1, width]``."""
        columns = torch.arange(ids.shape[1], device=ids.device)[None]
        return columns if mask is None else (columns - first_position(mask, ids)[:, None]).clamp(min=0)

    def of_rows(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The same of whole rows of a decoder, where padding has no position: behind it, a row goes on."""
        return self.of_source(ids, None) if mask is None else mask_positions(mask)

    def of_new(self, ids: Tensor, counted: Tensor) -> Tensor:
        """The same of tokens before which ``counted`` others have positions, ``int64[rows or 1, width]``."""
        return counted

    def numbered(self, ids: Tensor, mask: Tensor | None) -> Tensor | None:
        """Which tokens have positions, ``bool[rows, width]``; None: those of the mask."""
        return None

    def fill_tables(self) -> None:
        """Compute what checkpoints need not hold; by default nothing."""


class LearnedPositions(Positions):
    """A matrix of the checkpoint whose first two rows are of no position (BART, mBART).

    Parameters
    ----------
    positions, width : int
        Number of positions, and of columns.
    """

    unused = 2

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(positions + self.unused, width))

    def forward(self, positions: Tensor) -> Tensor:
        """``int64[rows or 1, width]`` -> ``[rows or 1, width, model width]``."""
        return F.embedding(positions + self.unused, self.weight)


class Sines(Positions):
    """A table that is computed, the sines in the first half of a row (Marian, Pegasus).

    Parameters
    ----------
    positions, width : int
        As of :class:`LearnedPositions`.
    """

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros(positions, width), persistent=False)

    def fill_tables(self) -> None:
        """Compute the table."""
        self.weight.copy_(sinusoids(*self.weight.shape, device=torch.device("cpu")))

    def forward(self, positions: Tensor) -> Tensor:
        """``int64[rows or 1, width]`` -> ``[rows or 1, width, model width]``."""
        return F.embedding(positions, self.weight)


class CountedSines(Positions):
    """The table of fairseq, by the number of tokens so far that are not padding (M2M100).

    Parameters
    ----------
    positions, width : int
        As of :class:`LearnedPositions`.
    padding : int
        Id of the padding token. It has no position, and its row of the table is of zeros; that after it is of the first
        position.
    """

    def __init__(self, positions: int, width: int, padding: int) -> None:
        super().__init__()
        self.padding = padding
        self.weight: Tensor
        self.register_buffer("weight", torch.zeros(padding + 1 + positions, width), persistent=False)

    def fill_tables(self) -> None:
        """Compute the table.

        It is computed in float32 and with rates of its own (those of tensor2tensor, whose last one is 1 / 10000), as
        the models were trained with.
        """
        rows, width = self.weight.shape
        half = width // 2
        rates = torch.exp(torch.arange(half, device="cpu").float() * -(math.log(10000.0) / (half - 1)))
        angles = torch.arange(rows, device="cpu").float()[:, None] * rates
        table = F.pad(torch.cat([angles.sin(), angles.cos()], dim=1), (0, width % 2))
        table[self.padding] = 0.0
        self.weight.copy_(table)

    def of_source(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Position of each token, ``int64[rows, width]``."""
        counts = self.numbered(ids, mask)
        return counts.long().cumsum(1) * counts + self.padding

    def of_rows(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """The same: the padding token has no position where a row begins with it either, as NLLB's may."""
        return self.of_source(ids, mask)

    def numbered(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """All but padding tokens, and but what pads a row at the left, whatever its id."""
        counts = ids != self.padding
        if mask is not None:
            counts = counts & (torch.arange(ids.shape[1], device=ids.device) >= first_position(mask, ids)[:, None])
        return counts

    def of_new(self, ids: Tensor, counted: Tensor) -> Tensor:
        """The same of tokens before which ``counted`` others have positions, ``int64[rows, width]``."""
        return (counted + self.padding + 1).masked_fill(ids == self.padding, self.padding)

    def forward(self, positions: Tensor) -> Tensor:
        """``int64[rows, width]`` -> ``[rows, width, model width]``."""
        return F.embedding(positions, self.weight)
