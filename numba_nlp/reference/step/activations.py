"""Twin of ``numba_nlp.kernels.step.activations``: the functions by their definitions, in float64."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["FUNCTIONS", "activate"]


def logistic(x):
    """Logistic function."""
    return 0.5 * (1.0 + math.tanh(0.5 * x))


def gelu(x):
    """``x`` times the normal distribution function."""
    return x * 0.5 * math.erfc(-x / math.sqrt(2.0))


FUNCTIONS = {
    "linear": lambda x: x,
    "relu": lambda x: max(x, 0.0),
    "silu": lambda x: x * logistic(x),
    "gelu_new": lambda x: 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3))),
    "gelu": gelu,
    "quick_gelu": lambda x: x * logistic(1.702 * x),
    "relu2": lambda x: max(x, 0.0) ** 2,
    "gelu_10": lambda x: min(max(gelu(x), -10.0), 10.0),
    "sigmoid": logistic,
    "tanh": math.tanh,
    "mish": lambda x: x * math.tanh(math.log1p(math.exp(x)) if x < 30 else x),
}


def activate(name, values):
    """All values."""
    return np.array([FUNCTIONS[name](float(value)) for value in values])
