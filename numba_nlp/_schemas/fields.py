"""How a schema is declared, and the checks that follow from it.

The checks are those that keep a kernel inside its arrays and let every probe end, so they also run for files that
were loaded with ``verify=False``. ``docs/data_contracts.md`` is the prose form of the declarations below.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import VocabularyFormatError

__all__ = [
    "COMMON_GROUPS",
    "COMMON_METADATA",
    "FORMAT_VERSION",
    "ArrayField",
    "MetadataField",
    "Schema",
    "check_metadata_field",
    "check_special_tokens",
    "check_structure",
    "check_table_size",
    "fail",
]

#: Version of the file layout and of the fields; a reader accepts exactly its own.
FORMAT_VERSION = 1

Arrays = Mapping[str, NDArray[Any]]

_WAY_OUT = "Compile it again with vocab_tools.compile(...)."


def fail(file: str, problem: str) -> NoReturn:
    """Raise the one error of damaged, foreign and inconsistent vocabularies.

    Parameters
    ----------
    file : str
        Where the vocabulary came from, as shown to the reader.
    problem : str
        Field, value, and what was expected.
    """
    raise VocabularyFormatError(f"{file}: {problem}. {_WAY_OUT}")


@dataclass(frozen=True)
class ArrayField:
    """One array of a schema.

    Parameters
    ----------
    name, dtype : str
        Name in the file and numpy name of the element type.
    length : int or str, optional
        Exact length: a number or the name of a size of the schema.
    low, high : int or str, optional
        Every value lies in ``[low, high)``; a str names a size. For open-addressing tables of ids, ``low=-1``.
    among : tuple of int, optional
        Every value (uint8) is one of these.
    offsets_into : str, optional
        The array holds offsets into that array: they start at 0, never decrease, and end at its length.
    is_table : bool
        An open-addressing table with -1 as the empty slot: a power of two, at least 2 slots, at most half full.
    """

    name: str
    dtype: str
    length: int | str | None = None
    low: int | None = None
    high: int | str | None = None
    among: tuple[int, ...] | None = None
    offsets_into: str | None = None
    is_table: bool = False


@dataclass(frozen=True)
class MetadataField:
    """One required entry of the metadata: its name, its type, and its allowed values (None = any)."""

    name: str
    kind: type
    among: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Schema:
    """Everything that one algorithm stores.

    Parameters
    ----------
    arrays : tuple of ArrayField
        Arrays that every vocabulary has, in file order; no others are allowed but those of groups.
    metadata : tuple of MetadataField
        Required entries; further JSON values may stand beside them.
    sizes : mapping of str to callable
        Names of lengths that fields refer to, each computed from the arrays.
    limits : mapping of str to (int, int)
        Least and largest value of a size.
    size : str
        The size that is the number of ids.
    check : callable
        ``check(file, arrays, metadata, sizes)`` for what the fields cannot say; calls :func:`fail`.
    groups : tuple of tuple of ArrayField
        Arrays that are there together or not at all; in a file they follow the others.
    """

    arrays: tuple[ArrayField, ...]
    metadata: tuple[MetadataField, ...]
    sizes: Mapping[str, Callable[[Arrays], int]]
    limits: Mapping[str, tuple[int, int]]
    size: str
    check: Callable[[str, Arrays, Mapping[str, Any], Mapping[str, int]], None]
    groups: tuple[tuple[ArrayField, ...], ...] = ()

    def fields_of(self, names: Container[str]) -> tuple[ArrayField, ...]:
        """Fields of a vocabulary that has arrays of these names: groups of which it has one, it must have whole."""
        groups = (*self.groups, *COMMON_GROUPS)
        there = (group for group in groups if any(field.name in names for field in group))
        return (*self.arrays, *(field for group in there for field in group))


#: Groups of arrays that a vocabulary of every algorithm may have: the files that it was compiled from, packed.
COMMON_GROUPS: tuple[tuple[ArrayField, ...], ...] = ((ArrayField("source_bytes", "uint8"),),)

# Metadata that every algorithm has.
COMMON_METADATA = (
    MetadataField("format_version", int, (FORMAT_VERSION,)),
    MetadataField("algorithm", str),
    MetadataField("name", str),
    MetadataField("source_format", str),
    MetadataField("source_digest", str),
    MetadataField("unicode_version", str),
)


def check_structure(file: str, schema: Schema, arrays: Arrays, metadata: Mapping[str, Any]) -> None:
    """Check names, dtypes, lengths and values of all arrays against the schema.

    Parameters
    ----------
    file : str
        Named in errors.
    schema : Schema
    arrays : mapping of str to ndarray
        One-dimensional and C-contiguous.
    metadata : mapping
        Already checked by :func:`numba_nlp._schemas.schema_of`.

    Raises
    ------
    VocabularyFormatError
        Names the first field that is wrong, its value, and what was expected.
    """
    fields = schema.fields_of(arrays)
    for field in fields:
        if field.name not in arrays:
            fail(file, f"array `{field.name}` is missing")
        dtype = arrays[field.name].dtype
        if dtype != np.dtype(field.dtype):
            fail(file, f"array `{field.name}` has dtype {dtype}, expected {field.dtype}")
    unknown = sorted(set(arrays) - {field.name for field in fields})
    if unknown:
        fail(file, f"array `{unknown[0]}` does not belong to algorithm {metadata['algorithm']!r}")

    if type(metadata.get("clean_up", False)) is not bool:
        fail(file, f"metadata `clean_up` is {_brief(metadata['clean_up'])}, expected true or false")
    if "source_bytes" in arrays:
        _check_source_files(file, metadata)
    sizes = {name: size(arrays) for name, size in schema.sizes.items()}
    for name, (least, most) in schema.limits.items():
        if not least <= sizes[name] <= most:
            fail(file, f"number of {name.replace('_', ' ')} is {sizes[name]}, expected {least} to {most}")
    for field in fields:
        _check_array(file, field, arrays, sizes)
    schema.check(file, arrays, metadata, sizes)


def _check_source_files(file: str, metadata: Mapping[str, Any]) -> None:
    """Names and sizes of the files that a vocabulary keeps: names lead nowhere else, and each is there once."""
    listed = metadata.get("source_files")
    names: set[str] = set()
    for entry in listed if isinstance(listed, (list, tuple)) and listed else [None]:
        name, size = (entry.get("name"), entry.get("bytes")) if isinstance(entry, Mapping) else (None, None)
        is_new = isinstance(name, str) and name not in {"", ".", "..", *names} and not set(name) & set("/\\\0")
        if not is_new or type(size) is not int or not 0 <= size < 2**40:
            fail(file, f"metadata `source_files` is {_brief(listed)}, expected names of files and their sizes")
        names.add(str(name))
    if not isinstance(metadata.get("source_options", {}), Mapping):
        fail(file, f"metadata `source_options` is {_brief(metadata['source_options'])}, expected an object")


def check_metadata_field(file: str, metadata: Mapping[str, Any], field: MetadataField) -> None:
    """Check one entry: there, of its type, of a known value."""
    if field.name not in metadata:
        fail(file, f"metadata `{field.name}` is missing")
    value = metadata[field.name]
    # bool is an int in Python but not in the format, hence the exact type.
    if type(value) is not field.kind:
        fail(file, f"metadata `{field.name}` is {_brief(value)}, expected {field.kind.__name__}")
    if field.among is not None and value not in field.among:
        expected = " or ".join(repr(choice) for choice in field.among)
        fail(file, f"metadata `{field.name}` is {_brief(value)}, this version of numba_nlp reads {expected}")


def _check_array(file: str, field: ArrayField, arrays: Arrays, sizes: Mapping[str, int]) -> None:
    array = arrays[field.name]
    if field.length is not None:
        length = field.length if isinstance(field.length, int) else sizes[field.length]
        if array.size != length:
            fail(file, f"array `{field.name}` has length {array.size}, expected {length}")
    if field.offsets_into is not None:
        _check_offsets(file, field.name, array, field.offsets_into, arrays[field.offsets_into].size)
    if field.among is not None and array.size:
        allowed = np.zeros(256, bool)
        allowed[list(field.among)] = True
        found = np.flatnonzero(np.bincount(array, minlength=256))
        if not allowed[found].all():
            wrong = int(found[~allowed[found]][0])
            fail(file, f"array `{field.name}` holds {wrong}, expected one of {list(field.among)}")
    if field.high is not None and array.size:
        high = field.high if isinstance(field.high, int) else sizes[field.high]
        for value in (int(array.min()), int(array.max())):
            if not (field.low or 0) <= value < high:
                fail(file, f"array `{field.name}` holds {value}, expected {field.low} <= value < {high}")
    if field.is_table:
        check_table_size(file, field.name, array.size)
        _check_table_load(file, field.name, int(np.count_nonzero(array >= 0)), array.size)


def _check_offsets(file: str, name: str, offsets: NDArray[Any], target: str, end: int) -> None:
    if not offsets.size:
        fail(file, f"array `{name}` is empty, expected offsets that start at 0")
    if offsets[0] != 0:
        fail(file, f"array `{name}` starts at {int(offsets[0])}, expected 0")
    decreasing = offsets[1:] < offsets[:-1]
    if decreasing.any():
        at = int(np.argmax(decreasing)) + 1
        fail(file, f"array `{name}` decreases from {int(offsets[at - 1])} to {int(offsets[at])} at index {at}")
    if offsets[-1] != end:
        fail(file, f"array `{name}` ends at {int(offsets[-1])}, expected {end}, the length of `{target}`")


def check_special_tokens(file: str, arrays: Arrays) -> None:
    """Check that added tokens are text, distinct, not empty, and sorted."""
    content = arrays["special_bytes"].tobytes()
    bounds = arrays["special_offsets"].tolist()
    previous = b""
    for i in range(len(bounds) - 1):
        token = content[bounds[i] : bounds[i + 1]]
        # The first comparison also refuses an empty token, which would match everywhere without advancing.
        if token <= previous:
            fail(
                file,
                f"array `special_bytes` holds {token!r} at index {i} after {previous!r}, expected distinct non-empty "
                "contents in ascending order",
            )
        try:
            token.decode()
        except UnicodeDecodeError:
            fail(file, f"array `special_bytes` holds {token!r} at index {i}, which is no UTF-8")
        previous = token


def check_table_size(file: str, name: str, size: int) -> None:
    """Check the length of an open-addressing table."""
    # One slot has no address bits: the kernels would shift a 64-bit word by 64, which is undefined.
    if size < 2 or size & (size - 1):
        fail(file, f"array `{name}` has length {size}, expected a power of two of at least 2")


def _check_table_load(file: str, name: str, used: int, size: int) -> None:
    if 2 * used > size:
        fail(file, f"array `{name}` has {used} of its {size} slots in use, expected at most half")


def _brief(value: Any) -> str:
    """Short form of any value for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
