"""Views for functions of users, who are to read a search's rows and not to write to them."""

from __future__ import annotations

import numpy as np

__all__ = ["locked"]


def locked(array: np.ndarray) -> np.ndarray:
    """A view that nothing can be written to.

    Parameters
    ----------
    array : ndarray
    """
    seen = array.view()
    seen.flags.writeable = False
    return seen
