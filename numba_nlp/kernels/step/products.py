"""Products of a few rows with a large matrix that was packed once: what a decoder's step spends its time on.

``out[row, n] = sum over k of x[row, k] * weights[n, k]``, times a scale and plus a bias of ``n``. A step reads all
weights for as few rows as there are beams, so the product is as fast as memory is read, or, with more than about ten
rows, as numbers are multiplied. Rows are packed once (:mod:`numba_nlp.kernels.step.packed_rows`); then each panel of
weights (:mod:`~numba_nlp.kernels.step.row_blocks`, of integers :mod:`~numba_nlp.kernels.step.code_blocks` and
:mod:`~numba_nlp.kernels.step.word_blocks`) is read once and
multiplied with all blocks of rows while it is in a near cache. Threads share panels: each takes some of them.

Twin: ``numba_nlp.reference.step.products``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.step import row_blocks
from numba_nlp.kernels.step.code_blocks import multiply_codes
from numba_nlp.kernels.step.packed_rows import (
    GROUP,
    PACK,
    PackedRows,
    block_rows,
    groups,
    n_blocks,
    new_packed_rows,
    pairs,
)
from numba_nlp.kernels.step.row_blocks import COLUMNS, MOST_ROWS
from numba_nlp.kernels.step.word_blocks import PAIR, multiply_words

__all__ = [
    "COLUMNS",
    "MULTIPLY",
    "PACK",
    "Matrices",
    "PackedRows",
    "columns_of",
    "look_ahead",
    "multiply_panels",
    "multiply_panels_int8",
    "multiply_panels_int16",
    "new_packed_rows",
]


class Matrices(NamedTuple):
    """Matrices of one shape one behind the other, one for each layer of a model, say.

    Attributes
    ----------
    panels : float32, uint16, int8 or int16 [matrices * panels * weights of a panel]
        Weight ``(panel * COLUMNS + column, k)`` of a matrix is its element ``(panel * depth + k) * COLUMNS + column``;
        with int8, where four neighbours stand together, ``((panel * groups + k // 4) * COLUMNS + column) * 4 + k % 4``,
        with as many groups of four as hold a row, and with int16 the same in pairs. Zeros stand where there are no more
        outputs or numbers.
    scales : float32[matrices * columns] or float32[0]
        What int8 and int16 weights are multiples of; ``columns`` is ``outputs`` rounded up to a multiple of
        ``COLUMNS``.
    sums : int32[matrices * columns] or int32[0]
        128 times the sum of the int8 weights of each output.
    bias : float32[matrices * columns] or float32[0]
        What is added to each output; none: 0.
    outputs, depth : int64
        Shape of each matrix.
    """

    panels: np.ndarray
    scales: np.ndarray
    sums: np.ndarray
    bias: np.ndarray
    outputs: int
    depth: int


@kernel
def columns_of(matrices):
    """Outputs of ``matrices`` with those that fill the last panel (int64)."""
    return (matrices.outputs + COLUMNS - 1) // COLUMNS * COLUMNS


@kernel
def look_ahead(n_rows, blocks, here, panel_size, at_once):
    """Which weights to ask for while a block of rows is multiplied, so that the next panel is there in time.

    Memory is idle while blocks after the first one are multiplied with a panel that is in the cache: each of the last
    two asks for half of the next panel. A single block is as fast as the processor looks ahead by itself.

    Parameters
    ----------
    n_rows : int64
    blocks : int64
        Blocks to come, this one included.
    here, panel_size : int64
        Where the panel begins, and its length.
    at_once : int64
        Weights that are read in each turn of the loop.

    Returns
    -------
    int64
        The first weight to ask for.
    int64
        How many weights later to ask in each turn; zero: always for the same one, which costs next to nothing.
    """
    if n_rows <= MOST_ROWS or blocks > 2:
        return here, 0
    return here + panel_size + (panel_size // 2 if blocks == 1 else 0), at_once // 2


def multiply_panels(packed, n_rows, matrices, which, first_panel, last_panel, out):
    """Multiply packed rows with some panels of a matrix.

    Parameters
    ----------
    packed : PackedRows
        By the member of ``PACK`` of the same kind, as many rows as here.
    n_rows : int64
    matrices : Matrices
    which : int64
        Number of the matrix.
    first_panel, last_panel : int64
        Panels to multiply with, the last one not included.
    out : float32[m, columns]
        Columns of these panels are written in the first ``n_rows`` rows; C-contiguous.
    """
    depth = matrices.depth
    stride = out.shape[1]
    flat = out.reshape(out.size)
    panel_size = depth * COLUMNS
    before = which * (columns_of(matrices) // COLUMNS)
    for panel in range(first_panel, last_panel):
        here = (before + panel) * panel_size
        first = np.int64(0)
        blocks = n_blocks(n_rows)
        while blocks:
            size = block_rows(n_rows - first, blocks)
            ahead, ahead_step = look_ahead(n_rows, blocks, here, panel_size, COLUMNS)
            multiply_block(  # noqa: F821  bound by `specialise`
                packed.floats, first * depth, size, matrices.panels, here, depth, matrices.bias,
                (before + panel) * COLUMNS, flat, first * stride + panel * COLUMNS, stride, ahead, ahead_step,
            )  # fmt: skip
            first += size
            blocks -= 1


@kernel
def multiply_panels_int8(packed, n_rows, matrices, which, first_panel, last_panel, out):
    """Multiply packed codes with some panels of a matrix of int8; arguments as for :func:`multiply_panels`.

    An output is ``sum * step * scale``, in this order and in float32, of an exact sum of products of integers, and the
    bias: the same number on every processor.
    """
    n_groups = groups(matrices.depth)
    stride = out.shape[1]
    flat = out.reshape(out.size)
    panel_size = n_groups * GROUP * COLUMNS
    columns = columns_of(matrices)
    for panel in range(first_panel, last_panel):
        here = (which * (columns // COLUMNS) + panel) * panel_size
        first = np.int64(0)
        blocks = n_blocks(n_rows)
        while blocks:
            size = block_rows(n_rows - first, blocks)
            ahead, ahead_step = look_ahead(n_rows, blocks, here, panel_size, COLUMNS * GROUP)
            multiply_codes(
                packed.codes, first * n_groups * GROUP, packed.steps, first, size, matrices.panels, here, n_groups,
                matrices.sums, matrices.scales, matrices.bias, which * columns + panel * COLUMNS, flat,
                first * stride + panel * COLUMNS, stride, ahead, ahead_step,
            )  # fmt: skip
            first += size
            blocks -= 1


@kernel
def multiply_panels_int16(packed, n_rows, matrices, which, first_panel, last_panel, out):
    """Multiply packed integers with some panels of a matrix of int16; arguments as for :func:`multiply_panels`.

    An output is ``sum * step * scale`` and the bias as with int8; exact sums of 64 products are added up in float32.
    """
    n_pairs = pairs(matrices.depth)
    stride = out.shape[1]
    flat = out.reshape(out.size)
    words = packed.codes.view(np.int16)
    panel_size = n_pairs * PAIR * COLUMNS
    columns = columns_of(matrices)
    for panel in range(first_panel, last_panel):
        here = (which * (columns // COLUMNS) + panel) * panel_size
        first = np.int64(0)
        blocks = n_blocks(n_rows)
        while blocks:
            size = block_rows(n_rows - first, blocks)
            ahead, ahead_step = look_ahead(n_rows, blocks, here, panel_size, COLUMNS * PAIR)
            multiply_words(
                words, first * n_pairs * PAIR, packed.steps, first, size, matrices.panels, here, n_pairs,
                matrices.scales, matrices.bias, which * columns + panel * COLUMNS, flat,
                first * stride + panel * COLUMNS, stride, ahead, ahead_step,
            )  # fmt: skip
            first += size
            blocks -= 1


#: :func:`multiply_panels` by how weights are kept.
MULTIPLY = {
    kind: kernel(specialise(multiply_panels, f"multiply_panels_{kind}", multiply_block=multiply_block))
    for kind, multiply_block in {
        "float32": row_blocks.multiply_float32,
        "float16": row_blocks.multiply_float16,
        "bfloat16": row_blocks.multiply_bfloat16,
    }.items()
}
MULTIPLY["int8"], MULTIPLY["int16"] = multiply_panels_int8, multiply_panels_int16
