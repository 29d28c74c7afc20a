"""The files that a vocabulary was compiled from, packed into it, and out of it again.

They stand in the array ``source_bytes`` (one zlib stream of all files, one behind the other), with their names and
sizes in the metadata (``docs/data_contracts.md``).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import VocabularyFormatError
from numba_nlp.vocabulary import Vocabulary
from vocab_tools.compiler.option_types import OPTIONS, check_options
from vocab_tools.formats.reading import MAX_SOURCE_BYTES, read_source

__all__ = ["KeptSource", "keep_files", "kept_source"]

_LEVEL = 6
#: Arguments of the compiler that its options do not repeat.
_NOT_KEPT = frozenset(("source", "name", "special", "keep_source"))


class KeptSource(NamedTuple):
    """Files of a source.

    Attributes
    ----------
    files : dict of str to bytes
        By name, in the order in which they were read.
    is_folder : bool
        They are the folder of a checkpoint.
    options : dict
        What the compiler was asked for beside the files; a ``vocabulary`` is the name of a file.
    """

    files: dict[str, bytes]
    is_folder: bool
    options: dict[str, Any]


def keep_files(
    paths: Sequence[Path], is_folder: bool, options: Mapping[str, Any]
) -> tuple[dict[str, NDArray[np.uint8]], dict[str, Any]]:
    """Array and metadata entries that keep files.

    Parameters
    ----------
    paths : sequence of Path
    is_folder : bool
        They belong to a checkpoint.
    options : Mapping
        Options of the compiler that were given. Those that JSON cannot hold are left out.

    Returns
    -------
    arrays, metadata : dict, dict
    """
    packer = zlib.compressobj(_LEVEL)
    packed: list[bytes] = []
    listed: list[dict[str, Any]] = []
    for path in paths:
        content = read_source(path)
        packed.append(packer.compress(content))
        taken = {entry["name"] for entry in listed}
        name = path.name if path.name not in taken else f"{len(listed)}.{path.name}"
        listed.append({"name": name, "bytes": len(content)})
    packed.append(packer.flush())
    if options.get("vocabulary") is not None:
        options = {**options, "vocabulary": listed[-1]["name"]}
    metadata = {
        "source_files": listed,
        "source_is_folder": is_folder,
        "source_options": {key: value for key, value in map(_storable, options.items()) if value is not None},
    }
    return {"source_bytes": np.frombuffer(b"".join(packed), np.uint8)}, metadata


def _storable(item: tuple[str, Any]) -> tuple[str, Any]:
    key, value = item
    if isinstance(value, Mapping):
        value = dict(value)
    elif isinstance(value, tuple):
        value = list(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return key, None
    return key, value


def kept_source(vocabulary: Vocabulary, where: object) -> KeptSource:
    """The files that a vocabulary was compiled from.

    Parameters
    ----------
    vocabulary : Vocabulary
    where : object
        What errors call it.

    Returns
    -------
    KeptSource

    Raises
    ------
    VocabularyFormatError
        It keeps none, or its entries do not fit each other.
    """
    if "source_bytes" not in vocabulary:
        raise VocabularyFormatError(
            f"{where}: this vocabulary does not keep the files that it was compiled from (it was made with "
            "keep_source=False, or by an earlier version); compile its source again"
        )
    metadata = vocabulary.metadata
    # the schema of the file has checked names and sizes
    listed: list[tuple[str, int]] = [(entry["name"], entry["bytes"]) for entry in metadata["source_files"]]
    total = sum(size for _, size in listed)
    if total > len(listed) * MAX_SOURCE_BYTES:
        raise VocabularyFormatError(f"{where}: metadata `source_files` states {total:,} bytes, more than sources have")
    unpacker = zlib.decompressobj()
    try:
        # one byte more than stated, so that a longer stream is noticed without being unpacked
        content = unpacker.decompress(vocabulary["source_bytes"].tobytes(), total + 1)
    except zlib.error as error:
        raise VocabularyFormatError(f"{where}: array `source_bytes` cannot be unpacked ({error})") from error
    if len(content) != total or not unpacker.eof:
        raise VocabularyFormatError(f"{where}: array `source_bytes` does not hold the {total:,} bytes of its files")
    files: dict[str, bytes] = {}
    start = 0
    for name, size in listed:
        files[name] = content[start : start + size]
        start += size
    is_folder = metadata.get("source_is_folder", False)
    if not isinstance(is_folder, bool):
        raise VocabularyFormatError(
            f"{where}: metadata `source_is_folder` is {is_folder!r:.60}, expected true or false"
        )
    options = json.loads(json.dumps(metadata.get("source_options", {}), default=_plain))
    _check_options(where, options, is_folder, list(files))
    return KeptSource(files, is_folder, options)


def _check_options(where: object, options: dict[str, Any], is_folder: bool, names: list[str]) -> None:
    """Options are those of the compiler for files, or settings of a checkpoint; a vocabulary is one of the files."""
    begin = f"{where}: metadata `source_options`"
    for option in options:
        if option in _NOT_KEPT or not (is_folder or option in OPTIONS):
            raise VocabularyFormatError(f"{begin} has {option!r:.60}, which is no option that is kept")
    try:
        check_options(options)
    except TypeError as error:
        raise VocabularyFormatError(f"{begin}: {error}") from error
    vocabulary = options.get("vocabulary")
    if vocabulary is not None and (vocabulary not in names or len(names) < 2):
        raise VocabularyFormatError(
            f"{begin} has the vocabulary {vocabulary!r:.60}, expected one of several files, {', '.join(names)}"
        )


def _plain(value: Any) -> Any:
    """What metadata freezes, as JSON has it."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)
