"""``Vocabulary``: frozen named arrays and metadata, one memory-mapped file, checked before any kernel sees it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from numba_nlp._arguments import path as checked_path
from numba_nlp._atomic import atomic_writer
from numba_nlp._schemas import SCHEMAS, schema_of
from numba_nlp._schemas.fields import check_structure, fail
from numba_nlp._schemas.model_inputs import check_model_inputs
from numba_nlp._vocabulary_file import (
    Header,
    canonical_json,
    check_body,
    check_depth,
    file_parts,
    metadata_digest,
    parse_header,
    payload_digest,
    read_header_length,
)
from numba_nlp.errors import UnsupportedFeatureError, VocabularyFormatError

__all__ = ["Vocabulary"]

_IN_MEMORY = "vocabulary in memory"
_DIGESTS = ("payload_digest", "metadata_digest")


class Vocabulary:
    """Everything that a tokenizer knows, as flat read-only arrays and metadata.

    Immutable, hashable, and equal to another vocabulary when all arrays and all metadata are equal (by
    :attr:`digest`). Arrays are reached as ``vocabulary["piece_bytes"]``.

    Parameters
    ----------
    arrays : mapping of str to array_like
        The arrays of the algorithm's schema (``docs/data_contracts.md``), one-dimensional, of the exact dtypes.
        Writeable and non-contiguous arrays are copied, read-only contiguous ones are taken as they are.
    metadata : mapping
        JSON values; must hold the entries of the schema. The two digests are computed anew.

    Raises
    ------
    VocabularyFormatError
        An array or an entry is missing, unknown, of the wrong type or length, or out of range.

    Notes
    -----
    Pickles as path and digest when it was loaded from a file that is still there unchanged, so that processes share
    one copy through the page cache; then the file must exist where it is unpickled. Otherwise, and always after
    :meth:`detached`, it pickles as the bytes of the file.
    """

    __slots__ = ("__weakref__", "_arrays", "_digest", "_metadata", "_path", "_size")

    _arrays: Mapping[str, NDArray[Any]]
    _digest: str
    _metadata: Mapping[str, Any]
    _path: Path | None
    _size: int

    def __init__(self, arrays: Mapping[str, ArrayLike], metadata: Mapping[str, Any]) -> None:
        content = _plain_metadata(metadata)
        schema = schema_of(_IN_MEMORY, content)
        given = {name: _frozen_array(name, array) for name, array in arrays.items()}
        check_structure(_IN_MEMORY, schema, given, content)
        check_model_inputs(_IN_MEMORY, given, content, schema.sizes[schema.size](given))
        ordered = {field.name: given[field.name] for field in schema.fields_of(given)}
        content["payload_digest"] = payload_digest(ordered)
        content["metadata_digest"] = metadata_digest(content)
        self._fill(ordered, content, None)

    def _fill(self, arrays: dict[str, NDArray[Any]], metadata: dict[str, Any], path: Path | None) -> None:
        """Set the slots from checked parts."""
        set_slot = object.__setattr__
        set_slot(self, "_arrays", MappingProxyType(arrays))
        set_slot(self, "_metadata", _frozen_json(metadata))
        set_slot(self, "_digest", metadata["metadata_digest"])
        set_slot(self, "_path", path)
        schema = SCHEMAS[metadata["algorithm"]]
        set_slot(self, "_size", schema.sizes[schema.size](arrays))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Vocabulary is immutable, cannot set {name!r}; build a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Vocabulary is immutable, cannot delete {name!r}")

    # --- content -------------------------------------------------------------------------------------------------

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """All arrays by name, in file order; read-only, as are the arrays."""
        return self._arrays

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata, digests included; nested lists are tuples, nested objects are read-only mappings."""
        return self._metadata

    @property
    def size(self) -> int:
        """Number of ids: the largest id plus one (gaps count)."""
        return self._size

    @property
    def digest(self) -> str:
        """sha256 (hex) that names this content: all arrays and all metadata."""
        return self._digest

    @property
    def path(self) -> Path | None:
        """Absolute path of the file that this vocabulary is mapped from, or None."""
        return self._path

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"no array {name!r}; this vocabulary has {', '.join(self._arrays)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __eq__(self, other: object) -> bool:
        return self._digest == other._digest if isinstance(other, Vocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        name, algorithm = self._metadata["name"], self._metadata["algorithm"]
        return f"<Vocabulary {name!r} {algorithm} size={self._size} digest={self._digest[:12]}>"

    # --- files ---------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary as one safetensors file.

        The file appears whole or not at all: it is written under another name in the same folder, flushed to disk,
        and renamed. Processes that have an older file of that name mapped keep the old content.

        Parameters
        ----------
        path : path-like
            The file, named ``*.safetensors``; an existing one is replaced.

        Raises
        ------
        VocabularyFormatError
            The name ends otherwise, so that nobody could tell what the file is.
        OSError
            The folder cannot be written.
        """
        if Path(path).suffix != ".safetensors":
            raise VocabularyFormatError(f"a compiled vocabulary is a .safetensors file, got the name {str(path)!r}")
        with atomic_writer(path) as stream:
            for part in self._parts():
                stream.write(part)

    @classmethod
    def load(cls, path: str | os.PathLike[str], verify: bool = True) -> Vocabulary:
        """Map a compiled vocabulary file.

        The header is read, the body is mapped read-only and shared by all processes through the page cache.

        Parameters
        ----------
        path : path-like
            A file written by :meth:`save`.
        verify : bool, default True
            Compare the digest of all array bytes: 0.6 ms a megabyte with SHA instructions, about as long as all the
            other checks (5.4 MB load in 6 ms with it, 2.5 ms without). Without it a damaged piece may go unnoticed,
            but everything that keeps kernels inside their arrays is still checked.

        Returns
        -------
        Vocabulary

        Raises
        ------
        VocabularyFormatError
            The file is damaged, truncated, foreign, or of another version.
        OSError
            The file cannot be opened.
        """
        location = checked_path("path", path).absolute()
        file = str(path)

        def map_file(stream: Any, file_bytes: int) -> NDArray[np.uint8]:
            # The whole file is mapped since a mapping starts at a page; the same open file, so that a rename in
            # between cannot pair this header with another body.
            return np.memmap(stream, np.uint8, mode="r", shape=(file_bytes,)).view(np.ndarray)

        with open(location, "rb") as stream:
            file_bytes = os.fstat(stream.fileno()).st_size
            length = read_header_length(file, stream.read(8), file_bytes)
            header = parse_header(file, stream.read(length), file_bytes)
            return cls._from_header(file, header, lambda: map_file(stream, file_bytes), verify, location)

    @classmethod
    def from_bytes(cls, data: bytes, verify: bool = True) -> Vocabulary:
        """Vocabulary from the bytes of its file, without copying them; the counterpart of :meth:`to_bytes`.

        Raises
        ------
        VocabularyFormatError
            As :meth:`load`.
        """
        if not isinstance(data, bytes):
            raise TypeError(f"`data` must be bytes (they cannot change), got {type(data).__name__}")
        file = "vocabulary from bytes"
        length = read_header_length(file, data[:8], len(data))
        header = parse_header(file, data[8 : 8 + length], len(data))
        return cls._from_header(file, header, lambda: np.frombuffer(data, np.uint8), verify, None)

    def to_bytes(self) -> bytes:
        """The bytes that :meth:`save` writes."""
        return b"".join(self._parts())

    def detached(self) -> Vocabulary:
        """The same vocabulary in memory of its own, independent of its file (and pickled as bytes)."""
        return type(self).from_bytes(self.to_bytes(), verify=False)

    def _parts(self) -> Iterator[bytes | memoryview]:
        return file_parts(self._arrays, _plain_json(self._metadata))

    @classmethod
    def _from_header(
        cls,
        file: str,
        header: Header,
        whole_file: Callable[[], NDArray[np.uint8]],
        verify: bool,
        path: Path | None,
    ) -> Vocabulary:
        """Check metadata, then body, and only then make the object."""
        if sys.byteorder != "little":
            raise UnsupportedFeatureError(f"{file}: compiled vocabularies are little-endian, this machine is not")
        metadata = header.metadata
        schema = schema_of(file, metadata)
        for name in _DIGESTS:
            if not isinstance(metadata.get(name), str):
                fail(file, f"metadata `{name}` is missing or no string")
        _compare_digest(file, "metadata_digest", metadata["metadata_digest"], metadata_digest(metadata))

        named = {place.name for place in header.places}
        for field in schema.fields_of(named):
            if field.name not in named:
                fail(file, f"array `{field.name}` is missing")
        body = whole_file()[header.body_start :]
        check_body(file, header.places, body)
        wanted = [place for place in header.places if not place.name.startswith("padding.")]
        arrays = {place.name: body[place.start : place.stop].view(place.dtype) for place in wanted}
        check_structure(file, schema, arrays, metadata)
        check_model_inputs(file, arrays, metadata, schema.sizes[schema.size](arrays))
        order = [field.name for field in schema.fields_of(named)]
        if list(arrays) != order:
            fail(file, f"arrays are stored as {', '.join(arrays)}, expected the order {', '.join(order)}")
        if verify:
            _compare_digest(file, "payload_digest", metadata["payload_digest"], payload_digest(arrays))
        vocabulary = cls.__new__(cls)
        vocabulary._fill(arrays, metadata, path)
        return vocabulary

    # --- copying and pickling ----------------------------------------------------------------------------------------

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        return self

    def __reduce__(self) -> tuple[Callable[..., Vocabulary], tuple[Any, ...]]:
        if self._path is not None and _digest_in_file(self._path) == self._digest:
            return _load_pickled, (str(self._path), self._digest)
        return Vocabulary.from_bytes, (self.to_bytes(),)


def _load_pickled(path: str, digest: str) -> Vocabulary:
    """Unpickle from a file; it must hold what was pickled."""
    advice = "Copy the compiled file to the same path here, or pickle vocabulary.detached() to send the bytes"
    try:
        vocabulary = Vocabulary.load(path)
    except FileNotFoundError:
        raise VocabularyFormatError(
            f"{path}: the pickled vocabulary's file is not on this machine. {advice}."
        ) from None
    if vocabulary.digest != digest:
        raise VocabularyFormatError(f"{path}: digest is {vocabulary.digest}, the pickle expects {digest}. {advice}.")
    return vocabulary


def _digest_in_file(path: Path) -> str | None:
    """Digest that the file's header states, or None when there is no such vocabulary file."""
    try:
        with open(path, "rb") as stream:
            file_bytes = os.fstat(stream.fileno()).st_size
            length = read_header_length(str(path), stream.read(8), file_bytes)
            digest = parse_header(str(path), stream.read(length), file_bytes).metadata.get("metadata_digest")
    except (OSError, VocabularyFormatError):
        return None
    return digest if isinstance(digest, str) else None


def _compare_digest(file: str, name: str, stated: Any, found: str) -> None:
    if stated != found:
        fail(
            file,
            f"metadata `{name}` is {stated!r:.80}, but the content has {found!r}; the content was changed",
        )


def _frozen_array(name: str, array: ArrayLike) -> NDArray[Any]:
    """Read-only, contiguous, one-dimensional form of an array that a caller gave."""
    result = np.asarray(array)
    if result.ndim != 1:
        fail(_IN_MEMORY, f"array `{name}` has shape {result.shape}, expected one dimension")
    if result.flags.writeable or not result.flags.c_contiguous:
        result = result.copy()
    elif type(result) is not np.ndarray:
        result = result.view(np.ndarray)
    result.flags.writeable = False
    return result


def _plain_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of JSON values, as parsing them from a file would give; anything else is refused."""
    try:
        text = canonical_json(_plain_json(metadata))
        content: dict[str, Any] = json.loads(text)
        # Lone surrogates survive the escapes of JSON but are no text; other readers of the file would refuse them.
        json.dumps(content, ensure_ascii=False).encode("utf-8")
        check_depth(content)
    except (TypeError, ValueError, RecursionError) as error:
        fail(_IN_MEMORY, f"metadata cannot be stored as JSON ({error})")
    return content


def _plain_json(value: Any) -> Any:
    """Mutable JSON value (dict, list) of one that :func:`_frozen_json` froze."""
    if isinstance(value, Mapping):
        return {key: _plain_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_json(item) for item in value]
    return value


def _frozen_json(value: Any) -> Any:
    """Read-only form of a JSON value."""
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen_json(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(_frozen_json(item) for item in value)
    return value
