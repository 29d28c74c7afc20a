"""What a compiled vocabulary must hold: one declarative schema per algorithm, and the checks that follow from it.

The checks are those that keep a kernel inside its arrays and let every probe end, so they also run for files that
were loaded with ``verify=False``. ``docs/data_contracts.md`` is the prose form of the declarations below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import VocabularyFormatError

__all__ = [
    "FORMAT_VERSION",
    "SCHEMAS",
    "ArrayField",
    "MetadataField",
    "Schema",
    "check_structure",
    "fail",
    "schema_of",
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
        All arrays, in file order; no others are allowed.
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
    """

    arrays: tuple[ArrayField, ...]
    metadata: tuple[MetadataField, ...]
    sizes: Mapping[str, Callable[[Arrays], int]]
    limits: Mapping[str, tuple[int, int]]
    size: str
    check: Callable[[str, Arrays, Mapping[str, Any], Mapping[str, int]], None]


# Metadata that every algorithm has.
_COMMON_METADATA = (
    MetadataField("format_version", int, (FORMAT_VERSION,)),
    MetadataField("algorithm", str),
    MetadataField("name", str),
    MetadataField("source_format", str),
    MetadataField("source_digest", str),
    MetadataField("unicode_version", str),
)

_CODE_POINT_BLOCKS = 0x110000 >> 7
_N_BASE = 256


def _check_byte_bpe(file: str, arrays: Arrays, metadata: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What the field declarations of byte-level BPE cannot say."""
    _check_merges(file, arrays["merge_table"], arrays["merge_pairs"], sizes["symbols"])
    if arrays["class_blocks"].size % 128:
        fail(file, f"array `class_blocks` has length {arrays['class_blocks'].size}, expected a multiple of 128")

    kinds = arrays["piece_kinds"]
    # One more place than there are ids, where the -1 of an empty slot points to.
    is_foreign = np.append((kinds != 0) & (kinds != 5), False)
    foreign = is_foreign[arrays["piece_lookup"]]
    if foreign.any():
        piece = int(arrays["piece_lookup"][np.argmax(foreign)])
        fail(file, f"array `piece_lookup` points to id {piece}, a piece of kind {int(kinds[piece])}, expected 0 or 5")

    if metadata["unique_products"]:
        products = arrays["merge_symbols"]
        wrong_at = np.flatnonzero(products != np.arange(_N_BASE, _N_BASE + products.size))
        if wrong_at.size:
            at = int(wrong_at[0])
            fail(
                file,
                f"array `merge_symbols` is {int(products[at])} at index {at}, expected {_N_BASE + at} "
                "since metadata `unique_products` is true",
            )

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
        previous = token


def _check_merges(file: str, table: NDArray[Any], pairs: NDArray[Any], n_symbols: int) -> None:
    """Table of merges: each merge lies in it once; pairs are of symbols that exist."""
    _check_table_size(file, "merge_table", table.size)
    number_bits = max(pairs.size - 1, 1).bit_length()
    numbers = table[table != 0] & np.uint32((1 << number_bits) - 1)
    if not np.array_equal(np.sort(numbers), np.arange(pairs.size)):
        fail(file, f"array `merge_table` does not hold each of the merge numbers 0 to {pairs.size - 1} once")
    if not pairs.size:
        return
    # `left << 20 | right`: the largest masked entry shows the largest field
    largest = (("left", int(pairs.max()) >> 20), ("right", int((pairs & np.uint64(0xFFFFF)).max())))
    for what, value in largest:
        if value >= n_symbols:
            fail(file, f"array `merge_pairs` holds {what} symbol {value}, expected less than {n_symbols}")


_BYTE_BPE = Schema(
    arrays=(
        ArrayField("piece_bytes", "uint8"),
        ArrayField("piece_offsets", "int64", offsets_into="piece_bytes"),
        ArrayField("piece_kinds", "uint8", length="ids", among=(0, 2, 3, 5, 255)),
        ArrayField("piece_lookup", "int32", low=-1, high="ids", is_table=True),
        ArrayField("byte_symbols", "int32", length=256, low=0, high=_N_BASE),
        ArrayField("symbol_ids", "int32", low=0, high="ids"),
        ArrayField("pair_merges", "int32", length=65536, low=-1, high="merges"),
        ArrayField("merge_table", "uint32"),
        ArrayField("merge_pairs", "uint64", length="merges"),
        ArrayField("merge_symbols", "int32", low=0, high="symbols"),
        ArrayField("class_index", "uint16", length=_CODE_POINT_BLOCKS, low=0, high="blocks"),
        ArrayField("class_blocks", "uint8", among=tuple(range(10))),
        ArrayField("special_bytes", "uint8"),
        ArrayField("special_offsets", "int64", offsets_into="special_bytes"),
        ArrayField("special_ids", "int32", length="special_tokens", low=0, high="ids"),
        ArrayField("special_flags", "uint8", length="special_tokens", low=0, high=32),
        ArrayField("template_single", "int32", low=-1, high="ids"),
    ),
    metadata=(
        *_COMMON_METADATA,
        MetadataField("reference", str, ("tokenizers", "tiktoken")),
        MetadataField("pattern", str),
        MetadataField("pattern_regex", str),
        MetadataField("add_prefix_space", bool),
        MetadataField("trim_offsets", bool),
        MetadataField("whole_pieces", bool),
        MetadataField("unique_products", bool),
        MetadataField("special_policy", str, ("raise", "match", "plain")),
    ),
    sizes={
        "ids": lambda arrays: arrays["piece_offsets"].size - 1,
        "symbols": lambda arrays: arrays["symbol_ids"].size,
        "merges": lambda arrays: arrays["merge_symbols"].size,
        "special_tokens": lambda arrays: arrays["special_offsets"].size - 1,
        "blocks": lambda arrays: arrays["class_blocks"].size // 128,
    },
    # Pairs have 20 bits a symbol, of which the last one stands for "no symbol"; a key has 26 bits for a merge number.
    limits={
        "ids": (1, 2**31 - 1),
        "symbols": (_N_BASE, 2**20 - 1),
        "merges": (0, 2**24 - 1),
        "special_tokens": (0, 2**31 - 1),
        "blocks": (1, 65536),
    },
    size="ids",
    check=_check_byte_bpe,
)

#: The schema of every algorithm; a new algorithm adds its own here.
SCHEMAS: dict[str, Schema] = {"byte_bpe": _BYTE_BPE}


def schema_of(file: str, metadata: Mapping[str, Any]) -> Schema:
    """Schema that the metadata asks for, after checking version, algorithm and every required entry.

    Raises
    ------
    VocabularyFormatError
        An entry is missing, has the wrong type, or a value that this version does not know.
    """
    _check_metadata_field(file, metadata, _COMMON_METADATA[0])
    _check_metadata_field(file, metadata, MetadataField("algorithm", str, tuple(SCHEMAS)))
    schema = SCHEMAS[metadata["algorithm"]]
    for field in schema.metadata:
        _check_metadata_field(file, metadata, field)
    return schema


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
        Already checked by :func:`schema_of`.

    Raises
    ------
    VocabularyFormatError
        Names the first field that is wrong, its value, and what was expected.
    """
    for field in schema.arrays:
        if field.name not in arrays:
            fail(file, f"array `{field.name}` is missing")
        dtype = arrays[field.name].dtype
        if dtype != np.dtype(field.dtype):
            fail(file, f"array `{field.name}` has dtype {dtype}, expected {field.dtype}")
    unknown = sorted(set(arrays) - {field.name for field in schema.arrays})
    if unknown:
        fail(file, f"array `{unknown[0]}` does not belong to algorithm {metadata['algorithm']!r}")

    sizes = {name: size(arrays) for name, size in schema.sizes.items()}
    for name, (least, most) in schema.limits.items():
        if not least <= sizes[name] <= most:
            fail(file, f"number of {name.replace('_', ' ')} is {sizes[name]}, expected {least} to {most}")
    for field in schema.arrays:
        _check_array(file, field, arrays, sizes)
    schema.check(file, arrays, metadata, sizes)


def _check_metadata_field(file: str, metadata: Mapping[str, Any], field: MetadataField) -> None:
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
        _check_table_size(file, field.name, array.size)
        _check_table_load(file, field.name, int(np.count_nonzero(array >= 0)), array.size)


def _check_offsets(file: str, name: str, offsets: NDArray[Any], target: str, end: int) -> None:
    # sizes["ids"] >= 1 and sizes["special_tokens"] >= 0 make sure that there is a first offset.
    if offsets[0] != 0:
        fail(file, f"array `{name}` starts at {int(offsets[0])}, expected 0")
    decreasing = offsets[1:] < offsets[:-1]
    if decreasing.any():
        at = int(np.argmax(decreasing)) + 1
        fail(file, f"array `{name}` decreases from {int(offsets[at - 1])} to {int(offsets[at])} at index {at}")
    if offsets[-1] != end:
        fail(file, f"array `{name}` ends at {int(offsets[-1])}, expected {end}, the length of `{target}`")


def _check_table_size(file: str, name: str, size: int) -> None:
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
