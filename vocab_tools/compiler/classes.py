"""Unicode class tables of the references: which character class each code point has in tiktoken and in tokenizers.

The tables are read out of the references themselves by ``tools/generate_class_tables.py``, because Unicode versions
differ between regex engines (Python's ``unicodedata`` and the ``regex`` library disagree with them on thousands of
code points), and shipped as ``vocab_tools/data/unicode_classes.safetensors``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import SourceFormatError, UnsupportedFeatureError

__all__ = ["REFERENCES", "ClassTables", "class_tables", "classes_of_all", "two_stage", "unpack_arrays"]

#: References whose tables are shipped.
REFERENCES = ("tiktoken", "tokenizers")
#: Code points in one block of the two-stage table.
BLOCK = 128
N_CODE_POINTS = 0x110000
_DTYPES: dict[str, np.dtype[Any]] = {"U8": np.dtype("<u1"), "U16": np.dtype("<u2")}


class ClassTables(NamedTuple):
    """Two-stage class table of one reference.

    Attributes
    ----------
    class_index : uint16[0x110000 >> 7]
        Code point >> 7 -> block number; block 0 holds ASCII.
    class_blocks : uint8[blocks * 128]
        ``class_blocks[class_index[cp >> 7] << 7 | (cp & 127)]`` is the class of code point ``cp``: 0 other,
        1 P, 2 S, 3 Lu or Lt, 4 Ll, 5 Lm or Lo, 6 M, 7 N, 8 white space other than CR and LF, 9 CR or LF.
    unicode_version : str
        Version of the Unicode character database that the reference carries, as "16.0".
    """

    class_index: NDArray[np.uint16]
    class_blocks: NDArray[np.uint8]
    unicode_version: str


def class_tables(reference: str) -> ClassTables:
    """Return the read-only class tables of a reference.

    Parameters
    ----------
    reference : {"tiktoken", "tokenizers"}

    Returns
    -------
    ClassTables

    Raises
    ------
    UnsupportedFeatureError
        No tables are shipped for this reference.
    """
    if reference not in REFERENCES:
        raise UnsupportedFeatureError(
            f"reference {reference!r} has no class tables; known are {', '.join(map(repr, REFERENCES))}"
        )
    arrays, metadata = _shipped()
    return ClassTables(
        arrays[f"{reference}_class_index"],
        arrays[f"{reference}_class_blocks"],
        metadata[f"{reference}_unicode_version"],
    )


def recorded_library_version(reference: str) -> str:
    """Return the version of the library that the shipped tables of ``reference`` were read from."""
    return _shipped()[1][f"{reference}_library_version"]


def classes_of_all(class_index: NDArray[np.uint16], class_blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Expand a two-stage table to the class of every code point.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]

    Returns
    -------
    uint8[0x110000]
    """
    return class_blocks.reshape(-1, BLOCK)[class_index].reshape(-1)


def two_stage(classes: NDArray[np.uint8]) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Fold the class of every code point into a two-stage table; the inverse of :func:`classes_of_all`.

    Parameters
    ----------
    classes : uint8[0x110000]

    Returns
    -------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Blocks are numbered by first appearance, so block 0 holds ASCII.
    """
    numbers: dict[bytes, int] = {}
    rows = classes.astype(np.uint8).reshape(-1, BLOCK)
    index = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.uint16)
    return index, np.frombuffer(b"".join(numbers), dtype=np.uint8)


def unpack_arrays(content: bytes) -> tuple[dict[str, NDArray[Any]], Mapping[str, str]]:
    """Read flat uint8 and uint16 arrays and the metadata out of the bytes of a safetensors file.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    arrays : dict of str to ndarray
        Read-only views of ``content``.
    metadata : Mapping of str to str

    Raises
    ------
    SourceFormatError
        An array of another dtype, or a header that does not fit the content.
    """
    (header_size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + header_size])
    metadata = header.pop("__metadata__", {})
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None or last - first != entry["shape"][0] * dtype.itemsize or 8 + header_size + last > len(content):
            raise SourceFormatError(f"class table {name!r} does not fit its entry {entry}; reinstall the package")
        arrays[name] = np.frombuffer(content, dtype, entry["shape"][0], 8 + header_size + first)
    return arrays, metadata


@lru_cache(maxsize=1)
def _shipped() -> tuple[dict[str, NDArray[Any]], Mapping[str, str]]:
    return unpack_arrays((resources.files("vocab_tools") / "data" / "unicode_classes.safetensors").read_bytes())
