"""Plain-Python twin of :mod:`numba_nlp.kernels.segment.decode_sentencepiece`: joins byte strings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from numba_nlp.errors import STATUS_OUTPUT_FULL, STATUS_UNKNOWN_ID

__all__ = ["decode_ids", "decode_rows", "decoded_room", "write_pieces"]

UNKNOWN = 1
CONTROL = 2
BYTE = 5
ABSENT = 255
DROP_FIRST_SPACE = 1


def write_pieces(
    piece_bytes: NDArray[np.uint8],
    piece_offsets: NDArray[np.int64],
    piece_kinds: NDArray[np.uint8],
    unk_surface: NDArray[np.uint8],
    text_bytes: NDArray[np.uint8],
    text_offsets: NDArray[np.int64],
    begins_with_space: NDArray[np.uint8],
) -> int:
    """Write what each piece becomes in decoded text."""
    mark = "\u2581".encode()
    texts = []
    for piece, kind in enumerate(piece_kinds):
        text = piece_bytes[piece_offsets[piece] : piece_offsets[piece + 1]].tobytes()
        begins_with_space[piece] = kind not in (UNKNOWN, CONTROL, BYTE) and text.startswith(mark)
        if kind == UNKNOWN:
            text = unk_surface.tobytes()
        elif kind == BYTE:
            text = bytes([int(text[3:5], 16)])
        elif kind != CONTROL:
            text = text.replace(mark, b" ")
        texts.append(text)
    content = b"".join(texts)
    text_bytes[: len(content)] = np.frombuffer(content, np.uint8)
    text_offsets[:] = np.cumsum([0] + [len(text) for text in texts])
    return len(content)


def _pieces(tables: Any, ids: NDArray[np.int32], start: int, stop: int, where: NDArray[np.int64]) -> list[int] | None:
    """The ids of a row, or None after naming the first unknown one in ``where``."""
    pieces = [int(piece) for piece in ids[start:stop]]
    for i, piece in enumerate(pieces):
        if not 0 <= piece < tables.kinds.size or tables.kinds[piece] == ABSENT:
            where[0] = start + i
            return None
    return pieces


def _text(tables: Any, piece: int) -> bytes:
    return tables.text_bytes[tables.text_offsets[piece] : tables.text_offsets[piece + 1]].tobytes()


def decoded_room(tables: Any, ids: NDArray[np.int32], start: int, stop: int, where: NDArray[np.int64]) -> int:
    """Room in bytes that a row needs at most: three for a byte piece, since it may become U+FFFD."""
    pieces = _pieces(tables, ids, start, stop, where)
    if pieces is None:
        return STATUS_UNKNOWN_ID
    return 16 + sum(3 if tables.kinds[piece] == BYTE else len(_text(tables, piece)) for piece in pieces)


def _decode_bytes(content: bytes) -> bytes:
    """Characters as they are, each byte that is part of none as U+FFFD."""
    text = ""
    while content:
        for n in range(1, 5):
            try:
                text += content[:n].decode()
            except UnicodeDecodeError:
                continue
            content = content[n:]
            break
        else:
            text += "\ufffd"
            content = content[1:]
    return text.encode()


def decode_ids(
    tables: Any,
    ids: NDArray[np.int32],
    start: int,
    stop: int,
    skip_special: int,
    position: int,
    out: NDArray[np.uint8],
    where: NDArray[np.int64],
) -> int:
    """Write the text of a row to ``out[position:]``; nothing is written on failure."""
    pieces = _pieces(tables, ids, start, stop, where)
    if pieces is None:
        return STATUS_UNKNOWN_ID
    drop = int(tables.settings[0])
    text = b""
    waiting = b""
    for piece in pieces:
        kind = tables.kinds[piece]
        if kind == BYTE:
            waiting += _text(tables, piece)
            continue
        text += _decode_bytes(waiting)
        waiting = b""
        if kind == CONTROL and skip_special:
            continue
        written = _text(tables, piece)
        if text:
            drop = 0
        if drop and tables.begins_with_space[piece]:
            written = written[1:]
            if drop == DROP_FIRST_SPACE:
                drop = 0
        text += written
    text += _decode_bytes(waiting)
    if position + len(text) > out.size:
        return STATUS_OUTPUT_FULL
    out[position : position + len(text)] = np.frombuffer(text, np.uint8)
    return position + len(text)


def decode_rows(
    tables: Any,
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
        first, last = int(offsets[row]), int(offsets[row + 1])
        position = decode_ids(tables, ids, first, last, skip_special, position, out, where)
        if position < 0:
            return position
        out_offsets[row + 1] = position
    return position
