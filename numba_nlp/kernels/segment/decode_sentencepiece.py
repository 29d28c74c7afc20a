"""Ids back to text as SentencePiece does it.

Pieces are written one behind the other, U+2581 as a space. Control pieces are left out. Byte pieces in a row are read
as UTF-8; each byte that is no part of a character becomes U+FFFD. The unknown piece is written as the model says. A
model whose normaliser adds or removes spaces at the beginning has its decoder leave one out: U+2581 at the beginning
of the first piece goes; where repeated spaces are removed too, that of every piece until some text is there.

The algorithm is that of ``SentencePieceProcessor::Decode`` (sentencepiece 0.2.3) for ids. What its denormaliser does
afterwards is :func:`numba_nlp.kernels.segment.normalize_charsmap.normalize_rows` with the denormaliser's tables.

Twin: ``numba_nlp.reference.segment.decode_sentencepiece``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL, STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment.decode import _copy_step
from numba_nlp.kernels.tables.utf8 import sequence_length

__all__ = ["DecoderTables", "decode_ids", "decode_rows", "decoded_room", "new_tables"]

# Values of ``piece_kinds``.
KIND_UNKNOWN = 1
KIND_CONTROL = 2
KIND_BYTE = 5
KIND_ABSENT = 255

#: A U+2581 at the beginning of the text is left out ...
DROP_FIRST_SPACE = 1
#: ... of one piece after the other, until some text is there.
DROP_FIRST_SPACES = 2

#: U+2581, which stands for a space.
_MARK = (0xE2, 0x96, 0x81)
_REPLACEMENT = (0xEF, 0xBF, 0xBD)
#: Bytes of a copy in one step.
_STEP = 16
#: Bytes of a character, at most.
_CHARACTER = 4


class DecoderTables(NamedTuple):
    """What the decoder reads; made by :func:`new_tables`."""

    text_bytes: Any  # uint8[n + 16]: what pieces are written as, padded
    text_offsets: Any  # int64[V + 1]
    kinds: Any  # uint8[V]
    begins_with_space: Any  # uint8[V]: 1 for pieces that begin with U+2581
    settings: Any  # int64[1]: DROP_FIRST_SPACE, DROP_FIRST_SPACES


def new_tables(
    piece_bytes: NDArray[np.uint8],
    piece_offsets: NDArray[np.int64],
    piece_kinds: NDArray[np.uint8],
    unk_surface: bytes,
    drop: int,
) -> DecoderTables:
    """Make the tables of the decoder.

    Parameters
    ----------
    piece_bytes, piece_offsets, piece_kinds : uint8[n], int64[V + 1], uint8[V]
        The pieces as the model file has them (docs/data_contracts.md).
    unk_surface : bytes
        What the unknown piece is written as.
    drop : int
        ``DROP_FIRST_SPACE`` for a normaliser with ``add_dummy_prefix``, ``DROP_FIRST_SPACES`` for one with
        ``remove_extra_whitespaces`` (with or without the other), 0 for one with neither.

    Returns
    -------
    DecoderTables
    """
    surface = np.frombuffer(unk_surface, np.uint8)
    # Only the unknown piece can become longer.
    text_bytes = np.zeros(piece_bytes.size + surface.size + _STEP, np.uint8)
    text_offsets = np.zeros(piece_offsets.size, np.int64)
    begins = np.zeros(piece_kinds.size, np.uint8)
    n = write_pieces(piece_bytes, piece_offsets, piece_kinds, surface, text_bytes, text_offsets, begins)
    settings = np.array([drop], np.int64)
    made = DecoderTables(text_bytes[: n + _STEP], text_offsets, piece_kinds, begins, settings)
    for array in made:
        array.flags.writeable = False
    return made


@kernel
def write_pieces(piece_bytes, piece_offsets, piece_kinds, unk_surface, text_bytes, text_offsets, begins_with_space):
    """Write what each piece becomes in decoded text.

    Parameters
    ----------
    piece_bytes, piece_offsets, piece_kinds : uint8[n], int64[V + 1], uint8[V]
        The pieces as the model file has them; one unknown piece.
    unk_surface : uint8[k]
    text_bytes : uint8[n + k]
        Written: the byte of a byte piece, ``unk_surface`` of the unknown piece, a control piece as it is, others with
        a space for each U+2581.
    text_offsets : int64[V + 1]
        Written.
    begins_with_space : uint8[V]
        Written: 1 for pieces, not control or unknown ones, that begin with U+2581.

    Returns
    -------
    int64
        Number of bytes written to ``text_bytes``.
    """
    n = np.int64(0)
    text_offsets[0] = 0
    for piece in range(piece_kinds.size):
        i = piece_offsets[piece]
        stop = piece_offsets[piece + 1]
        kind = piece_kinds[piece]
        begins_with_space[piece] = 0
        if kind == KIND_UNKNOWN:
            for k in range(unk_surface.size):
                text_bytes[n + k] = unk_surface[k]
            n += unk_surface.size
        elif kind == KIND_BYTE:
            # Written <0x0A>.
            text_bytes[n] = _digit(piece_bytes[i + 3]) << 4 | _digit(piece_bytes[i + 4])
            n += 1
        else:
            if kind != KIND_CONTROL and _is_mark(piece_bytes, i, stop):
                begins_with_space[piece] = 1
            while i < stop:
                if kind != KIND_CONTROL and _is_mark(piece_bytes, i, stop):
                    text_bytes[n] = 0x20
                    i += 3
                else:
                    text_bytes[n] = piece_bytes[i]
                    i += 1
                n += 1
        text_offsets[piece + 1] = n
    return n


@inlined
def _digit(character):
    """Value of a hexadecimal digit, 0 to 9 or A to F."""
    code = np.int64(character)
    return code - 0x30 if code < 0x41 else code - 0x37


@inlined
def _is_mark(data, i, stop):
    """Whether U+2581 stands at ``i``."""
    return i + 3 <= stop and data[i] == _MARK[0] and data[i + 1] == _MARK[1] and data[i + 2] == _MARK[2]


@kernel
def decoded_room(tables, ids, start, stop, where):
    """Room in bytes that :func:`decode_ids` needs for ``ids[start:stop]`` at most.

    Parameters
    ----------
    tables : DecoderTables
    ids : int32[m]
    start, stop : int64
    where : int64[1]
        Written on failure: index into ``ids``.

    Returns
    -------
    int64
        Bytes, or ``STATUS_UNKNOWN_ID`` for an id outside ``[0, V)`` or one that is absent (kind 255).
    """
    n_pieces = np.int64(tables.kinds.size)
    total = np.int64(_STEP)
    for i in range(start, stop):
        piece = np.int64(ids[i])
        if piece < 0 or piece >= n_pieces or tables.kinds[piece] == KIND_ABSENT:
            where[0] = i
            return np.int64(STATUS_UNKNOWN_ID)
        # A byte by itself is written as U+FFFD.
        total += 3 if tables.kinds[piece] == KIND_BYTE else tables.text_offsets[piece + 1] - tables.text_offsets[piece]
    return total


@kernel
def decode_ids(tables, ids, start, stop, skip_special, position, out, where):
    """Write the text of ``ids[start:stop]``, one row, to ``out[position:]``.

    Parameters
    ----------
    tables : DecoderTables
    ids : int32[m]
    start, stop : int64
    skip_special : int64
        1 leaves out control pieces, as sentencepiece always does; 0 writes them as they are.
    position : int64
        Where in ``out`` to begin.
    out : uint8[k]
        Written; room for :func:`decoded_room` from ``position`` on is always enough. Bytes behind the result may be
        overwritten.
    where : int64[1]
        Written on failure: index into ``ids``.

    Returns
    -------
    int64
        End of the written bytes in ``out``, ``STATUS_UNKNOWN_ID``, or ``STATUS_OUTPUT_FULL``.
    """
    n_pieces = np.int64(tables.kinds.size)
    begin = position
    drop = tables.settings[0]
    i = np.int64(start)
    while i < stop:
        piece = np.int64(ids[i])
        if piece < 0 or piece >= n_pieces or tables.kinds[piece] == KIND_ABSENT:
            where[0] = i
            return np.int64(STATUS_UNKNOWN_ID)
        kind = tables.kinds[piece]
        if kind == KIND_CONTROL and skip_special != 0:
            i += 1
            continue
        if kind == KIND_BYTE:
            i, position = _put_bytes(tables, ids, i, stop, position, out)
            if position < 0:
                where[0] = i
                return position
            continue
        first = tables.text_offsets[piece]
        n = tables.text_offsets[piece + 1] - first
        if drop != 0:
            if position != begin:
                drop = np.int64(0)
            elif tables.begins_with_space[piece] != 0:
                first += 1
                n -= 1
                if drop == DROP_FIRST_SPACE:
                    drop = np.int64(0)
        if position + n > out.size:
            where[0] = i
            return np.int64(STATUS_OUTPUT_FULL)
        if n <= _STEP and position + _STEP <= out.size:
            _copy_step(tables.text_bytes, np.uint64(first), out, np.uint64(position))
        else:
            for k in range(n):
                out[position + k] = tables.text_bytes[first + k]
        position += n
        i += 1
    return position


@inlined
def _put_bytes(tables, ids, start, stop, position, out):
    """Write the byte pieces from ``ids[start]`` on, each character once it is whole, each other byte as U+FFFD.

    Returns where in ``ids`` they end and where in ``out``; an index and ``STATUS_OUTPUT_FULL`` where they do not fit.
    """
    i = start
    while i < stop and _is_byte(tables, ids, i):
        if position + _CHARACTER > out.size:
            return i, np.int64(STATUS_OUTPUT_FULL)
        # The bytes of a character are written where they belong, then checked.
        n = np.int64(0)
        while n < _CHARACTER and i + n < stop and _is_byte(tables, ids, i + n):
            out[position + n] = tables.text_bytes[tables.text_offsets[ids[i + n]]]
            n += 1
        length = np.int64(1 if out[position] < 0x80 else sequence_length(out, position, position + n))
        i += max(length, 1)
        if length == 0:
            out[position] = _REPLACEMENT[0]
            out[position + 1] = _REPLACEMENT[1]
            out[position + 2] = _REPLACEMENT[2]
            length = np.int64(3)
        position += length
    return i, np.int64(position)


@inlined
def _is_byte(tables, ids, i):
    piece = np.int64(ids[i])
    return piece >= 0 and piece < tables.kinds.size and tables.kinds[piece] == KIND_BYTE


@kernel
def decode_rows(tables, ids, offsets, skip_special, out, out_offsets, where):
    """Decode every row of a ragged array.

    Parameters
    ----------
    tables : DecoderTables
    ids, offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``.
    skip_special : int64
        1 leaves out control pieces, 0 writes them as they are.
    out : uint8[k]
        Written; as in :func:`decode_ids`, room for all rows.
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
        position = decode_ids(tables, ids, offsets[row], offsets[row + 1], skip_special, position, out, where)
        if position < 0:
            return position
        out_offsets[row + 1] = position
    return position
