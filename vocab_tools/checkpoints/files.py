"""The files of a checkpoint folder: read by name, each once, and never from elsewhere."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from numba_nlp.errors import SourceFormatError
from vocab_tools.formats.reading import digest_of, parse_json, read_source, read_text

__all__ = ["Folder"]


class Folder:
    """A folder with the files of a tokenizer.

    Parameters
    ----------
    path : Path
        The folder.
    reference : str
        What the caller called it: a path, or the name of a checkpoint on the hub.

    Attributes
    ----------
    path : Path
    reference : str
    names : tuple of str
        Names of its files, sorted.
    """

    def __init__(self, path: Path, reference: str) -> None:
        self.path = path
        self.reference = reference
        self.names = tuple(sorted(child.name for child in path.iterdir() if child.is_file()))
        self._texts: dict[str, tuple[str, str]] = {}
        self._objects: dict[str, dict[str, Any]] = {}

    @property
    def name(self) -> str:
        """What people call the checkpoint: the last part of its name, or of the folder's path."""
        last = self.reference.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
        return last if last not in ("", ".", "..") else self.path.resolve().name

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return name in self.names

    def file(self, name: str) -> Path:
        """Path of a file of the folder.

        Raises
        ------
        SourceFormatError
            The name leads out of the folder, or there is no such file.
        """
        if Path(name).name != name or "\\" in name or name in ("", ".", ".."):
            raise SourceFormatError(f"{self.path}: {name!r} is no name of a file in this folder, and no other is read")
        if not self.has(name):
            raise SourceFormatError(f"{self.path}: the file {name!r} is missing; there is {', '.join(self.names)}")
        return self.path / name

    def place(self, name: str) -> str:
        """How errors call a file."""
        return str(self.path / name)

    def text(self, name: str) -> str:
        """Text of a file.

        Raises
        ------
        SourceFormatError
            As :meth:`file`, and for bytes that are not UTF-8.
        """
        if name not in self._texts:
            self._texts[name] = read_text(self.file(name))
        return self._texts[name][0]

    def json_object(self, name: str) -> dict[str, Any] | None:
        """The object that a JSON file holds, None when there is no such file; not to be changed.

        Raises
        ------
        SourceFormatError
            The file is not JSON, or not an object.
        """
        if name not in self._objects:
            if not self.has(name):
                return None
            value = parse_json(self.file(name), self.text(name))
            if not isinstance(value, dict):
                raise SourceFormatError(f"{self.place(name)}: expected an object, got {type(value).__name__}")
            self._objects[name] = value
        return self._objects[name]

    def add_digest(self, name: str, digest: str) -> None:
        """Note the digest of a file that was read in another way."""
        self._texts.setdefault(name, ("", digest))

    def note(self, name: str) -> None:
        """Note the digest of a file that another reader reads, by its path."""
        self.add_digest(name, hashlib.sha256(read_source(self.file(name))).hexdigest())

    @property
    def paths_read(self) -> tuple[Path, ...]:
        """Paths of all files that were read, by name."""
        return tuple(self.path / name for name in sorted(self._texts))

    @property
    def digest(self) -> str:
        """One digest of all files that were read."""
        return digest_of([self._texts[name][1] for name in sorted(self._texts)])
