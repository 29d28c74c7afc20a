"""Ids back to bytes: each id's piece, one behind the other.

Twin: ``numba_nlp.reference.segment.decode``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL, STATUS_UNKNOWN_ID

__all__ = ["decode_ids", "decode_rows", "decoded_length"]

#: Values of ``piece_kinds``.
KIND_CONTROL = 2
KIND_ABSENT = 255

#: Bytes of a copy in one step; nearly every piece is shorter, and a branch guessed wrong costs more than the move.
_STEP = 16


@kernel
def decoded_length(piece_offsets, piece_kinds, ids, start, stop, skip_special, where):
    """Number of bytes that ``ids[start:stop]`` decode to.

    Parameters
    ----------
    piece_offsets, piece_kinds : int64[V + 1], uint8[V]
        Byte ranges and kinds of the pieces (docs/data_contracts.md).
    ids : int32[m]
    start, stop : int64
    skip_special : int64
        1 leaves out control tokens (kind 2), 0 keeps them. Added tokens that are not special always stay.
    where : int64[1]
        Written on failure: index into ``ids``.

    Returns
    -------
    int64
        Bytes, or ``STATUS_UNKNOWN_ID`` for an id outside ``[0, V)`` or one that is absent (kind 255).
    """
    n_pieces = piece_kinds.size
    total = np.int64(0)
    for i in range(start, stop):
        piece = np.int64(ids[i])
        if piece < 0 or piece >= n_pieces:
            where[0] = i
            return STATUS_UNKNOWN_ID
        kind = piece_kinds[piece]
        if kind == KIND_ABSENT:
            where[0] = i
            return STATUS_UNKNOWN_ID
        if kind != KIND_CONTROL or skip_special == 0:
            total += piece_offsets[piece + 1] - piece_offsets[piece]
    return total


@kernel
def decode_ids(piece_bytes, piece_offsets, piece_kinds, ids, start, stop, skip_special, position, out, where):
    """Write the bytes of ``ids[start:stop]`` to ``out[position:]``.

    Parameters
    ----------
    piece_bytes, piece_offsets, piece_kinds : uint8[n], int64[V + 1], uint8[V]
        The pieces (docs/data_contracts.md).
    ids : int32[m]
    start, stop : int64
    skip_special : int64
        1 leaves out control tokens (kind 2), 0 keeps them.
    position : int64
        Where in ``out`` to begin.
    out : uint8[k]
        Written. Sixteen bytes more than :func:`decoded_length` let pieces be copied in one step up to the end;
        bytes behind the result may be overwritten.
    where : int64[1]
        Written on failure: index into ``ids``.

    Returns
    -------
    int64
        End of the written bytes in ``out``, ``STATUS_UNKNOWN_ID``, or ``STATUS_OUTPUT_FULL``.
    """
    n_pieces = np.int64(piece_kinds.size)
    read_slack = np.int64(piece_bytes.size) - _STEP
    write_slack = np.int64(out.size) - _STEP
    for i in range(start, stop):
        piece = np.int64(ids[i])
        if piece < 0 or piece >= n_pieces:
            where[0] = i
            return STATUS_UNKNOWN_ID
        kind = piece_kinds[piece]
        if kind == KIND_ABSENT:
            where[0] = i
            return STATUS_UNKNOWN_ID
        if kind == KIND_CONTROL and skip_special != 0:
            continue
        first = piece_offsets[piece]
        n = piece_offsets[piece + 1] - first
        if n <= _STEP and first <= read_slack and position <= write_slack:
            _copy_step(piece_bytes, np.uint64(first), out, np.uint64(position))
        else:
            if position + n > out.size:
                where[0] = i
                return STATUS_OUTPUT_FULL
            for k in range(n):
                out[position + k] = piece_bytes[first + k]
        position += n
    return position


@kernel
def decode_rows(piece_bytes, piece_offsets, piece_kinds, ids, offsets, skip_special, out, out_offsets, where):
    """Decode every row of a ragged array.

    Parameters
    ----------
    piece_bytes, piece_offsets, piece_kinds : uint8[n], int64[V + 1], uint8[V]
        The pieces (docs/data_contracts.md).
    ids, offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``.
    skip_special : int64
        1 leaves out control tokens (kind 2), 0 keeps them.
    out : uint8[k]
        Written; as in :func:`decode_ids`.
    out_offsets : int64[rows + 1]
        Written, from 0: text of row ``r`` is ``out[out_offsets[r]:out_offsets[r + 1]]``.
    where : int64[1]
        Written on failure: index into ``ids``.

    Returns
    -------
    int64
        Number of written bytes, ``STATUS_UNKNOWN_ID``, or ``STATUS_OUTPUT_FULL``.
    """
    position = np.int64(0)
    out_offsets[0] = 0
    for row in range(offsets.size - 1):
        position = decode_ids(
            piece_bytes,
            piece_offsets,
            piece_kinds,
            ids,
            offsets[row],
            offsets[row + 1],
            skip_special,
            position,
            out,
            where,
        )
        if position < 0:
            return position
        out_offsets[row + 1] = position
    return position


@kernel
def _copy_step(source, first, target, position):
    """Copy 16 bytes. All loads come before all stores and indices are unsigned, so LLVM makes one move of each."""
    byte_0 = source[first]
    byte_1 = source[first + np.uint64(1)]
    byte_2 = source[first + np.uint64(2)]
    byte_3 = source[first + np.uint64(3)]
    byte_4 = source[first + np.uint64(4)]
    byte_5 = source[first + np.uint64(5)]
    byte_6 = source[first + np.uint64(6)]
    byte_7 = source[first + np.uint64(7)]
    byte_8 = source[first + np.uint64(8)]
    byte_9 = source[first + np.uint64(9)]
    byte_10 = source[first + np.uint64(10)]
    byte_11 = source[first + np.uint64(11)]
    byte_12 = source[first + np.uint64(12)]
    byte_13 = source[first + np.uint64(13)]
    byte_14 = source[first + np.uint64(14)]
    byte_15 = source[first + np.uint64(15)]
    target[position] = byte_0
    target[position + np.uint64(1)] = byte_1
    target[position + np.uint64(2)] = byte_2
    target[position + np.uint64(3)] = byte_3
    target[position + np.uint64(4)] = byte_4
    target[position + np.uint64(5)] = byte_5
    target[position + np.uint64(6)] = byte_6
    target[position + np.uint64(7)] = byte_7
    target[position + np.uint64(8)] = byte_8
    target[position + np.uint64(9)] = byte_9
    target[position + np.uint64(10)] = byte_10
    target[position + np.uint64(11)] = byte_11
    target[position + np.uint64(12)] = byte_12
    target[position + np.uint64(13)] = byte_13
    target[position + np.uint64(14)] = byte_14
    target[position + np.uint64(15)] = byte_15
