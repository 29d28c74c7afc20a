"""Plain-Python twin of :mod:`numba_nlp.kernels.segment.decode`: joins byte strings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import STATUS_OUTPUT_FULL, STATUS_UNKNOWN_ID

CONTROL = 2
ABSENT = 255


def _kept(
    piece_kinds: NDArray[np.uint8],
    ids: NDArray[np.int32],
    start: int,
    stop: int,
    skip_special: int,
    where: NDArray[np.int64],
) -> list[int] | None:
    """Pieces to write, or None after naming the first unknown id in ``where``."""
    kept = []
    for i in range(start, stop):
        piece = int(ids[i])
        if not 0 <= piece < piece_kinds.size or piece_kinds[piece] == ABSENT:
            where[0] = i
            return None
        if not (skip_special and piece_kinds[piece] == CONTROL):
            kept.append(piece)
    return kept


def decoded_length(
    piece_offsets: NDArray[np.int64],
    piece_kinds: NDArray[np.uint8],
    ids: NDArray[np.int32],
    start: int,
    stop: int,
    skip_special: int,
    where: NDArray[np.int64],
) -> int:
    """Number of bytes that ``ids[start:stop]`` decode to."""
    kept = _kept(piece_kinds, ids, start, stop, skip_special, where)
    if kept is None:
        return STATUS_UNKNOWN_ID
    return sum(int(piece_offsets[piece + 1] - piece_offsets[piece]) for piece in kept)


def decode_ids(
    piece_bytes: NDArray[np.uint8],
    piece_offsets: NDArray[np.int64],
    piece_kinds: NDArray[np.uint8],
    ids: NDArray[np.int32],
    start: int,
    stop: int,
    skip_special: int,
    position: int,
    out: NDArray[np.uint8],
    where: NDArray[np.int64],
) -> int:
    """Write the bytes of ``ids[start:stop]`` to ``out[position:]``; nothing is written on failure."""
    kept = _kept(piece_kinds, ids, start, stop, skip_special, where)
    if kept is None:
        return STATUS_UNKNOWN_ID
    text = b"".join(piece_bytes[piece_offsets[piece] : piece_offsets[piece + 1]].tobytes() for piece in kept)
    if position + len(text) > out.size:
        return STATUS_OUTPUT_FULL
    out[position : position + len(text)] = np.frombuffer(text, np.uint8)
    return position + len(text)


def decode_rows(
    piece_bytes: NDArray[np.uint8],
    piece_offsets: NDArray[np.int64],
    piece_kinds: NDArray[np.uint8],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    skip_special: int,
    out: NDArray[np.uint8],
    out_offsets: NDArray[np.int64],
    where: NDArray[np.int64],
) -> int:
    """Decode every row of a ragged array."""
    position = 0
    out_offsets[0] = 0
    for row in range(offsets.size - 1):
        position = decode_ids(
            piece_bytes,
            piece_offsets,
            piece_kinds,
            ids,
            int(offsets[row]),
            int(offsets[row + 1]),
            skip_special,
            position,
            out,
            where,
        )
        if position < 0:
            return position
        out_offsets[row + 1] = position
    return position
