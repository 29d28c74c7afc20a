"""The file that says which new id an old one has."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import SourceFormatError

__all__ = ["check_map_name", "write_map"]

_SUFFIXES = (".npy", ".safetensors", ".json")


def check_map_name(path: Path) -> None:
    """Refuse a name that does not tell a form.

    Raises
    ------
    SourceFormatError
    """
    if path.suffix not in _SUFFIXES:
        raise SourceFormatError(f"{path}: a mapping of ids is written as {', '.join(_SUFFIXES)}; name the file so")


def write_map(path: Path, new_ids: NDArray[np.int32]) -> None:
    """Write a mapping of ids.

    Parameters
    ----------
    path : Path
        ``.npy``: the array; ``.safetensors``: ``new_ids``, and ``kept``, the old ids that stay in ascending order, so
        that ``embedding[kept]`` is the matrix of the new vocabulary; ``.json``: an object of old and new ids.
    new_ids : int32[V]
        By old id; -1 for those that are gone.

    Raises
    ------
    OSError, SourceFormatError
    """
    kept = np.flatnonzero(new_ids >= 0)
    if path.suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, new_ids, allow_pickle=False)
        content = buffer.getvalue()
    elif path.suffix == ".json":
        content = json.dumps({str(old): int(new_ids[old]) for old in kept.tolist()}).encode()
    else:
        content = _safetensors(new_ids.astype("<i4"), kept.astype("<i8"))
    with atomic_writer(path) as stream:
        stream.write(content)


def _safetensors(new_ids: NDArray[np.int32], kept: NDArray[np.int64]) -> bytes:
    # the longer numbers first, so that both are aligned
    header = json.dumps(
        {
            "kept": {"dtype": "I64", "shape": [kept.size], "data_offsets": [0, kept.nbytes]},
            "new_ids": {
                "dtype": "I32",
                "shape": [new_ids.size],
                "data_offsets": [kept.nbytes, kept.nbytes + new_ids.nbytes],
            },
        }
    ).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + kept.tobytes() + new_ids.tobytes()
