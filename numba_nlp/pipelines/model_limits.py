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


def refuse_no_number(values: NDArray[np.float32], rows: NDArray[np.int64], first: int, *, choices: bool = True) -> None:
    """Refuse what a model gave for a row and what is no number, or infinite, which has no share of a whole.

    A logit of minus infinity is one that a model rules out; it has to leave another one.

    Parameters
    ----------
    values : float32[n, ...]
        Choices are along the last axis, or there are none.
    rows : int64[n]
        Which row each is of.
    first : int
        Number of the first row.
    choices : bool, default True
        Whether values are logits, else all have to be finite.

    Raises
    ------
    RowError
    """
    if not len(values):
        return
    # the greatest of several is NaN where one is
    found: NDArray[np.bool_] = np.isfinite(np.asarray(values.max(axis=-1)) if choices else values)
    wrong = np.flatnonzero(~found.reshape(len(values), -1).all(axis=1))
    if wrong.size:
        row = first + int(rows[wrong[0]])
        raise RowError(
            f"row {row}: the model gives values that are no numbers (NaN), or infinite; its weights are damaged, or "
            "too large for their kind of numbers: try dtype='float32'",
            row,
        )
