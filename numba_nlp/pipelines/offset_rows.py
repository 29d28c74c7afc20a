"""Rows of results in flat arrays: offsets of those that are joined or left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["join_offsets", "offsets_of"]


def offsets_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the values of each row begin, and at last where they end: int64[rows + 1]."""
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def join_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Offsets of the rows of all parts, one behind the other."""
    return offsets_of(np.concatenate([np.diff(part) for part in parts]))
