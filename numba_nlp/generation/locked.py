"""Views for functions of users, who are to read a search's rows and not to write to them."""

from __future__ import annotations

import numpy as np

__all__ = ["locked"]


def locked(array: np.ndarray) -> np.ndarray:
    """A view that nothing can be written to, and that cannot be unlocked by its flags.

    Parameters
    ----------
    array : ndarray
    """
    # NumPy lets a view of an array that can be written be made writeable again, but not one of a locked buffer
    return np.asarray(array.data.toreadonly())
