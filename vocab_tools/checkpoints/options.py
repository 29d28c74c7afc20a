"""Checks of the keyword arguments of classes, which a folder may give in any form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba_nlp.errors import SourceFormatError

__all__ = ["number_of", "text_of"]


def number_of(values: Mapping[str, Any], key: str, default: int) -> int:
    """A whole number.

    Raises
    ------
    SourceFormatError
    """
    value = values.get(key, default)
    if type(value) is not int:
        raise SourceFormatError(f"{key} must be an integer, got {value!r:.80}")
    return value


def text_of(values: Mapping[str, Any], key: str, default: str | None) -> str | None:
    """A text; the default where it is set to null.

    Raises
    ------
    SourceFormatError
    """
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise SourceFormatError(f"{key} must be a text, got {value!r:.80}")
    return default if value is None else value
