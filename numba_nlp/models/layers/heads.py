"""What stands on the hidden states: logits over the vocabulary, and classifiers."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from numba_nlp.models.layers.activations import ACTIVATIONS

__all__ = ["MaskedLmHead", "OutputLayer", "Pooler"]


class OutputLayer(nn.Module):
    """Logits over the vocabulary, by a matrix of its own or by that of the embeddings.

    Parameters
    ----------
    width, vocabulary : int
        Of the hidden states and of the logits.
    tied : bool
        Whether the matrix is that of the embeddings: the layer holds none then.
    bias : bool
        Whether there is one.
    """

    def __init__(self, width: int, vocabulary: int, *, tied: bool, bias: bool = False) -> None:
        super().__init__()
        self.shape = (vocabulary, width)
        self.weight = None if tied else nn.Parameter(torch.zeros(vocabulary, width))
        self.bias = nn.Parameter(torch.zeros(vocabulary)) if bias else None

    def untie(self, like: torch.Tensor) -> None:
        """Give the layer a matrix of its own: the checkpoint's differs from the embeddings."""
        self.weight = nn.Parameter(torch.empty(self.shape, dtype=like.dtype, device=like.device))

    def forward(self, hidden: torch.Tensor, embeddings: torch.Tensor) -> torch.Tensor:
        """Logits ``[..., vocabulary]``; ``embeddings`` is the matrix of the token embeddings."""
        return F.linear(hidden, embeddings if self.weight is None else self.weight, self.bias)


class MaskedLmHead(nn.Module):
    """Linear map, activation, normalisation, logits.

    Parameters
    ----------
    width, inner_width, vocabulary : int
        Of the hidden states, of the embeddings, of the logits.
    activation : str
        A name of ``ACTIVATIONS``.
    norm_epsilon : float
        Of the normalisation.
    tied : bool
        As of :class:`OutputLayer`.
    """

    def __init__(
        self, width: int, inner_width: int, vocabulary: int, activation: str, norm_epsilon: float, *, tied: bool
    ) -> None:
        super().__init__()
        self.transform = nn.Linear(width, inner_width)
        self.activation = ACTIVATIONS[activation]
        self.norm = nn.LayerNorm(inner_width, eps=norm_epsilon)
        self.output = OutputLayer(inner_width, vocabulary, tied=tied, bias=True)

    def forward(self, hidden: torch.Tensor, embeddings: torch.Tensor) -> torch.Tensor:
        """Logits ``[..., vocabulary]``."""
        return self.output(self.norm(self.activation(self.transform(hidden))), embeddings)


class Pooler(nn.Module):
    """One vector for a row: a linear map of its first token, and an activation.

    Parameters
    ----------
    width : int
        Of the hidden states.
    activation : str
        A name of ``ACTIVATIONS``.
    """

    def __init__(self, width: int, activation: str) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.activation = ACTIVATIONS[activation]

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """``[rows, width, model width]`` -> ``[rows, model width]``."""
        return self.activation(self.linear(hidden[:, 0]))
