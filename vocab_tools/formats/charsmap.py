"""Precompiled charsmaps: the normalisation rules of SentencePiece files, as a blob of a double array and its strings.

The blob is the byte length of the double array (uint32, little-endian), the array, and the replacements, each ended by
a 0 byte; the value of a key is where its replacement starts.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vocab_tools.formats import darts

__all__ = ["MAX_NESTED", "Charsmap", "CharsmapError", "decode_charsmap", "encode_charsmap", "join_charsmap"]

#: Keys that begin one another, at most. The reference looks at the 32 shortest keys that match and overlooks the rest.
MAX_NESTED = 32
_BLOCK_BYTES = 1024


class CharsmapError(ValueError):
    """The blob is no charsmap, or one that could give text that is not UTF-8; the message says why."""


@dataclass(frozen=True)
class Charsmap:
    """Normalisation rules, checked: no lookup leaves the arrays, keys and replacements are UTF-8.

    Where several keys match, the longest is replaced.

    Attributes
    ----------
    units : uint32[n]
        Double array of the keys in Darts-clone's layout, read-only.
    strings : uint8[m]
        Replacements, each ended by 0, read-only. A value in ``units`` is a position in it.
    """

    units: NDArray[np.uint32] = field(repr=False)
    strings: NDArray[np.uint8] = field(repr=False)

    def rules(self) -> dict[bytes, bytes]:
        """All rules, spelled out in the order of their keys; NFKC has 225,000, which takes a second."""
        strings = self.strings.tobytes()
        return {key: strings[value : strings.index(0, value)] for key, value in darts.items(self.units)}


def decode_charsmap(blob: bytes) -> Charsmap:
    """Read and check a charsmap.

    Parameters
    ----------
    blob : bytes

    Returns
    -------
    Charsmap

    Raises
    ------
    CharsmapError
        Besides what the reference refuses (lengths, strings without their end, an array that leads outside of itself)
        also rules that are not UTF-8, that lead in circles, or more than 32 that begin one another.
    """
    if len(blob) <= 4:
        raise CharsmapError(f"{len(blob)} bytes have no room for a double array")
    n_bytes = struct.unpack_from("<I", blob)[0]
    if n_bytes >= len(blob) - 4:
        raise CharsmapError(f"its double array should have {n_bytes:,} bytes, {len(blob) - 4:,} are left: is it cut?")
    if n_bytes == 0 or n_bytes % _BLOCK_BYTES:
        raise CharsmapError(
            f"its double array has {n_bytes:,} bytes, which is not a multiple of {_BLOCK_BYTES} above 0"
        )
    if blob[-1] != 0:
        raise CharsmapError("its last string has no end (a 0 byte): is it cut?")
    units = np.frombuffer(blob, "<u4", n_bytes // 4, 4).astype(np.uint32)
    strings = np.frombuffer(blob, np.uint8, offset=4 + n_bytes).copy()
    try:
        darts.check(units, strings.size)
        _check_rules(units, strings.tobytes())
    except darts.DartsError as error:
        raise CharsmapError(f"its double array: {error}") from error
    units.flags.writeable = strings.flags.writeable = False
    return Charsmap(units, strings)


def _check_rules(units: NDArray[np.uint32], strings: bytes) -> None:
    for depth in darts.depths(units):
        if depth.nested.max() > MAX_NESTED:
            raise CharsmapError(f"more than {MAX_NESTED} of its keys begin one another")
        for value in np.unique(depth.values[depth.ends]).tolist():
            _check_utf8(strings, value)


def _check_utf8(strings: bytes, value: int) -> None:
    try:
        strings[value : strings.index(0, value)].decode()
    except UnicodeDecodeError as error:
        raise CharsmapError(f"its string at byte {value} is not UTF-8") from error


def encode_charsmap(rules: Mapping[bytes, bytes]) -> bytes:
    """Make the blob of some rules.

    Parameters
    ----------
    rules : mapping of bytes to bytes
        Replacements by what they replace; UTF-8, no 0 bytes, keys not empty.

    Returns
    -------
    bytes
        What :func:`decode_charsmap` reads.

    Raises
    ------
    CharsmapError
        The rules cannot be written, or would be refused when read.
    """
    strings = bytearray()
    places: dict[bytes, int] = {}
    for key, replacement in rules.items():
        if 0 in replacement:
            raise CharsmapError(f"the replacement of {key!r} must not hold the byte 0, got {replacement!r}")
        if replacement not in places:
            places[replacement] = len(strings)
            strings += replacement + b"\0"
    try:
        units = darts.build(list(rules), [places[replacement] for replacement in rules.values()])
    except ValueError as error:
        raise CharsmapError(str(error)) from error
    blob = _join(units, bytes(strings or b"\0"))
    decode_charsmap(blob)
    return blob


def join_charsmap(charsmap: Charsmap) -> bytes:
    """The blob that a charsmap was read from."""
    return _join(charsmap.units, charsmap.strings.tobytes())


def _join(units: NDArray[np.uint32], strings: bytes) -> bytes:
    return struct.pack("<I", 4 * units.size) + units.astype("<u4").tobytes() + strings
