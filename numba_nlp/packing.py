"""Packing: many rows of ids as one memory-mapped file of fixed blocks, which language-model training reads."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from numba_nlp._atomic import atomic_writer
from numba_nlp.errors import NumbaNlpError
from numba_nlp.kernels.segment import assemble
from numba_nlp.ragged import Ragged
from numba_nlp.vocabulary import Vocabulary

__all__ = ["PackedBlocks", "PackedFormatError", "pack"]

#: Version of the sidecar and of what it describes.
PACKED_VERSION = 1

Remainder: TypeAlias = Literal["drop", "pad", "keep"]

_DTYPES: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
_WAY_OUT = "Pack the rows again with numba_nlp.packing.pack(...)."


class PackedFormatError(NumbaNlpError, ValueError):
    """A packed file or its sidecar is damaged, foreign, or of another version."""


def pack(
    batches: Iterable[Ragged],
    path: str | os.PathLike[str],
    *,
    block_size: int,
    separator_id: int,
    dtype: DTypeLike | None = None,
    vocabulary: Vocabulary | None = None,
    remainder: Remainder = "drop",
    pad_id: int | None = None,
) -> PackedBlocks:
    """Write rows, one behind the other with a separator between each two, as blocks of equal length.

    ``path`` gets the ids and nothing else, little-endian; ``path`` + ``.json`` says how to read them. Both appear
    whole or not at all. Memory is bounded by the largest batch. Missing rows are left out together with their
    separator, empty rows are kept, so two separators follow each other.

    Parameters
    ----------
    batches : iterable of Ragged
        Read once, one at a time; where one batch ends makes no difference to the file.
    path : path-like
        File to write, by custom ``*.bin``; replaced if it exists.
    block_size : int
        Ids a block.
    separator_id : int
        Id between rows, usually the end-of-text token; also between the rows of two batches, not before the first
        row nor behind the last.
    dtype : {"uint16", "uint32"}, optional
        Type of an id in the file. Default: uint16 if ``vocabulary`` has at most 65536 ids, else uint32.
    vocabulary : Vocabulary, optional
        Gives the default of ``dtype``; ids are checked against its size, and its digest is kept in the sidecar.
    remainder : {"drop", "pad", "keep"}
        The ids behind the last full block are left out, filled to a block with ``pad_id``, or written as they are
        (then they are ``PackedBlocks.tail``).
    pad_id : int, optional
        Default: ``separator_id``.

    Returns
    -------
    PackedBlocks
        The file, opened.

    Raises
    ------
    ValueError
        An argument is out of range, or an id does not fit; names the row (counted over all batches) and the id.
    """
    if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"`vocabulary` must be a Vocabulary (tok.vocabulary), got {type(vocabulary).__name__}")
    kind, limit = _id_type(dtype, vocabulary)
    _check_argument("block_size", block_size, 1, 2**40)
    _check_argument("separator_id", separator_id, 0, limit)
    filler = separator_id if pad_id is None else pad_id
    _check_argument("pad_id", filler, 0, limit)
    if remainder not in ("drop", "pad", "keep"):
        raise ValueError(f"`remainder` must be 'drop', 'pad' or 'keep', got {remainder!r}")

    target = Path(path)
    state = hashlib.sha256()
    n_rows = 0
    with atomic_writer(target) as stream:

        def write(ids: NDArray[Any]) -> None:
            if ids.size:
                state.update(ids.data.cast("B"))
                stream.write(ids.data.cast("B"))

        rest = np.zeros(0, kind)
        n_ids = 0
        for joined, batch_rows in _streams(batches, kind, separator_id, limit):
            n_rows += batch_rows
            ids = np.concatenate([rest, joined])
            n_full = ids.size - ids.size % block_size
            write(ids[:n_full])
            n_ids += n_full
            rest = ids[n_full:].copy()
        if rest.size and remainder != "drop":
            filling = np.full(block_size - rest.size if remainder == "pad" else 0, filler, kind)
            write(np.concatenate([rest, filling]))
            n_ids += rest.size + filling.size
        content = {
            "format": "numba_nlp packed ids",
            "version": PACKED_VERSION,
            "dtype": kind.name,
            "block_size": int(block_size),
            "n_ids": n_ids,
            "n_rows": n_rows,
            "separator_id": int(separator_id),
            "remainder": remainder,
            "pad_id": int(filler) if remainder == "pad" else None,
            "vocabulary_digest": None if vocabulary is None else vocabulary.digest,
            "sha256": state.hexdigest(),
        }
        # Two files cannot be renamed at once: without a sidecar the new ids can never be read by an old one's rules.
        _sidecar(target).unlink(missing_ok=True)
    with atomic_writer(_sidecar(target)) as stream:
        stream.write(json.dumps(content, indent=1).encode("ascii") + b"\n")
    return PackedBlocks.open(target)


def is_packed_description(path: Path) -> bool:
    """Whether a file is what `pack` writes beside the ids."""
    try:
        _read_sidecar(path)
    except PackedFormatError:
        return False
    return True


def _streams(
    batches: Iterable[Ragged], kind: np.dtype[Any], separator_id: int, limit: int
) -> Iterator[tuple[NDArray[Any], int]]:
    """The joined ids of each batch, with the separator that parts it from its predecessor, and its rows."""
    first_row = 0
    is_first = True
    for number, batch in enumerate(batches):
        if not isinstance(batch, Ragged):
            raise TypeError(f"batch {number} must be a Ragged, got {type(batch).__name__}")
        present = batch if batch.valid is None else batch.take(np.flatnonzero(batch.valid))
        _check_ids(batch, limit, first_row)
        first_row += len(batch)
        if not len(present):
            continue
        values, offsets = present.values.view(), present.offsets.view()
        values.flags.writeable = False
        offsets.flags.writeable = False
        out = np.empty(present.n_values + len(present), kind)
        n = assemble.join_rows(values, offsets, int(separator_id), not is_first, out)
        is_first = False
        yield out[:n], len(present)


def _check_ids(batch: Ragged, limit: int, first_row: int) -> None:
    tight = batch.compact()
    values = tight.values
    if not values.size or (values.min() >= 0 and values.max() < limit):
        return
    at = int(np.argmax((values < 0) | (values >= limit)))
    row = int(np.searchsorted(tight.offsets, at, side="right")) - 1
    raise ValueError(
        f"row {first_row + row} holds id {int(values[at])}, expected 0 <= id < {limit}; "
        "give the `vocabulary` of the ids, or dtype='uint32'"
    )


def _id_type(dtype: DTypeLike | None, vocabulary: Vocabulary | None) -> tuple[np.dtype[Any], int]:
    """Type of the ids in the file, and the end of their range."""
    if dtype is None:
        name = "uint16" if vocabulary is not None and vocabulary.size <= 65536 else "uint32"
    else:
        name = np.dtype(dtype).name
        if name not in _DTYPES:
            raise ValueError(f"`dtype` must be uint16 or uint32, got {name}")
    kind = _DTYPES[name]
    limit = 1 << 8 * kind.itemsize
    if vocabulary is not None:
        if vocabulary.size > limit:
            raise ValueError(f"`dtype` {name} cannot hold the {vocabulary.size} ids of the vocabulary; use uint32")
        limit = vocabulary.size
    # Ids are int32 before they get here.
    return kind, min(limit, 2**31)


def _check_argument(name: str, value: Any, least: int, end: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"`{name}` must be an int, got {type(value).__name__}")
    if not least <= value < end:
        raise ValueError(f"`{name}` must be at least {least} and less than {end}, got {value}")


def _sidecar(path: Path) -> Path:
    return path.with_name(path.name + ".json")


class PackedBlocks:
    """Blocks of ids in a memory-mapped file; ``blocks[i]`` is a read-only view of ``block_size`` ids.

    Made by :func:`pack` or :meth:`open`. Pickles as its path, so that worker processes share one mapping.
    """

    __slots__ = ("_blocks", "_content", "_path", "_tail")

    _blocks: NDArray[Any]
    _tail: NDArray[Any]
    _content: dict[str, Any]
    _path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = False) -> PackedBlocks:
        """Open a packed file.

        Parameters
        ----------
        path : path-like
            The file of ids; its sidecar lies beside it.
        verify : bool, default False
            Compare the sha256 of all ids, which reads the whole file.

        Raises
        ------
        PackedFormatError
            The sidecar is missing, damaged, or does not fit the file.
        OSError
            A file cannot be opened.
        """
        location = Path(path).absolute()
        content = _read_sidecar(_sidecar(location))
        kind, block_size, n_ids = _DTYPES[content["dtype"]], content["block_size"], content["n_ids"]
        found = location.stat().st_size
        if found != n_ids * kind.itemsize:
            raise PackedFormatError(
                f"{path}: the file has {found} bytes, but its sidecar says {n_ids} ids of {content['dtype']}, "
                f"{n_ids * kind.itemsize} bytes. {_WAY_OUT}"
            )
        # An empty file cannot be mapped.
        ids = np.memmap(location, kind, mode="r").view(np.ndarray) if n_ids else np.zeros(0, kind)
        ids.flags.writeable = False
        if verify and hashlib.sha256(ids.data.cast("B") if n_ids else b"").hexdigest() != content["sha256"]:
            raise PackedFormatError(f"{path}: sha256 of the ids is not the sidecar's `sha256`. {_WAY_OUT}")
        n_full = n_ids - n_ids % block_size
        result = cls.__new__(cls)
        result._blocks = ids[:n_full].reshape(-1, block_size)
        result._tail = ids[n_full:]
        result._content = content
        result._path = location
        return result

    @property
    def path(self) -> Path:
        """The file of ids."""
        return self._path

    @property
    def array(self) -> NDArray[Any]:
        """All blocks as one read-only array of shape (n, block_size)."""
        return self._blocks

    @property
    def tail(self) -> NDArray[Any]:
        """Ids behind the last full block; empty unless packed with ``remainder="keep"``."""
        return self._tail

    @property
    def shape(self) -> tuple[int, int]:
        """Number of blocks, and ids a block."""
        return self._blocks.shape[0], self._blocks.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the ids."""
        return self._blocks.dtype

    @property
    def block_size(self) -> int:
        """Ids a block."""
        return int(self._blocks.shape[1])

    @property
    def separator_id(self) -> int:
        """Id between rows."""
        return int(self._content["separator_id"])

    @property
    def vocabulary_digest(self) -> str | None:
        """Digest of the vocabulary that the ids belong to, if it was given."""
        digest = self._content["vocabulary_digest"]
        return None if digest is None else str(digest)

    @property
    def metadata(self) -> dict[str, Any]:
        """Copy of the sidecar's content."""
        return dict(self._content)

    def __len__(self) -> int:
        return int(self._blocks.shape[0])

    def __getitem__(self, index: Any) -> NDArray[Any]:
        """As indexing :attr:`array`: a view for an int or a slice."""
        return np.asarray(self._blocks[index])

    def __repr__(self) -> str:
        return f"<PackedBlocks {self._path.name!r} {len(self)} x {self.block_size} {self.dtype.name}>"

    def __reduce__(self) -> tuple[Callable[..., PackedBlocks], tuple[Any, ...]]:
        return PackedBlocks.open, (self._path,)


def _is_count(least: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value < 2**56


def _is_id_or_none(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value < 2**31)


#: What a sidecar must hold: name, test, and what the test expects in words.
_SIDECAR_FIELDS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("format", lambda value: value == "numba_nlp packed ids", "'numba_nlp packed ids'"),
    ("version", lambda value: type(value) is int and value == PACKED_VERSION, f"version {PACKED_VERSION}"),
    ("dtype", lambda value: isinstance(value, str) and value in _DTYPES, "uint16 or uint32"),
    ("block_size", _is_count(1), "a positive int"),
    ("n_ids", _is_count(0), "an int >= 0"),
    ("n_rows", _is_count(0), "an int >= 0"),
    ("separator_id", lambda value: value is not None and _is_id_or_none(value), "an id"),
    ("remainder", lambda value: value in ("drop", "pad", "keep"), "drop, pad or keep"),
    ("pad_id", _is_id_or_none, "an id or null"),
    ("vocabulary_digest", lambda value: value is None or isinstance(value, str), "a string or null"),
    ("sha256", lambda value: isinstance(value, str), "a string"),
)


def _read_sidecar(path: Path) -> dict[str, Any]:
    try:
        # Sidecars are a few hundred bytes; a foreign file of any size is not read whole.
        with open(path, "rb") as stream:
            content = json.loads(stream.read(65536).decode("utf-8"))
    except FileNotFoundError:
        raise PackedFormatError(f"{path}: the sidecar of the packed file is missing. {_WAY_OUT}") from None
    except (ValueError, RecursionError) as error:
        raise PackedFormatError(f"{path}: the sidecar is not valid JSON ({error}). {_WAY_OUT}") from None
    if not isinstance(content, dict):
        raise PackedFormatError(f"{path}: the sidecar is a {type(content).__name__}, not an object. {_WAY_OUT}")
    for name, is_right, expected in _SIDECAR_FIELDS:
        if name not in content or not is_right(content[name]):
            got = repr(content.get(name, "missing"))[:80]
            raise PackedFormatError(f"{path}: `{name}` is {got}, expected {expected}. {_WAY_OUT}")
    return content
