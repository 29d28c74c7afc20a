"""Columns of weights and channels of what they read, brought to like sizes before both are put into int8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["channel_scales"]

#: Power of the ratio of sizes. 0 leaves all as it is, 1 takes every difference of size out of the channels and into the
#: weights; between 0.5 and 0.7 a trained T5 does about equally well (`tools/measure_weight_kinds.py`).
_SHARE = 0.6


def channel_scales(weight: np.ndarray, bias: np.ndarray | None, matrices: Sequence[np.ndarray]) -> np.ndarray:
    """What to divide the channels of a norm by, and to multiply the columns of the matrices that read it with.

    A row in int8 has one step for all of its channels, by the largest: where a few are a hundred times as large as
    most, as before the output layer of T5, little is left of the others. How large channels become is in the norm's own
    weights, so nothing has to be read for it.

    Parameters
    ----------
    weight : ndarray
        float32 ``[width]``, of the norm.
    bias : ndarray or None
        The same, of a norm that has one.
    matrices : sequence of ndarray
        float32 ``[outputs, width]``: all that read what the norm gives.

    Returns
    -------
    ndarray
        float32 ``[width]``, above 0; 1 for channels that are 0, or that nothing reads.

    Notes
    -----
    The products are the same but for rounding. After SmoothQuant (Xiao et al. 2023, arXiv:2211.10438), with the norm's
    weights in place of channels seen on data.
    """
    channels = np.abs(weight, dtype=np.float64) if bias is None else np.hypot(weight, bias, dtype=np.float64)
    squares = sum(np.square(matrix, dtype=np.float64).sum(0) for matrix in matrices)
    columns = np.sqrt(squares / sum(len(matrix) for matrix in matrices))
    used = (channels > 0) & (columns > 0)
    ratios = np.divide(channels, columns, out=np.ones_like(channels), where=used)
    return (ratios**_SHARE).astype(np.float32)
