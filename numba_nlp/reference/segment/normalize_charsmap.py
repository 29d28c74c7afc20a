"""Plain-Python twin of :mod:`numba_nlp.kernels.segment.normalize_charsmap`: parts of text with where they are from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.reference.tables.darts import longest_match

__all__ = ["normalize", "normalize_rows", "normalized_room"]

ADD_DUMMY_PREFIX = 1
REMOVE_EXTRA_WHITESPACES = 2
ESCAPE_WHITESPACES = 4
WHITESPACE_AS_SUFFIX = 8
ROW_STARTS = 1
ROW_ENDS = 2

MOST_KEYS = 32
MOST_SYMBOLS = 64


def normalized_room(tables: Any, n: int) -> int:
    """Room in bytes that ``n`` bytes of text need at most."""
    return n * int(tables.settings[1]) + 11


def _character(data: bytes, position: int) -> bytes:
    end = position + 1
    while end < len(data) and 0x80 <= data[end] < 0xC0:
        end += 1
    return data[position:end]


def _next_part(tables: Any, data: bytes, position: int) -> tuple[bytes, int]:
    """What a place becomes, and how many bytes of the text that takes."""
    array = np.frombuffer(data, np.uint8)
    if tables.symbol_units.size:
        length, _ = longest_match(tables.symbol_units, array, position, len(data), MOST_SYMBOLS)
        if length:
            return data[position : position + length], length
    if tables.units.size:
        length, value = longest_match(tables.units, array, position, len(data), MOST_KEYS)
        if length:
            return tables.strings[value:].tobytes().split(b"\0")[0], length
    character = _character(data, position)
    return character, len(character)


class _Result:
    """Normalised bytes, each with the range that it came from; or the word that they became too many."""

    def __init__(self, room: int, space: bytes) -> None:
        self.bytes: list[int] = []
        self.ranges: list[tuple[int, int]] = []
        self.is_full = False
        self._room = room
        self._space = space

    def add(self, part: bytes, first: int, last: int) -> None:
        for byte in part:
            written = self._space if byte == 0x20 else bytes([byte])
            self.bytes += written
            self.ranges += [(first, last)] * len(written)
        self.is_full = self.is_full or len(self.bytes) > self._room


def normalize(
    tables: Any,
    data: NDArray[np.uint8],
    start: int,
    stop: int,
    edges: int,
    text: NDArray[np.uint8],
    from_starts: NDArray[np.int32],
    from_ends: NDArray[np.int32],
) -> int:
    """Normalise ``data[start:stop]``; nothing is written when the room does not do."""
    flags = int(tables.settings[0])
    removes = bool(flags & REMOVE_EXTRA_WHITESPACES)
    source = data[start:stop].tobytes()
    space = "\u2581".encode() if flags & ESCAPE_WHITESPACES else b" "
    result = _Result(text.size, space)
    parts = []
    position = 0
    while position < len(source):
        part, length = _next_part(tables, source, position)
        parts.append((part, position, position + length))
        position += length

    if removes and edges & ROW_STARTS:
        while parts and parts[0][0] == b" ":
            parts.pop(0)
    if not parts:
        return 0

    is_suffix = bool(flags & WHITESPACE_AS_SUFFIX)
    if flags & ADD_DUMMY_PREFIX and not is_suffix and edges & ROW_STARTS:
        result.add(b" ", parts[0][1], parts[0][1])
    after_space = removes and bool(edges & ROW_STARTS)
    for part, first, last in parts:
        kept = part.lstrip(b" ") if after_space else part
        if kept:
            result.add(kept, first, last)
            after_space = removes and kept.endswith(b" ")

    behind = len(source)
    if removes and edges & ROW_ENDS:
        while bytes(result.bytes).endswith(space):
            for _ in space:
                result.bytes.pop()
                behind = result.ranges.pop()[0]
    if flags & ADD_DUMMY_PREFIX and is_suffix and edges & ROW_ENDS:
        result.add(b" ", behind, behind)
    if result.is_full:
        return STATUS_OUTPUT_FULL
    n = len(result.bytes)
    text[:n] = result.bytes
    if from_starts.size:
        from_starts[:n] = [first for first, _ in result.ranges]
        from_ends[:n] = [last for _, last in result.ranges]
    return n


def normalize_rows(
    tables: Any,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> int:
    """Normalise whole rows, one behind the other."""
    position = 0
    offsets[0] = 0
    nothing = np.zeros(0, np.int32)
    for row in range(starts.size):
        n = normalize(
            tables, data, int(starts[row]), int(ends[row]), ROW_STARTS | ROW_ENDS, text[position:], nothing, nothing
        )
        if n < 0:
            return n
        position += n
        offsets[row + 1] = position
    return position
