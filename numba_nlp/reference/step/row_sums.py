"""Twin of ``numba_nlp.kernels.step.row_sums``."""

from __future__ import annotations

import numpy as np

__all__ = ["add_multiple", "dot", "total"]


def dot(a, a_first, b, b_first, n):
    """Sum of products, in float64."""
    return float(a[a_first : a_first + n].astype(np.float64) @ b[b_first : b_first + n].astype(np.float64))


def total(a, a_first, n):
    """Sum, in float64."""
    return float(a[a_first : a_first + n].sum(dtype=np.float64))


def add_multiple(out, out_first, factor, a, a_first, n):
    """Add a multiple."""
    out[out_first : out_first + n] += factor * a[a_first : a_first + n]
