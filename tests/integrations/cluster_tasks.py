"""What tests run inside of the workers of a cluster."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from numba_nlp.corpora.writing import files
from numba_nlp.integrations import handles


def meet(folder: Path, n_workers: int, dies_in: int | None) -> None:
    """Make this worker wait in its first file until all have come to theirs; then die in a later one, or see one die.

    A worker that lives waits in its second file until another has come to its end, so that a quick one cannot do the
    work of all before the doomed one has had its share.

    Parameters
    ----------
    folder : Path
        Where the workers leave a sign.
    n_workers : int
    dies_in : int or None
        Number of the file, counted from 1, in whose middle the process kills itself; None: this one lives.
    """
    writer = files.atomic_writer
    written = 0

    @contextmanager
    def watched(path: Path) -> Iterator[BinaryIO]:
        nonlocal written
        written += 1
        if written == 1:
            (folder / f"{os.getpid()}.here").touch()
            wait_for(folder, "*.here", n_workers)
        if written == 2 and dies_in is None:
            wait_for(folder, "*.dies", 1)
        with writer(path) as stream:
            yield stream
            if written == dies_in:
                stream.flush()
                (folder / f"{os.getpid()}.dies").touch()
                os.kill(os.getpid(), signal.SIGKILL)

    files.atomic_writer = watched  # type: ignore[assignment]


def wait_for(folder: Path, signs: str, n: int) -> None:
    """Wait until so many signs lie in a folder, two minutes at most."""
    deadline = time.monotonic() + 120
    while len(list(folder.glob(signs))) < n and time.monotonic() < deadline:
        time.sleep(0.01)


def plugins(dask_worker: Any) -> list[str]:
    """Names of this package's plugins in a worker."""
    return sorted(name for name in dask_worker.plugins if name.startswith("numba_nlp"))


def held() -> dict[str, str | None]:
    """Digests of the tokenizers that this process holds, and the files that they are mapped from."""
    return {
        digest: None if tokenizer.vocabulary.path is None else str(tokenizer.vocabulary.path)
        for digest, tokenizer in handles._OFFERED.items()
    }


def place_of(digest: str) -> int:
    """Where a tokenizer is in the memory of this process, to tell whether it is still the same one."""
    return id(handles._OFFERED[digest])
