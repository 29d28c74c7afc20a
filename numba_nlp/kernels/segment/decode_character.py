"""Character BPE ids back to text: which form of a token stands where, and what is done to the text as a whole.

What a token is written as depends on whether it is the last one of the text: the mark of the end of a word is a space
before others and nothing there. A vocabulary holds both forms of each of its V tokens, as pieces 0 to V - 1 (before
others) and V to 2 V - 1 (last), and with the last id of each row moved up by V the kernels of
:mod:`numba_nlp.kernels.segment.decode` do the rest.

Twin: ``numba_nlp.reference.segment.decode_character``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.code_points import is_white_space
from numba_nlp.kernels.segment.decode import KIND_CONTROL

__all__ = ["choose_last_forms", "finish_rows"]


@kernel
def choose_last_forms(piece_kinds, ids, offsets, skip_special, forms):
    """Numbers of the forms that rows of ids are written with.

    Parameters
    ----------
    piece_kinds : uint8[V]
    ids, offsets : int32[m], int64[rows + 1]
        Ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``.
    skip_special : int64
        1 leaves out control tokens (kind 2), so that another one may be the last.
    forms : int32[m]
        Written: the id, or ``V + id`` for the last one of a row; -1 for an id outside ``[0, V)``.

    Returns
    -------
    int64
        Number of rows.
    """
    n_pieces = np.int64(piece_kinds.size)
    for row in range(offsets.size - 1):
        is_last = True
        for i in range(offsets[row + 1] - 1, offsets[row] - 1, -1):
            piece = np.int64(ids[i])
            if piece < 0 or piece >= n_pieces:
                forms[i] = np.int32(-1)
                continue
            forms[i] = np.int32(piece)
            if is_last and not (skip_special != 0 and piece_kinds[piece] == KIND_CONTROL):
                forms[i] = np.int32(n_pieces + piece)
                is_last = False
    return np.int64(offsets.size - 1)


@kernel
def _space_length_at(data, position, stop):
    """Bytes of the white space character that starts at ``position``, by ``str.isspace``; 0 when there is none."""
    byte = np.int64(data[position])
    if byte < 0x80:
        return np.int64(byte == 0x20 or (byte >= 0x09 and byte <= 0x0D) or (byte >= 0x1C and byte <= 0x1F))
    if byte == 0xC2 and position + 1 < stop:
        second = np.int64(data[position + 1])
        return np.int64(2 if second == 0x85 or second == 0xA0 else 0)
    if byte >= 0xE1 and byte <= 0xE3 and position + 2 < stop:
        second, third = np.int64(data[position + 1]), np.int64(data[position + 2])
        if second & 0xC0 == 0x80 and third & 0xC0 == 0x80:
            code_point = (byte & 0x0F) << 12 | (second & 0x3F) << 6 | (third & 0x3F)
            return np.int64(3 if is_white_space(code_point) else 0)
    return np.int64(0)


@kernel
def finish_rows(data, ends, suffix, strips):
    """Write spaces for a mark, and take white space off the ends of rows.

    Parameters
    ----------
    data : uint8[n]
        Rows of text, UTF-8 or not; changed.
    ends : int64[rows + 1]
        Row ``r`` is ``data[ends[r]:ends[r + 1]]``; changed, rows become shorter.
    suffix : uint8[k]
        Every place of it in a row becomes a space; empty for none.
    strips : int64
        1 takes white space (``str.strip``) off both ends of each row.

    Returns
    -------
    int64
        Bytes of all rows.
    """
    out = ends[0]
    start = ends[0]
    for row in range(ends.size - 1):
        stop = ends[row + 1]
        first = out
        position = start
        while position < stop:
            is_mark = suffix.size > 0 and position + suffix.size <= stop
            k = 0
            while is_mark and k < suffix.size:
                is_mark = data[position + k] == suffix[k]
                k += 1
            if is_mark:
                data[out] = 0x20
                position += suffix.size
            else:
                data[out] = data[position]
                position += 1
            out += 1
        if strips != 0:
            begin = first
            while begin < out:
                n = _space_length_at(data, begin, out)
                if n == 0:
                    break
                begin += n
            is_space = True
            while is_space and out > begin:
                is_space = False
                for n in range(1, 4):
                    if out - n >= begin and _space_length_at(data, out - n, out) == n:
                        out -= n
                        is_space = True
                        break
            for i in range(out - begin):
                data[first + i] = data[begin + i]
            out = first + out - begin
        start = stop
        ends[row + 1] = out
    return out
