"""What the examples share: results that are counted, and a folder to write into."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["check", "out_folder"]


def check(name: str, right: int, of: int, least: float = 0.95) -> None:
    """Say how many were right, and fail when these are too few.

    Raises
    ------
    SystemExit
    """
    print(f"{name}: {right} of {of} right")
    if right < least * of:
        raise SystemExit(f"{name}: expected at least {least:.0%}")


@contextmanager
def out_folder() -> Iterator[Path]:
    """The folder that the command line names, else one that goes away."""
    if len(sys.argv) > 1:
        yield Path(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
