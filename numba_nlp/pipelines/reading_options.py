"""Options that tasks share whose model reads and writes no text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numba_nlp._arguments import choice

__all__ = ["ReadingOptions"]


@dataclass(frozen=True)
class ReadingOptions:
    """What computes the model; see :func:`numba_nlp.generation.infer`.

    Attributes
    ----------
    engine : {"auto", "numba", "torch"}
        "auto": encoders by Numba on a CPU, other models by torch.
    weights : {"auto", "float32", "float16", "bfloat16", "int8"}
        How Numba keeps the weights of an encoder. "int8" is quickest, and rounds.

    Raises
    ------
    ValueError, TypeError
        One has a value that it cannot have.
    """

    engine: str = "auto"
    weights: str = "auto"

    def __post_init__(self) -> None:
        choice("engine", self.engine, ("auto", "numba", "torch"))
        choice("weights", self.weights, ("auto", "float32", "float16", "bfloat16", "int8"))

    @property
    def computing(self) -> dict[str, Any]:
        """These options, as keywords."""
        return {"engine": self.engine, "weights": self.weights}
