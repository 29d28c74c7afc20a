"""Products of a few rows with a large matrix that was packed once: what a decoder's step spends its time on.

``out[row, n] = sum over k of x[row, k] * weights[n, k]``, times a scale and plus a bias of ``n``. A step reads all
weights for as few rows as there are beams, so the product is as fast as memory is read, or, with more than about ten
rows, as numbers are multiplied. Rows are packed once (:func:`pack_rows`); then each panel of weights
(:mod:`numba_nlp.kernels.step.row_blocks`) is read once and multiplied with all blocks of rows while it is in the
first-level cache. Threads share panels: each takes some of them.

Twin: ``numba_nlp.reference.step.products``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.step import row_blocks
from numba_nlp.kernels.step.row_blocks import BLOCKS, COLUMNS

__all__ = ["MULTIPLY", "block_size", "multiply_panels", "pack_rows"]

_BLOCKS = np.array(BLOCKS)


@kernel
def block_size(n_rows):
    """Number of rows that are multiplied at once; the last block overlaps the one before.

    Parameters
    ----------
    n_rows : int64
        At least one.

    Returns
    -------
    int64
        The one of ``BLOCKS`` by which the fewest rows are multiplied twice, of the blocks that are as few as can be.
    """
    largest = _BLOCKS[-1]
    n_blocks = (n_rows + largest - 1) // largest
    wanted = (n_rows + n_blocks - 1) // n_blocks
    size = np.int64(1)
    for candidate in _BLOCKS:
        if candidate <= n_rows:
            size = candidate
        if candidate >= wanted:
            break
    return size


@kernel
def pack_rows(x, n_rows, packed):
    """Put the rows of each block side by side.

    Parameters
    ----------
    x : float32[m, depth]
        C-contiguous.
    n_rows : int64
        Rows to take, at least one.
    packed : float32[k]
        Written; ``k >= (n_rows + largest block) * depth``. Number ``k`` of row ``r`` of a block of ``size`` rows is
        element ``k * size + r`` of it.

    Returns
    -------
    int64
        Rows of a block.
    """
    depth = x.shape[1]
    size = block_size(n_rows)
    place = np.int64(0)
    for block in range((n_rows + size - 1) // size):
        first = min(block * size, n_rows - size)
        for row in range(size):
            for k in range(depth):
                packed[place + k * size + row] = x[first + row, k]
        place += size * depth
    return size


def multiply_panels(packed, n_rows, depth, panels, scales, bias, first_panel, last_panel, out):
    """Multiply packed rows with some panels of weights.

    Parameters
    ----------
    packed : float32[k]
        By :func:`pack_rows`.
    n_rows, depth : int64
        Number of rows, and of numbers in each.
    panels : float32[p], uint16[p] or int8[p]
        Weights, panel by panel (:func:`numba_nlp.generation.packing.pack_weights`).
    scales : float32[columns] or float32[0]
        What each output is multiplied with; none: 1.
    bias : float32[columns] or float32[0]
        What is added to each output; none: 0. ``columns`` is a multiple of ``COLUMNS``, as for ``scales``.
    first_panel, last_panel : int64
        Panels to multiply with, the last one not included.
    out : float32[m, columns]
        Columns of these panels are written in the first ``n_rows`` rows; C-contiguous.
    """
    size = block_size(n_rows)
    n_blocks = (n_rows + size - 1) // size
    stride = out.shape[1]
    flat = out.reshape(out.size)
    for panel in range(first_panel, last_panel):
        begin = panel * COLUMNS
        for block in range(n_blocks):
            first = min(block * size, n_rows - size)
            multiply_block(  # noqa: F821  bound by `specialise`
                packed, block * size * depth, size, panels, panel * depth * COLUMNS, depth, flat,
                first * stride + begin, stride,
            )  # fmt: skip
        if scales.size:
            for row in range(n_rows):
                for column in range(begin, begin + COLUMNS):
                    out[row, column] *= scales[column]
        if bias.size:
            for row in range(n_rows):
                for column in range(begin, begin + COLUMNS):
                    out[row, column] += bias[column]


#: :func:`multiply_panels` by how weights are kept.
MULTIPLY = {
    kind: kernel(specialise(multiply_panels, f"multiply_panels_{kind}", multiply_block=multiply_block))
    for kind, multiply_block in {
        "float32": row_blocks.multiply_float32,
        "float16": row_blocks.multiply_float16,
        "bfloat16": row_blocks.multiply_bfloat16,
        "int8": row_blocks.multiply_int8,
    }.items()
}
