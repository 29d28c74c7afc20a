"""Weights as the products of a decoder's step read them: panels of neighbouring outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from numba_nlp.kernels.step.packed_rows import GROUP, ZERO
from numba_nlp.kernels.step.products import Matrices
from numba_nlp.kernels.step.row_blocks import COLUMNS
from numba_nlp.kernels.step.word_blocks import HIGHEST, MOST_WEIGHT, PAIR, RUN

__all__ = ["KINDS", "WeightKind", "pack_matrices"]

WeightKind = Literal["float32", "float16", "bfloat16", "int8", "int16"]
#: How weights may be kept, and the type of the array that holds them.
KINDS: dict[str, type] = {
    "float32": np.float32,
    "float16": np.uint16,
    "bfloat16": np.uint16,
    "int8": np.int8,
    "int16": np.int16,
}
#: Kinds of integers -> the largest, and how many weights of an output stand side by side.
_INTEGERS = {"int8": (127, GROUP), "int16": (HIGHEST, PAIR)}
#: Greatest magnitude that is rounded to a finite number.
_LIMITS: dict[str, np.float32] = dict.fromkeys(KINDS, np.finfo(np.float32).max)
_LIMITS["float16"] = np.nextafter(np.float32(65520), np.float32(0))
_LIMITS["bfloat16"] = np.uint32(0x7F7F7FFF).view(np.float32)
#: Sums of products of bytes reach at most 255 * 127 * depth, and 32 bits hold them.
_DEEPEST = {"int8": (2**31 - 1) // (255 * 127)}


def pack_matrices(
    weights: Sequence[np.ndarray], biases: Sequence[np.ndarray] | None = None, kind: WeightKind = "float32"
) -> Matrices:
    """Pack matrices of one shape, one behind the other.

    Parameters
    ----------
    weights : sequence of float32[outputs, depth]
        As torch's ``Linear`` keeps them.
    biases : sequence of float32[outputs], optional
        One for each matrix.
    kind : {"float32", "float16", "bfloat16", "int8", "int16"}
        How to keep weights. 16-bit weights are the nearest to those given, ties to even, so weights that came from such
        a checkpoint are kept exactly. int8 weights are the nearest multiples of the largest magnitude of the output
        divided by 127; int16 weights, which T5's int8 has for what int8 is too coarse for, of a step that is as small
        as sums allow.

    Returns
    -------
    Matrices

    Raises
    ------
    ValueError
        There is no such kind, there is no matrix, an array is no matrix of float32 or has no element, shapes differ, or
        numbers are not finite or, for float16, beyond 65504; int8 weights of more than 66,311 numbers an output.
    """
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if not weights:
        raise ValueError("`weights` must be at least one matrix, got none")
    for matrix in weights:
        if matrix.ndim != 2 or matrix.dtype != np.float32 or not matrix.size:
            raise ValueError(f"`weights` must be matrices of float32, got {matrix.dtype} {list(matrix.shape)}")
        if matrix.shape != weights[0].shape:
            raise ValueError(f"matrices of {list(weights[0].shape)} and {list(matrix.shape)} cannot be packed together")
    outputs, depth = weights[0].shape
    if depth > _DEEPEST.get(kind, depth):
        raise ValueError(f"{kind} holds sums of at most {_DEEPEST[kind]} products, the matrix has {depth} columns")
    group = _INTEGERS[kind][1] if kind in _INTEGERS else 1
    n_panels, n_groups = -(-outputs // COLUMNS), -(-depth // group)
    panels = np.zeros((len(weights), n_panels, n_groups, COLUMNS, group), KINDS[kind])
    steps = np.zeros((len(weights), n_panels * COLUMNS), np.float32)
    sums = np.zeros((len(weights), n_panels * COLUMNS), np.int32)
    for number, matrix in enumerate(weights):
        kept, steps[number, :outputs] = _kept(matrix, kind)
        if kind == "int8":
            sums[number, :outputs] = ZERO * kept.sum(axis=1, dtype=np.int32)
        for panel in range(n_panels):  # a whole padded copy would take as much memory again
            some = kept[panel * COLUMNS : (panel + 1) * COLUMNS]
            some = np.pad(some, ((0, 0), (0, n_groups * group - depth)))
            panels[number, panel, :, : len(some)] = some.reshape(len(some), n_groups, group).transpose(1, 0, 2)
    return Matrices(
        panels.reshape(-1),
        steps.reshape(-1) if kind in _INTEGERS else np.zeros(0, np.float32),
        sums.reshape(-1) if kind == "int8" else np.zeros(0, np.int32),
        _padded(biases, len(weights), outputs),
        outputs,
        depth,
    )


def _kept(weights: np.ndarray, kind: WeightKind) -> tuple[np.ndarray, np.ndarray]:
    """Weights as they are kept, and of what those of each output are multiples (integers)."""
    largest = np.abs(weights).max(axis=1)
    if not (largest <= _LIMITS[kind]).all():  # NaN is not either
        worst = int(np.argmax(np.where(np.isnan(largest), np.inf, largest)))
        raise ValueError(f"output {worst} has a weight of magnitude {largest[worst]}, which {kind} does not hold")
    with np.errstate(all="ignore"):  # small numbers are rounded to zeros, whatever a program makes of underflow
        return _rounded(weights, largest, kind)


def _rounded(weights: np.ndarray, largest: np.ndarray, kind: WeightKind) -> tuple[np.ndarray, np.ndarray]:
    """The same for weights that the kind holds, given the largest magnitude of each output."""
    steps: np.ndarray = np.ones(len(weights), np.float32)
    if kind in _INTEGERS:
        most = np.float32(_INTEGERS[kind][0])
        steps = largest / most
        if kind == "int16":
            # each may be rounded up by a half
            starts = np.arange(0, weights.shape[1], RUN * PAIR)
            sums = np.add.reduceat(np.abs(weights), starts, axis=1, dtype=np.float64).max(axis=1)
            steps = np.maximum(steps, (sums / (MOST_WEIGHT - RUN - 1)).astype(np.float32))
        # of smaller numbers the step would be rounded itself; they are kept as zeros
        steps = np.where(largest >= np.float32(2.0**-100), steps, np.float32(1)).astype(np.float32)
        return np.rint(weights / steps[:, None]).astype(KINDS[kind]), steps
    if kind == "float16":
        return weights.astype(np.float16).view(np.uint16), steps
    if kind == "bfloat16":
        bits = np.ascontiguousarray(weights).view(np.uint32)
        return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16), steps
    return weights, steps


def _padded(biases: Sequence[np.ndarray] | None, matrices: int, outputs: int) -> np.ndarray:
    """Biases, each with zeros for the outputs that fill the last panel."""
    if biases is None:
        return np.zeros(0, np.float32)
    found = [f"{bias.dtype} {list(bias.shape)}" for bias in biases]
    if found != [f"float32 [{outputs}]"] * matrices:
        raise ValueError(f"`biases` must be {matrices} of float32 [{outputs}], got {', '.join(found) or 'none'}")
    padded = np.zeros((matrices, -(-outputs // COLUMNS) * COLUMNS), np.float32)
    padded[:, :outputs] = biases
    return padded.reshape(-1)
