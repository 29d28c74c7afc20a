"""Layout of a compiled vocabulary file: a safetensors file in one canonical form.

::

    8 bytes       length of the header, little-endian
    header        JSON, padded with spaces so that the body starts at a multiple of 64
    body          the arrays in schema order, each starting at a multiple of 64

safetensors allows no holes in the body, so gaps are filled by arrays named ``padding.0``, ``padding.1`` ... whose bytes
are zero. The header's ``__metadata__`` has the one key ``numba_nlp`` whose value is the metadata as a JSON string.

Two digests make every byte count. ``payload_digest`` covers names, dtypes, lengths and bytes of the arrays;
``metadata_digest`` covers the metadata with ``payload_digest`` in it, and so names the whole vocabulary. A header is
accepted only if it is, byte for byte, the header that writing the parsed content would give, so white space, order
of keys, spelling of numbers and padding cannot vary either.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from numba_nlp._schemas.fields import fail

__all__ = [
    "ArrayPlace",
    "Header",
    "canonical_json",
    "check_body",
    "check_depth",
    "file_parts",
    "metadata_digest",
    "parse_header",
    "payload_digest",
    "read_header_length",
]

ALIGNMENT = 64
#: Largest header that is read; far above any real one, and small enough to parse without harm.
MAX_HEADER_BYTES = 4 << 20

#: Deepest nesting of the metadata.
MAX_DEPTH = 16

_METADATA_KEY = "numba_nlp"
_PADDING = "padding."
_DTYPE_CODES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "uint16": "U16",
    "int16": "I16",
    "uint32": "U32",
    "int32": "I32",
    "uint64": "U64",
    "int64": "I64",
    "float32": "F32",
    "float64": "F64",
}
_DTYPES = {code: np.dtype(name) for name, code in _DTYPE_CODES.items()}


class ArrayPlace(NamedTuple):
    """Where one array lies in the body."""

    name: str
    dtype: np.dtype[Any]
    length: int
    start: int

    @property
    def stop(self) -> int:
        return self.start + self.length * self.dtype.itemsize


class Header(NamedTuple):
    """A parsed header: metadata, and the places of all arrays, padding included, in file order."""

    metadata: dict[str, Any]
    places: list[ArrayPlace]
    body_start: int


def canonical_json(value: Any) -> str:
    """JSON of a value in the one spelling that the format uses: sorted keys, no spaces, ASCII only, no NaN.

    Raises
    ------
    TypeError, ValueError, RecursionError
        ``value`` is not made of finite JSON values.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def check_depth(value: Any) -> None:
    """Refuse JSON values nested more than 16 deep, so that no walk over them meets the recursion limit.

    Raises
    ------
    ValueError
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            if isinstance(container, (dict, list))
            for item in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return
    raise ValueError(f"nested deeper than {MAX_DEPTH} levels")


def payload_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """sha256 over names, dtypes, lengths and bytes of the arrays, in their order (hex).

    sha256 rather than BLAKE2: processors with SHA instructions do it twice as fast.
    """
    state = hashlib.sha256()
    for name, array in arrays.items():
        state.update(f"{name}\0{array.dtype.name}\0{array.size}\0".encode())
        state.update(array.data.cast("B") if array.size else b"")
    return state.hexdigest()


def metadata_digest(metadata: Mapping[str, Any]) -> str:
    """sha256 over the canonical JSON of the metadata without its own ``metadata_digest`` (hex)."""
    rest = {key: value for key, value in metadata.items() if key != "metadata_digest"}
    return hashlib.sha256(canonical_json(rest).encode("ascii")).hexdigest()


def _plan(arrays: Iterator[tuple[str, np.dtype[Any], int]]) -> list[ArrayPlace]:
    """Places of arrays one behind the other, with padding where the next one would not be aligned."""
    places: list[ArrayPlace] = []
    position = 0
    for name, dtype, length in arrays:
        gap = -position % ALIGNMENT
        if gap:
            n_paddings = sum(place.name.startswith(_PADDING) for place in places)
            places.append(ArrayPlace(f"{_PADDING}{n_paddings}", np.dtype("uint8"), gap, position))
            position += gap
        places.append(ArrayPlace(name, dtype, length, position))
        position = places[-1].stop
    return places


def _header_bytes(metadata_text: str, places: list[ArrayPlace]) -> bytes:
    """The length and the header, as they stand in the file."""
    content: dict[str, Any] = {"__metadata__": {_METADATA_KEY: metadata_text}}
    for place in places:
        content[place.name] = {
            "dtype": _DTYPE_CODES[place.dtype.name],
            "shape": [place.length],
            "data_offsets": [place.start, place.stop],
        }
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return struct.pack("<Q", len(text)) + text


def file_parts(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Iterator[bytes | memoryview]:
    """Pieces of the file, in order.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        One-dimensional and C-contiguous, in file order.
    metadata : mapping
        With both digests.

    Yields
    ------
    bytes or memoryview
    """
    places = _plan((name, array.dtype, array.size) for name, array in arrays.items())
    yield _header_bytes(canonical_json(metadata), places)
    for place in places:
        if place.name in arrays:
            if place.length:
                yield arrays[place.name].data.cast("B")
        else:
            yield bytes(place.length)


def read_header_length(file: str, start: bytes, file_bytes: int) -> int:
    """Length of the header from the first 8 bytes, checked against the size of the file.

    Raises
    ------
    VocabularyFormatError
    """
    if len(start) < 8:
        fail(file, f"the file has {file_bytes} bytes, expected at least 8; it is truncated or not a vocabulary")
    (length,) = struct.unpack("<Q", start)
    if length > MAX_HEADER_BYTES:
        fail(
            file,
            f"header length is {length}, expected at most {MAX_HEADER_BYTES}; this is not a vocabulary file",
        )
    if 8 + length > file_bytes:
        fail(file, f"header length is {length}, but the file has only {file_bytes} bytes; it is truncated")
    return int(length)


def parse_header(file: str, text: bytes, file_bytes: int) -> Header:
    """Parse and check a header; what it returns cannot point outside the file.

    Parameters
    ----------
    file : str
        Named in errors.
    text : bytes
        The header without its length.
    file_bytes : int
        Size of the whole file.

    Raises
    ------
    VocabularyFormatError
        Anything but the canonical header of a vocabulary whose body ends where the file ends.
    """
    content = _strict_json(file, "header", text)
    if not isinstance(content, dict) or not isinstance(content.get("__metadata__"), dict):
        fail(file, "the header has no `__metadata__`; this is not a compiled numba_nlp vocabulary")
    marks = content.pop("__metadata__")
    metadata_text = marks.get(_METADATA_KEY)
    if not isinstance(metadata_text, str):
        fail(file, f"`__metadata__` has no `{_METADATA_KEY}`; this is not a compiled numba_nlp vocabulary")
    metadata = _strict_json(file, "metadata", metadata_text.encode("utf-8", "surrogatepass"))
    if not isinstance(metadata, dict):
        fail(file, f"metadata is a {type(metadata).__name__}, expected an object")
    try:
        check_depth(metadata)
        json.dumps(metadata, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        fail(file, f"metadata is not acceptable ({error})")

    body_start = 8 + len(text)
    places = _read_places(file, content)
    body_bytes = places[-1].stop if places else 0
    if body_start + body_bytes != file_bytes:
        problem = "truncated" if file_bytes < body_start + body_bytes else "followed by foreign bytes"
        fail(file, f"the file has {file_bytes} bytes, expected {body_start + body_bytes}; it is {problem}")

    planned = _plan((p.name, p.dtype, p.length) for p in places if not p.name.startswith(_PADDING))
    try:
        canonical = _header_bytes(canonical_json(metadata), planned)
    except ValueError as error:
        fail(file, f"metadata cannot be written back ({error})")
    if planned != places or canonical[8:] != text:
        fail(
            file,
            "the header is not in the form that numba_nlp writes; it is damaged or was written by other software",
        )
    return Header(metadata, places, body_start)


def _read_places(file: str, content: dict[str, Any]) -> list[ArrayPlace]:
    """Places of the arrays in the header, each checked to follow its predecessor without gap or overlap."""
    places: list[ArrayPlace] = []
    position = 0
    for name, entry in content.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            fail(file, f"array {name!r:.80} is not described by dtype, shape and data_offsets")
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(code, str) or code not in _DTYPES:
            fail(file, f"array {name!r:.80} has dtype {code!r:.40}, expected one of {', '.join(_DTYPES)}")
        if not _are_sizes(shape, 1):
            fail(file, f"array {name!r:.80} has shape {shape!r:.60}, expected one non-negative length")
        if not _are_sizes(offsets, 2):
            fail(
                file,
                f"array {name!r:.80} has data_offsets {offsets!r:.60}, expected two non-negative numbers",
            )
        place = ArrayPlace(name, _DTYPES[code], shape[0], position)
        if offsets != [place.start, place.stop]:
            fail(
                file,
                f"array {name!r:.80} has data_offsets {offsets!r:.60}, expected [{place.start}, {place.stop}]",
            )
        places.append(place)
        position = place.stop
    return places


def check_body(file: str, places: list[ArrayPlace], body: NDArray[np.uint8]) -> None:
    """Check that all padding is zero.

    Raises
    ------
    VocabularyFormatError
    """
    for place in places:
        if place.name.startswith(_PADDING) and body[place.start : place.stop].any():
            fail(file, f"array `{place.name}` is not zero; the file is damaged")


def _are_sizes(value: Any, n: int) -> bool:
    # Below 2**62 so that no later sum or product leaves int64; bool is an int but not a size.
    return isinstance(value, list) and len(value) == n and all(type(x) is int and 0 <= x < 2**62 for x in value)


class _NotStrictError(ValueError):
    """JSON that Python would accept but the format does not."""


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _NotStrictError("a key appears twice")
    return result


def _no_constant(name: str) -> NoReturn:
    raise _NotStrictError(f"{name} is not JSON")


def _strict_json(file: str, what: str, text: bytes) -> Any:
    """Parse JSON; any defect, and nesting too deep to parse, is a format error."""
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant)
    except RecursionError:
        fail(file, f"{what} is nested too deeply to be a vocabulary's")
    # ValueError covers UnicodeDecodeError, JSONDecodeError, the two rules above, and numbers of too many digits.
    except ValueError as error:
        fail(file, f"{what} is not valid JSON ({error})")
