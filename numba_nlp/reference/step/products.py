"""Plain twin of ``numba_nlp/kernels/step/products.py``, written for obviousness."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numba_nlp.reference.step.code_blocks import multiply_codes
from numba_nlp.reference.step.packed_rows import quantise
from numba_nlp.reference.step.row_blocks import weight_values
from numba_nlp.reference.step.word_blocks import multiply_words

if TYPE_CHECKING:
    from numba_nlp.kernels.step.products import Matrices


def stored_weights(matrices: Matrices, which: int, columns: int) -> np.ndarray:
    """Weights of one matrix as they are stored, ``[outputs, depth]``, from panels of so many columns."""
    group = {np.dtype(np.int8): 4, np.dtype(np.int16): 2}.get(matrices.panels.dtype, 1)
    n_groups, n_panels = -(-matrices.depth // group), -(-matrices.outputs // columns)
    panels = matrices.panels.reshape(-1, n_panels, n_groups, columns, group)[which]
    whole = panels.transpose(0, 2, 1, 3).reshape(n_panels * columns, n_groups * group)
    return whole[: matrices.outputs, : matrices.depth]


def of_matrix(values: np.ndarray, matrices: Matrices, which: int, columns: int) -> np.ndarray:
    """Those of the scales or biases of all matrices that belong to one."""
    n_panels = -(-matrices.outputs // columns)
    return values.reshape(-1, n_panels * columns)[which, : matrices.outputs]


def multiply(x: np.ndarray, matrices: Matrices, which: int, kind: str, columns: int) -> np.ndarray:
    """The product with one matrix in float64, with integers in float32: ``[rows, outputs]``."""
    weights = stored_weights(matrices, which, columns)
    if kind in ("int8", "int16"):
        found = [quantise(row, 127 if kind == "int8" else 2**15 - 1) for row in x]
        integers, steps = np.array([row for row, _ in found]), np.array([step for _, step in found], np.float32)
        scales = of_matrix(matrices.scales, matrices, which, columns)
        out = (
            multiply_codes(integers, steps, weights, scales)
            if kind == "int8"
            else multiply_words(integers, steps, weights, scales, 64)
        )
    else:
        out = x.astype(np.float64) @ weight_values(weights, kind).T
    return out + of_matrix(matrices.bias, matrices, which, columns) if matrices.bias.size else out
