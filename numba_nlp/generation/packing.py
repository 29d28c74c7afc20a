"""Weights as the products of a decoder's step read them: panels of neighbouring outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["KINDS", "PackedWeights", "WeightKind", "pack_weights", "pad_columns"]

WeightKind = Literal["float32", "float16", "bfloat16", "int8"]
#: How weights may be kept, and the type of the array that holds them.
KINDS: dict[str, type] = {"float32": np.float32, "float16": np.uint16, "bfloat16": np.uint16, "int8": np.int8}


@dataclass(frozen=True)
class PackedWeights:
    """A matrix in panels; see :mod:`numba_nlp.kernels.step.products`.

    Attributes
    ----------
    panels : float32, uint16 or int8 [panels * depth * COLUMNS]
        Weight ``(panel * COLUMNS + column, k)`` is element ``(panel * depth + k) * COLUMNS + column``; zeros stand
        where there are no more outputs.
    scales : float32[panels * COLUMNS] or float32[0]
        What products with int8 weights are multiplied with.
    outputs, depth : int
        Shape of the matrix.
    kind : str
    """

    panels: np.ndarray
    scales: np.ndarray
    outputs: int
    depth: int
    kind: WeightKind

    @property
    def columns(self) -> int:
        """Outputs with those that fill the last panel."""
        return -(-self.outputs // COLUMNS) * COLUMNS


def pack_weights(weights: np.ndarray, kind: WeightKind = "float32") -> PackedWeights:
    """Pack a matrix.

    Parameters
    ----------
    weights : float32[outputs, depth]
        As torch's ``Linear`` keeps them.
    kind : {"float32", "float16", "bfloat16", "int8"}
        How to keep them. 16-bit weights are the nearest to those given, ties to even, so weights that came from such a
        checkpoint are kept exactly. int8 weights are the nearest multiples of the largest magnitude of the output
        divided by 127.

    Returns
    -------
    PackedWeights

    Raises
    ------
    ValueError
        There is no such kind, the array is no matrix of float32, it has no element, or weights are not finite or, for
        float16, beyond 65504.
    """
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if weights.ndim != 2 or weights.dtype != np.float32 or not weights.size:
        raise ValueError(f"`weights` must be a matrix of float32, got {weights.dtype} {list(weights.shape)}")
    outputs, depth = weights.shape
    largest = np.abs(weights).max(axis=1)
    limit = 65519.99 if kind == "float16" else np.finfo(np.float32).max
    if not (largest <= limit).all():  # NaN is not either
        worst = int(np.argmax(np.where(np.isnan(largest), np.inf, largest)))
        raise ValueError(f"output {worst} has a weight of magnitude {largest[worst]}, which {kind} does not hold")
    scales = np.zeros(0, np.float32)
    kept: np.ndarray = weights
    if kind == "int8":
        steps = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
        kept = np.rint(weights / steps[:, None]).astype(np.int8)
        scales = pad_columns(steps)
    elif kind == "float16":
        kept = weights.astype(np.float16).view(np.uint16)
    elif kind == "bfloat16":
        bits = np.ascontiguousarray(weights).view(np.uint32)
        kept = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    panels = np.zeros((-(-outputs // COLUMNS), depth, COLUMNS), KINDS[kind])
    for panel in range(len(panels)):  # a whole padded copy would take as much memory again
        some = kept[panel * COLUMNS : (panel + 1) * COLUMNS]
        panels[panel, :, : len(some)] = some.T
    return PackedWeights(panels.reshape(-1), scales, outputs, depth, kind)


def pad_columns(values: np.ndarray) -> np.ndarray:
    """Numbers of the outputs, and zeros for those that fill the last panel: float32[columns]."""
    padded = np.zeros(-(-values.size // COLUMNS) * COLUMNS, np.float32)
    padded[: values.size] = values
    return padded
