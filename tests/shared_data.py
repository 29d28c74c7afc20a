"""Finds test data that lives outside the repository, and skips the test when it is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).resolve().parent.parent


def shared_folder() -> Path:
    """Folder of the shared project data: ``$NUMBA_NLP_SHARED``, else ``../shared`` beside the repository."""
    given = os.environ.get("NUMBA_NLP_SHARED")
    return Path(given) if given else _REPOSITORY.parent / "shared"


def shared(name: str) -> Path:
    """Path of ``data/<name>`` in the shared folder; skips the running test when the file is missing.

    Parameters
    ----------
    name : str
        Path below the folder's ``data``, for example ``"text/hamlet.txt"``.
    """
    path = shared_folder() / "data" / name
    if not path.exists():
        pytest.skip(f"needs {name} of the shared data (set NUMBA_NLP_SHARED); looked at {path}")
    return path
