"""Files that appear whole or not at all."""

from __future__ import annotations

import importlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["atomic_writer", "remove_unfinished"]

#: Locks of files, which Windows has not in this form.
_fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None
#: Names of temporary files, and within them those of the files that they were to become.
_TEMPORARY = re.compile(r"\.(?P<target>.+)\.\d+\.[0-9a-f]{12}\.tmp", re.DOTALL)
#: Seconds without a write after which a temporary file may be one that nobody writes any more: a new one is not locked
#: at once.
_UNTOUCHED = 60


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file beside ``path`` for writing, and rename it to ``path`` when the block ends well.

    The data is flushed to the disk before the rename. When the block raises, the temporary file is removed and an
    existing file at ``path`` stays as it was. Processes that have the old file open or mapped keep its content.

    Parameters
    ----------
    path : path-like
        The file to write; replaced if it exists, by one with its permissions. A link stays, and what it leads to is
        replaced. Pipes and devices are written into.

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
    # An own name and mode "x" rather than tempfile: a new file gets the ordinary permissions of the user's umask.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(6)}.tmp")
    held = None
    try:
        with open(temporary, "xb") as stream:
            held = _lock(stream)
            if target.is_file():
                # before anything is in it: what was private is never readable
                temporary.chmod(target.stat().st_mode & 0o777)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        if held is not None:
            os.close(held)


def remove_unfinished(folder: Path, is_mine: Callable[[str], bool]) -> None:
    """Remove temporary files of processes that ended amid an :func:`atomic_writer`, as killed ones do.

    A file that is being written is locked, which ends with its process, wherever that runs. Where the file system has
    no locks, and on Windows, nothing is removed.

    Parameters
    ----------
    folder : Path
        Where they are looked for; it may be missing.
    is_mine : callable
        Whether they are removed, by the name of the file that one was to become.
    """
    if _fcntl is None or not folder.is_dir():
        return
    for path in folder.glob(".*.tmp"):
        found = _TEMPORARY.fullmatch(path.name)
        if found is None or not is_mine(found["target"]):
            continue
        # another process removes it too, or nobody may: either way nothing is lost
        with suppress(OSError), open(path, "r+b") as stream:
            _fcntl.flock(stream, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            if time.time() - os.fstat(stream.fileno()).st_mtime > _UNTOUCHED:
                path.unlink()


def _lock(stream: BinaryIO) -> int | None:
    """Lock a file until what this gives is closed; None: there are no locks here."""
    if _fcntl is None:
        return None
    with suppress(OSError):
        _fcntl.flock(stream, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        # the file is closed before it gets its name
        return os.dup(stream.fileno())
    return None
