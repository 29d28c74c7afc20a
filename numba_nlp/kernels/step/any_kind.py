"""Products with matrices whose kind of weights is known when they run: one compiled step for all kinds.

Twin: ``numba_nlp.reference.step.products``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.packed_rows import pack_codes, pack_floats, pack_words
from numba_nlp.kernels.step.products import MULTIPLY, Matrices

__all__ = ["NUMBERS", "AnyMatrices", "multiply_any", "of_any_kind", "pack_any"]

#: Kind of weights -> its number.
NUMBERS = {"float32": 0, "float16": 1, "bfloat16": 2, "int8": 3, "int16": 4}
_FLOAT32, _FLOAT16, _BFLOAT16, _INT8 = (NUMBERS[kind] for kind in ("float32", "float16", "bfloat16", "int8"))
_multiply_float32, _multiply_float16 = MULTIPLY["float32"], MULTIPLY["float16"]
_multiply_bfloat16, _multiply_int8, _multiply_int16 = (MULTIPLY[kind] for kind in ("bfloat16", "int8", "int16"))


class AnyMatrices(NamedTuple):
    """``Matrices`` of a kind that their type does not tell.

    Attributes
    ----------
    kind : int64
        Of `NUMBERS`.
    panels : uint8[p]
        The bytes of ``Matrices.panels``.
    scales, sums, bias, outputs, depth
        As there.
    """

    kind: int
    panels: np.ndarray
    scales: np.ndarray
    sums: np.ndarray
    bias: np.ndarray
    outputs: int
    depth: int


def of_any_kind(matrices: Matrices, kind: str) -> AnyMatrices:
    """The same matrices, without a copy."""
    return AnyMatrices(NUMBERS[kind], matrices.panels.view(np.uint8), *matrices[1:])


@kernel
def pack_any(kind, x, n_rows, packed):
    """Pack rows for weights of a kind.

    Parameters
    ----------
    kind : int64
        Of `NUMBERS`.
    x : float32[m, depth]
        C-contiguous.
    n_rows : int64
    packed : PackedRows
        Written.
    """
    if kind <= _BFLOAT16:
        pack_floats(x, n_rows, packed)
    elif kind == _INT8:
        pack_codes(x, n_rows, packed)
    else:
        pack_words(x, n_rows, packed)


@kernel
def multiply_any(packed, n_rows, matrices, which, first_panel, last_panel, out):
    """Multiply packed rows with some panels of a matrix.

    Parameters
    ----------
    packed : PackedRows
        By :func:`pack_any`, for the kind of the matrices.
    n_rows : int64
    matrices : AnyMatrices
    which, first_panel, last_panel, out
        As of :func:`numba_nlp.kernels.step.products.multiply_panels`.
    """
    m = matrices
    if m.kind == _FLOAT32:
        floats = Matrices(m.panels.view(np.float32), m.scales, m.sums, m.bias, m.outputs, m.depth)
        _multiply_float32(packed, n_rows, floats, which, first_panel, last_panel, out)
    elif m.kind == _FLOAT16:
        halves = Matrices(m.panels.view(np.uint16), m.scales, m.sums, m.bias, m.outputs, m.depth)
        _multiply_float16(packed, n_rows, halves, which, first_panel, last_panel, out)
    elif m.kind == _BFLOAT16:
        halves = Matrices(m.panels.view(np.uint16), m.scales, m.sums, m.bias, m.outputs, m.depth)
        _multiply_bfloat16(packed, n_rows, halves, which, first_panel, last_panel, out)
    elif m.kind == _INT8:
        codes = Matrices(m.panels.view(np.int8), m.scales, m.sums, m.bias, m.outputs, m.depth)
        _multiply_int8(packed, n_rows, codes, which, first_panel, last_panel, out)
    else:
        words = Matrices(m.panels.view(np.int16), m.scales, m.sums, m.bias, m.outputs, m.depth)
        _multiply_int16(packed, n_rows, words, which, first_panel, last_panel, out)
