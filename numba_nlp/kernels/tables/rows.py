"""Rows over one buffer of bytes: the lines of a file, and rows copied together.

Twin: ``numba_nlp.reference.tables.rows``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.words import raw_load64

_LINE_FEEDS = np.uint64(0x0A0A0A0A0A0A0A0A)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH_BITS = np.uint64(0x8080808080808080)


@kernel
def count_lines(data):
    r"""Count the lines of a buffer: its line feeds, plus one if bytes follow the last of them.

    Parameters
    ----------
    data : uint8[n]

    Returns
    -------
    int64
    """
    n = np.int64(0)
    for i in range(data.size):
        n += data[i] == 0x0A
    if data.size > 0 and data[data.size - 1] != 0x0A:
        n += 1
    return n


@kernel
def find_lines(data, strip, offsets, ends):
    r"""Bounds of the lines of a buffer.

    Parameters
    ----------
    data : uint8[n]
    strip : bool
        End each line before its ``\n`` or ``\r\n``.
    offsets : int64[rows + 1]
        Written: where each line starts, and ``n``. ``rows`` comes from :func:`count_lines`.
    ends : int64[rows]
        Written: where each line ends.

    Returns
    -------
    int64
        Number of lines.
    """
    n_bytes = data.size
    row = 0
    line_start = 0
    position = 0
    while position < n_bytes:
        if position + 8 <= n_bytes:
            # A byte of `different` is zero where there is a line feed; adding 0x7F to its low bits then leaves the
            # high bit clear (Warren, Hacker's Delight, 6-1). No carry leaves a byte.
            different = raw_load64(data, position) ^ _LINE_FEEDS
            if (((different & _LOW_BITS) + _LOW_BITS) | different) & _HIGH_BITS == _HIGH_BITS:
                position += 8
                continue
        stop = min(position + 8, n_bytes)
        while position < stop:
            if data[position] == 0x0A:
                end = position + 1
                if strip:
                    end = position
                    if end > line_start and data[end - 1] == 0x0D:
                        end -= 1
                offsets[row] = line_start
                ends[row] = end
                row += 1
                line_start = position + 1
            position += 1
    if line_start < n_bytes:
        offsets[row] = line_start
        ends[row] = n_bytes
        row += 1
    offsets[row] = n_bytes
    return row


@kernel
def copy_rows(data, starts, ends, offsets, out):
    """Copy rows together, so that each starts where its predecessor ends.

    Parameters
    ----------
    data : uint8[n]
    starts, ends : int64[rows]
        Row ``i`` is ``data[starts[i]:ends[i]]``.
    offsets : int64[rows + 1]
        Where the rows start in ``out``; ``offsets[i + 1] - offsets[i] == ends[i] - starts[i]``.
    out : uint8[offsets[rows]]
        Written.

    Returns
    -------
    int64
        Number of rows.
    """
    for row in range(starts.size):
        start = starts[row]
        first = offsets[row]
        for i in range(ends[row] - start):
            out[first + i] = data[start + i]
    return starts.size
