"""Activation functions under the names that config.json files use."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F

__all__ = ["ACTIVATIONS"]


def _gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    """GELU by its approximation with tanh (Hendrycks and Gimpel 2016, arXiv:1606.08415, section 2)."""
    return F.gelu(x, approximate="tanh")


def _gelu_sigmoid(x: torch.Tensor) -> torch.Tensor:
    """GELU by its approximation with the logistic function (the same paper)."""
    return x * torch.sigmoid(1.702 * x)


def _gelu_clipped(x: torch.Tensor) -> torch.Tensor:
    return F.gelu(x).clamp(-10.0, 10.0)


def _identity(x: torch.Tensor) -> torch.Tensor:
    return x


def _relu_squared(x: torch.Tensor) -> torch.Tensor:
    return F.relu(x).square()


#: Name in config.json -> function. Names of one function are those that transformers takes for it.
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": F.gelu,
    "gelu_10": _gelu_clipped,
    "gelu_accurate": _gelu_tanh,
    "gelu_fast": _gelu_tanh,
    "gelu_new": _gelu_tanh,
    "gelu_python": F.gelu,
    "gelu_pytorch_tanh": _gelu_tanh,
    "linear": _identity,
    "mish": F.mish,
    "quick_gelu": _gelu_sigmoid,
    "relu": F.relu,
    "relu2": _relu_squared,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": torch.tanh,
}
