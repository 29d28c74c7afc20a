"""Tables made safe for whatever bytes stand in a text."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp._encoders.rows import frozen

__all__ = ["for_any_bytes"]


def for_any_bytes(index: NDArray[Any]) -> NDArray[Any]:
    """An index of blocks of 128 code points, with an entry for whatever four bytes can be taken for a character.

    Text is checked once; if somebody writes other bytes into its buffer afterwards, the ids are wrong, but no kernel
    looks outside a table.
    """
    return frozen(np.concatenate((index, np.repeat(index[-1:], (1 << 14) - index.size))))
