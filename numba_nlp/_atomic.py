"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_writer"]


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` for writing, and rename it to ``path`` when the block ends well.

    The data is flushed to the disk before the rename. When the block raises, the temporary file is removed and an
    existing file at ``path`` stays as it was. Processes that have the old file open or mapped keep its content.

    Parameters
    ----------
    path : path-like
        The file to write; replaced if it exists. Pipes and devices are written into.

    Yields
    ------
    binary file

    Raises
    ------
    OSError
        The folder cannot be written.
    """
    # what a link leads to is replaced, not the link
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        # a pipe or a device, which a file must not take the place of
        with open(target, "wb") as stream:
            yield stream
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent}: no such folder; make it before {target.name!r} is written there")
    # An own name and mode "x" rather than tempfile: the file gets the ordinary permissions of the user's umask.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
