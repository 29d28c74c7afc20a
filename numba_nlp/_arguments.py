"""Checks of arguments that all public functions share: the argument, the value that was given, and what it may be.

A value of the wrong type is a TypeError, one of the right type that is not allowed a ValueError. Values may be anything
here, arrays too, whose comparisons have no truth.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Iterable
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["choice", "flag", "number", "path", "shown", "string", "strings", "whole"]

_MOST_SHOWN = 80
#: Bounds above this one stand for what an integer can hold.
_NEVER_MEANT = 1 << 31


def shown(value: object) -> str:
    """A value for a message, on one line and cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def flag(name: str, value: Any) -> bool:
    """True or False, of Python or of numpy.

    Raises
    ------
    TypeError
    """
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise TypeError(f"`{name}` must be True or False, got {shown(value)}")


def choice(name: str, value: Any, allowed: Collection[Any]) -> Any:
    """One of some strings, True, False and None.

    Raises
    ------
    ValueError
    """
    for one in allowed:
        if value is one or (isinstance(value, str) and isinstance(one, str) and value == one):
            return one
    *others, last = map(repr, allowed)
    listed = f"{', '.join(others)} or {last}" if others else last
    raise ValueError(f"`{name}` must be {listed}, got {shown(value)}")


def whole(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """A whole number between two bounds, both of which it may be.

    Raises
    ------
    TypeError, ValueError
    """
    try:
        if isinstance(value, (bool, np.bool_, np.ndarray)):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be {_whole_between(least, most)}, got {shown(value)}") from None
    if most is not None and found > most:
        raise ValueError(f"`{name}` must be {_whole_between(least, most, names_most=True)}, got {shown(found)}")
    if least is not None and found < least:
        raise ValueError(f"`{name}` must be {_whole_between(least, most)}, got {shown(found)}")
    return found


def _whole_between(least: int | None, most: int | None, *, names_most: bool = False) -> str:
    # a bound that is there for the sake of int64 helps nobody whose mistake is another one
    if most is not None and not names_most and most > _NEVER_MEANT:
        most = None
    if least is None:
        return "a whole number" if most is None else f"a whole number of at most {most}"
    return f"a whole number from {least} on" if most is None else f"a whole number from {least} to {most}"


def number(name: str, value: Any, least: float, most: float | None = None) -> float:
    """A finite number between two bounds, both of which it may be.

    Raises
    ------
    TypeError, ValueError
    """
    what = f"a finite number of at least {least}" if most is None else f"a number from {least} to {most}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        raise TypeError(f"`{name}` must be {what}, got {shown(value)}")
    try:
        found = float(value)
    except OverflowError:
        raise ValueError(f"`{name}` must be {what}, got {shown(value)}") from None
    if not isfinite(found) or found < least or (most is not None and found > most):
        raise ValueError(f"`{name}` must be {what}, got {shown(value)}")
    return found


def string(name: str, value: Any) -> str:
    """A string that can be written as UTF-8.

    Raises
    ------
    TypeError, ValueError
    """
    if not isinstance(value, str):
        raise TypeError(f"`{name}` must be a str, got {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` must be valid Unicode, got {shown(value)}, which holds a lone surrogate") from None
    return value


def path(name: str, value: Any) -> Path:
    """A path.

    Raises
    ------
    TypeError, ValueError
    """
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"`{name}` must be a path (str or os.PathLike), got {shown(value)}")
    if value == "":
        raise ValueError(f"`{name}` is an empty path")
    if isinstance(value, str):
        string(name, value)
    return Path(value)


def strings(name: str, value: Any) -> tuple[str, ...]:
    """Several strings; one alone is not taken for its characters.

    Raises
    ------
    TypeError
    """
    if isinstance(value, str):
        raise TypeError(f"`{name}` must hold strings, got the one {shown(value)}; pass [{shown(value)}]")
    items: tuple[Any, ...] = ()
    is_right = isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim != 1)
    if is_right:
        items = tuple(value)
        is_right = all(isinstance(item, str) for item in items)
    if not is_right:
        raise TypeError(f"`{name}` must hold strings, got {shown(value)}")
    return items
