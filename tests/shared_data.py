"""Finds test data that lives outside the repository, and skips the test when it is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.files import shared_path


def shared(name: str) -> Path:
    """Path of a file of the data outside (:func:`tools.files.shared_path`); skips the running test without it.

    Parameters
    ----------
    name : str
        Path below the folder ``data``, for example ``"text/hamlet.txt"``.
    """
    path = shared_path(name)
    if not path.exists():
        pytest.skip(f"needs {name} of the shared data (NUMBA_NLP_SHARED names the folder with data/); looked at {path}")
    return path
