"""Validation of UTF-8, once, at the edge; everything behind it trusts its bytes.

Twin: ``numba_nlp.reference.tables.utf8``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import raw_load64

_HIGH_BITS = np.uint64(0x8080808080808080)
_NO_BITS = np.uint64(0)


@kernel
def validate_utf8(data, start, stop):
    """Position of the first sequence in ``data[start:stop]`` that is not UTF-8, or -1.

    The rule is the Unicode standard's (table 3-7), as in Python's strict decoder: no surrogates, no overlong forms,
    nothing above U+10FFFF. A sequence cut off by ``stop`` is bad at its first byte.

    Parameters
    ----------
    data : uint8[n]
    start, stop : int64
        Byte range, ``0 <= start <= stop <= n``.

    Returns
    -------
    int64
        Position in ``data`` (what Python reports as ``UnicodeDecodeError.start``), or -1 when all is valid.

    Notes
    -----
    O(stop - start), eight bytes a step over ASCII.
    """
    position = start
    while position < stop:
        while position + 32 <= stop:
            bits = (
                raw_load64(data, position)
                | raw_load64(data, position + 8)
                | raw_load64(data, position + 16)
                | raw_load64(data, position + 24)
            )
            if bits & _HIGH_BITS != _NO_BITS:
                break
            position += 32
        while position + 8 <= stop and raw_load64(data, position) & _HIGH_BITS == _NO_BITS:
            position += 8
        while position < stop and data[position] < 0x80:
            position += 1
        # Non-ASCII text comes in runs: stay here until the next ASCII byte.
        while position < stop and data[position] >= 0x80:
            length = sequence_length(data, position, stop)
            if length == 0:
                return np.int64(position)
            position += length
    return np.int64(-1)


@kernel
def sequence_length(data, position, stop):
    """Length of the well-formed UTF-8 sequence of two to four bytes at ``position``, or 0 when there is none.

    Parameters
    ----------
    data : uint8[n]
    position, stop : int64
        ``position < stop <= n``; the sequence must end at ``stop`` or before.

    Returns
    -------
    int64
    """
    lead = np.int64(data[position])
    if lead < 0xC2 or lead > 0xF4:
        return 0
    # Only the second byte has bounds that depend on the lead byte.
    low = np.int64(0x80)
    high = np.int64(0xBF)
    if lead < 0xE0:
        length = 2
    elif lead < 0xF0:
        length = 3
        if lead == 0xE0:
            low = np.int64(0xA0)
        elif lead == 0xED:
            high = np.int64(0x9F)
    else:
        length = 4
        if lead == 0xF0:
            low = np.int64(0x90)
        elif lead == 0xF4:
            high = np.int64(0x8F)
    if position + length > stop:
        return 0
    second = np.int64(data[position + 1])
    if second < low or second > high:
        return 0
    for i in range(2, length):
        if data[position + i] & 0xC0 != 0x80:
            return 0
    return length


@kernel
def validate_rows(data, starts, ends, first_row, bad_byte):
    """First row at or after ``first_row`` that is not UTF-8, or -1.

    Parameters
    ----------
    data : uint8[n]
    starts, ends : int64[rows]
        Row ``i`` is ``data[starts[i]:ends[i]]``.
    first_row : int64
    bad_byte : int64[1]
        Written: offset, within the row, of its first bad sequence.

    Returns
    -------
    int64
        Number of the row, or -1 when all rows are valid.
    """
    for row in range(first_row, starts.size):
        position = validate_utf8(data, starts[row], ends[row])
        if position >= 0:
            bad_byte[0] = position - starts[row]
            return np.int64(row)
    return np.int64(-1)
