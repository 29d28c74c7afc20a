"""The classifier of rows of BART and T5."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["RowClassifier"]


class RowClassifier(nn.Module):
    """Logits of labels from one vector a row: linear map, tanh, linear map.

    Parameters
    ----------
    width, labels : int
    """

    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.output = nn.Linear(width, labels)

    def forward(self, hidden: Tensor) -> Tensor:
        """``[rows, width]`` -> ``[rows, labels]``."""
        return self.output(torch.tanh(self.inner(hidden)))
