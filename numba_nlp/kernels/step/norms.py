"""Normalisation of rows by mean and variance, or by the root of the mean square.

Ba et al. 2016, arXiv:1607.06450; Zhang and Sennrich 2019, arXiv:1910.07467.

Twin: ``numba_nlp.reference.step.norms``.
"""

from __future__ import annotations

import math

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.row_sums import dot, total

__all__ = ["normalize_rows"]


@kernel
def normalize_rows(x, n_rows, weights, bias, epsilon, centred, out):
    """Normalise rows.

    Parameters
    ----------
    x : float32[m, width]
        C-contiguous.
    n_rows : int64
        Rows to take.
    weights, bias : float32[width]
        What the normalised values are multiplied with, and what is added then.
    epsilon : float64
        Added to the variance, or to the mean square.
    centred : bool
        Whether the mean is subtracted; without it, the root of the mean square normalises.
    out : float32[m, width]
        Written; may be `x`.
    """
    width = x.shape[1]
    flat, result = x.reshape(x.size), out.reshape(out.size)
    for row in range(n_rows):
        first = row * width
        mean = np.float32(0)
        if centred:
            mean = np.float32(total(flat, first, width) / width)
        for i in range(first, first + width):
            result[i] = flat[i] - mean
        square = dot(result, first, result, first, width) / width
        factor = np.float32(1.0 / math.sqrt(square + epsilon))
        for i in range(width):
            result[first + i] = result[first + i] * factor * weights[i] + bias[i]
