"""Segments cut into pre-tokens by a regular expression, before any kernel sees them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import NO_IDS, NO_PLACES, frozen
from numba_nlp.errors import UnsupportedFeatureError

__all__ = ["cut_segments"]


def cut_segments(
    piece_ends: Callable[[str], NDArray[np.int64]],
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    fixed: NDArray[np.int32],
    first_of_row: NDArray[np.int64] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Cut the texts among segments into pre-tokens by a regular expression.

    Raises
    ------
    UnsupportedFeatureError
        Names the row whose text the expression cannot cut as the reference does.

    Returns
    -------
    starts, ends, fixed, first_piece : int64[m], int64[m], int32[m], int64[segments + 1]
        Pre-tokens and given ids, and where those of each segment begin.
    """
    all_starts: list[NDArray[np.int64]] = []
    all_ends: list[NDArray[np.int64]] = []
    all_fixed: list[NDArray[np.int32]] = []
    first_piece = np.zeros(starts.size + 1, np.int64)
    for segment in range(starts.size):
        start, end = int(starts[segment]), int(ends[segment])
        given = int(fixed[segment]) if fixed.size else -1
        if given >= 0:
            cuts = np.zeros(2, np.int64)
        else:
            try:
                cuts = np.concatenate(([0], piece_ends(data[start:end].tobytes().decode()))) + start
            except UnsupportedFeatureError as error:
                row = segment if first_of_row is None else int(np.searchsorted(first_of_row, segment, "right")) - 1
                raise UnsupportedFeatureError(f"row {row}: {error}") from error
        all_starts.append(cuts[:-1])
        all_ends.append(cuts[1:])
        all_fixed.append(np.full(cuts.size - 1, given, np.int32))
        first_piece[segment + 1] = first_piece[segment] + cuts.size - 1
    if not all_starts:
        return NO_PLACES, NO_PLACES, NO_IDS, first_piece
    parts = np.concatenate(all_starts), np.concatenate(all_ends), np.concatenate(all_fixed)
    return frozen(parts[0]), frozen(parts[1]), frozen(parts[2]), first_piece
