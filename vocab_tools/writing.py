"""Files of a vocabulary that was made: one file, or several in a folder, each whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from numba_nlp._atomic import atomic_writer

__all__ = ["write_files"]


def write_files(target: Path, files: Mapping[str, bytes], what: str, error: type[Exception]) -> tuple[Path, ...]:
    """Write what a vocabulary consists of.

    Parameters
    ----------
    target : Path
        The file; the folder, which is made, where there are several.
    files : mapping of str to bytes
        Contents by name; a vocabulary that is one file has the name ``""``.
    what : str
        What the message calls the vocabulary.
    error : type of Exception
        What is raised when ``target`` is a folder and a file is needed, or the other way round.

    Returns
    -------
    tuple of Path
        What was written.

    Raises
    ------
    OSError
    """
    if list(files) == [""]:
        if target.is_dir():
            raise error(f"{target}: is a folder, but {what} is one file; name it")
        contents = {target: files[""]}
    else:
        if target.exists() and not target.is_dir():
            raise error(f"{target}: is a file, but {what} needs a folder; name one")
        target.mkdir(parents=True, exist_ok=True)
        contents = {target / name: content for name, content in files.items()}
    for path, content in contents.items():
        with atomic_writer(path) as stream:
            stream.write(content)
    return tuple(contents)
