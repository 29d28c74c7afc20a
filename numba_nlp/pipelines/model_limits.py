"""What a model cannot take, and what it must not give."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import RowError

__all__ = ["position_limit", "refuse_no_number"]


def position_limit(model: Any) -> int | None:
    """Tokens in the longest input that a model can take; None where it has no limit (T5, XLNet)."""
    settings = model.settings
    limit = getattr(settings, "longest", None)
    return getattr(settings, "positions", None) if limit is None else limit


def refuse_no_number(values: NDArray[np.float32], rows: NDArray[np.int64], first: int) -> None:
    """Refuse what a model gave for a row and what is no number, which has neither order nor meaning.

    Parameters
    ----------
    values : float32[n, ...]
    rows : int64[n]
        Which row each is of.
    first : int
        Number of the first row.

    Raises
    ------
    RowError
    """
    wrong = np.flatnonzero(np.isnan(values).any(axis=tuple(range(1, values.ndim))))
    if wrong.size:
        row = first + int(rows[wrong[0]])
        raise RowError(
            f"row {row}: the model gives values that are no numbers (NaN); its weights are damaged, or too large for "
            "their kind of numbers: try dtype='float32'",
            row,
        )
