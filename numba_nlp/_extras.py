"""Libraries that only some calls need: imported by these, and named with the way to get them where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["EXTRAS", "extra"]

#: What installs each.
_INSTALLED_BY = {
    "awkward": "awkward",
    "dask": "'numba_nlp[dask]'",
    "distributed": "'numba_nlp[dask]'",
    "pyarrow": "'numba_nlp[arrow]'",
    "safetensors": "'numba_nlp[models]'",
    "torch": "'numba_nlp[models]'",
}
#: Names of those libraries.
EXTRAS = frozenset(_INSTALLED_BY)


def extra(name: str) -> Any:
    """Import a library of an extra.

    Parameters
    ----------
    name : str
        One of :data:`EXTRAS`.

    Raises
    ------
    ModuleNotFoundError
        It is not installed; the message says what installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # what a library lacks itself is another matter
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"this needs {name}, which is not installed: pip install {_INSTALLED_BY[name]}", name=name
        ) from None
