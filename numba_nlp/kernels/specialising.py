"""One source, several kernels."""

from __future__ import annotations

from types import FunctionType
from typing import Any

__all__ = ["specialise"]


def specialise(function: Any, name: str, **names: Any) -> Any:
    """Copy a function with other meanings of some global names: one source, one kernel a pattern.

    Parameters
    ----------
    function : function
    name : str
        Name of the copy, which also names it in the cache of compiled code.
    **names
        What the global names mean in the copy.

    Returns
    -------
    function
        Not compiled yet. A closure would do the same but cannot be cached by Numba across processes.
    """
    copy = FunctionType(function.__code__, {**function.__globals__, **names}, name, function.__defaults__)
    copy.__qualname__ = name
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    return copy
