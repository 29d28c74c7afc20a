"""Where the vocabularies and the text that checks and benchmarks read lie on this machine.

Two places: what the repository carries (``examples/data``), and an optional folder of more data: ``data`` below the
folder that ``NUMBA_NLP_SHARED`` names, else below ``<repository>/../shared``. Nothing is ever downloaded.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CARRIED", "ROOT", "carried_file", "find_file", "made_folder", "shared_file", "shared_path"]

ROOT = Path(__file__).resolve().parents[1]
CARRIED = ROOT / "examples" / "data"


def shared_path(name: str) -> Path:
    """Where a file of the optional data is, for instance ``"text/hamlet.txt"``, if it is there."""
    given = os.environ.get("NUMBA_NLP_SHARED")
    return (Path(given) if given else ROOT.parent / "shared") / "data" / name


def shared_file(name: str) -> Path | None:
    """The same path, or None if there is no such file."""
    path = shared_path(name)
    return path if path.exists() else None


def carried_file(name: str) -> Path | None:
    """Path of a file that the repository carries, found by its name anywhere under ``examples/data``, or None."""
    return next(iter(sorted(CARRIED.rglob(name))), None)


def find_file(*, carried: str | None = None, shared: str | None = None) -> Path:
    """Path of a data file: the carried copy when there is one, else the one of the optional folder.

    Raises
    ------
    FileNotFoundError
        Neither is there; the message says which folder to point ``NUMBA_NLP_SHARED`` to.
    """
    path = carried_file(carried) if carried else None
    if path is None and shared:
        path = shared_file(shared)
    if path is None:
        raise FileNotFoundError(
            f"no {carried or shared!r} under {CARRIED} nor {shared!r} in {shared_path('')}; "
            "NUMBA_NLP_SHARED names the folder that holds data/"
        )
    return path


def made_folder() -> Path:
    """Folder for files that tools make from others (converted vocabularies); ignored by git, safe to delete."""
    folder = Path(os.environ.get("NUMBA_NLP_MADE", ROOT / "asv_benchmarks" / ".made"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
