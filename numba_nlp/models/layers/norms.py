"""Normalisation by the root of the mean square (Zhang and Sennrich 2019, arXiv:1910.07467)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["RmsNorm"]


class RmsNorm(nn.Module):
    """``weight * x / sqrt(mean(x ** 2) + eps)``, in the dtype of the weight.

    Parameters
    ----------
    width : int
        Of the last dimension.
    eps : float
    """

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, hidden: Tensor) -> Tensor:
        """Values of the same shape; wider input, as float32 between layers of float16, is narrowed after the mean."""
        return self.weight * F.rms_norm(hidden, self.weight.shape, None, self.eps).to(self.weight.dtype)
