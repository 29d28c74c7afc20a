"""Rows of ids as a list, for libraries that take one Python object a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.ragged import Ragged

__all__ = ["rows_or_none"]


def rows_or_none(values: Ragged, of_rows: NDArray[Any] | None = None) -> list[Any]:
    """The ids of each row as an array, None for missing rows.

    Parameters
    ----------
    values : Ragged
    of_rows : array[rows], optional
        Something else about each row that is given in the place of the ids, as Python objects.
    """
    rows: list[Any] = list(values) if of_rows is None else of_rows.tolist()
    if values.valid is not None:
        for row in np.flatnonzero(~values.valid).tolist():
            rows[row] = None
    return rows
