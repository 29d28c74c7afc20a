"""Writers of vocabulary files: whole files or none (:mod:`numba_nlp._atomic`), byte for byte as the references do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import SourceFormatError

__all__ = ["json_text", "write_codes", "write_gpt2_files", "write_lines", "write_tokenizer_json"]


def json_text(document: Any) -> str:
    """JSON as ``tokenizer.json`` files are written: two spaces a level, characters as they are."""
    return json.dumps(document, ensure_ascii=False, indent=2)


def write_lines(path: str | PathLike[str], lines: Iterable[str]) -> None:
    """Write lines, each with a line feed behind it.

    Raises
    ------
    SourceFormatError
        A line holds a line feed itself, so it would be read back as two.
    """
    with atomic_writer(path) as stream:
        for number, line in enumerate(lines, start=1):
            if "\n" in line:
                raise SourceFormatError(f"{path}:{number}: {line!r} holds a line feed, which this format cannot write")
            stream.write(f"{line}\n".encode())


def write_tokenizer_json(path: str | PathLike[str], document: Mapping[str, Any]) -> None:
    """Write the document of a ``tokenizer.json``."""
    with atomic_writer(path) as stream:
        stream.write(json_text(document).encode())


def write_gpt2_files(
    folder: str | PathLike[str], vocabulary: Mapping[str, int], merges: Iterable[tuple[str, str]]
) -> tuple[Path, Path]:
    """Write ``vocab.json`` and ``merges.txt``.

    Parameters
    ----------
    folder : path-like
        Made when it is not there.
    vocabulary : Mapping of str to int
        As written in the byte alphabet.
    merges : iterable of (str, str)
        In order of rank.

    Returns
    -------
    Path, Path
        Of the two files.

    Raises
    ------
    SourceFormatError
        A piece of a merge holds a space or a line feed.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    paths = place / "vocab.json", place / "merges.txt"
    lines = [_merge_line(paths[1], left, right) for left, right in merges]
    by_id = dict(sorted(vocabulary.items(), key=lambda item: item[1]))
    with atomic_writer(paths[0]) as stream:
        stream.write(json.dumps(by_id, ensure_ascii=False).encode())
    write_lines(paths[1], ["#version: 0.2", *lines])
    return paths


def write_codes(path: str | PathLike[str], merges: Iterable[tuple[str, str]]) -> None:
    """Write codes of subword-nmt, version 0.2: merges in order of rank, ``</w>`` at ends of words.

    Raises
    ------
    SourceFormatError
        A piece of a merge holds a space or a line feed.
    """
    write_lines(path, ["#version: 0.2", *(_merge_line(path, left, right) for left, right in merges)])


def _merge_line(path: object, left: str, right: str) -> str:
    line = f"{left} {right}"
    if line.count(" ") != 1 or "\n" in line:
        raise SourceFormatError(
            f"{path}: the merge {(left, right)!r} holds white space, which has no place in this file"
        )
    return line
