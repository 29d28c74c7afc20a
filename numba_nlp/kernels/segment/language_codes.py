"""Codes of languages at the beginning of a text, as Marian's tokenizer takes them: ``>>fra<< How are you?``.

A text that begins with ``>>`` and has ``<<`` somewhere has a code, from its beginning to the first ``<<``. The code is
one token, whatever is written in it; what is behind is a text by itself.

Twin: ``numba_nlp.reference.segment.language_codes``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables.double_array import find

__all__ = ["code_end", "split_codes"]

_OPENING, _CLOSING = 0x3E, 0x3C


@kernel
def code_end(data, start, stop):
    """End of the code that a text begins with.

    Parameters
    ----------
    data : uint8[n]
    start, stop : int64
        The text.

    Returns
    -------
    int64
        -1 when it begins with none.
    """
    if stop - start < 4 or data[start] != _OPENING or data[start + 1] != _OPENING:
        return np.int64(-1)
    for place in range(start + 2, stop - 1):
        if data[place] == _CLOSING and data[place + 1] == _CLOSING:
            return np.int64(place + 2)
    return np.int64(-1)


@kernel
def split_codes(
    code_units, unknown_id, data, seg_starts, seg_ends, seg_fixed, first_of_row, out_starts, out_ends, out_fixed,
    out_first_of_row,
):  # fmt: skip
    """Cut the codes off the texts of rows.

    Parameters
    ----------
    code_units : uint32[u]
        Double array from known codes to their ids; empty when there are none.
    unknown_id : int64
        Id of other codes.
    data : uint8[n]
    seg_starts, seg_ends, seg_fixed : int64[s], int64[s], int32[s]
        Segments of the rows (:func:`numba_nlp.kernels.segment.special.split_rows`).
    first_of_row : int64[rows + 1]
    out_starts, out_ends, out_fixed : int64[2 * s], int64[2 * s], int32[2 * s]
        Written: the segments, with codes as segments of one id; texts without bytes vanish.
    out_first_of_row : int64[rows + 1]
        Written.

    Returns
    -------
    int64
        Number of segments.
    """
    n = np.int64(0)
    for row in range(first_of_row.size - 1):
        out_first_of_row[row] = n
        for segment in range(first_of_row[row], first_of_row[row + 1]):
            start, stop, fixed = seg_starts[segment], seg_ends[segment], seg_fixed[segment]
            if fixed < 0:
                end = code_end(data, start, stop)
                if end >= 0:
                    number = np.int64(-1)
                    if code_units.size != 0:
                        number = np.int64(find(code_units, data, start, end))
                    out_starts[n] = start
                    out_ends[n] = end
                    out_fixed[n] = np.int32(number if number >= 0 else unknown_id)
                    n += 1
                    start = end
                if start >= stop:
                    continue
            out_starts[n] = start
            out_ends[n] = stop
            out_fixed[n] = fixed
            n += 1
    out_first_of_row[first_of_row.size - 1] = n
    return n
