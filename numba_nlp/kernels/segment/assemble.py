"""Ids to model inputs: padded batches, chosen rows, and rows joined by a separator.

Twin: ``numba_nlp.reference.segment.assemble``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel


@kernel
def pad_rows(values, offsets, pad_id, limit, pad_left, keep_end, input_ids, attention_mask):
    """Lay rows of ids out as a matrix, cutting each to a limit and filling it to the width.

    Parameters
    ----------
    values : int32[m]
    offsets : int64[rows + 1]
        Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.
    pad_id : int64
    limit : int64
        Most ids of a row that are kept, ``limit <= width``.
    pad_left : bool
        Fill before the ids instead of behind them.
    keep_end : bool
        Of a row that is too long keep the end instead of the start.
    input_ids, attention_mask : int64[rows, width]
        Written whole; the mask is 1 at ids and 0 at padding.

    Returns
    -------
    int64
        Number of rows that were cut.
    """
    width = input_ids.shape[1]
    n_cut = np.int64(0)
    for row in range(offsets.size - 1):
        first = offsets[row]
        n = offsets[row + 1] - first
        if n > limit:
            n_cut += 1
            if keep_end:
                first += n - limit
            n = np.int64(limit)
        begin = width - n if pad_left else 0
        for i in range(begin):
            input_ids[row, i] = pad_id
            attention_mask[row, i] = 0
        for i in range(n):
            input_ids[row, begin + i] = values[first + i]
            attention_mask[row, begin + i] = 1
        for i in range(begin + n, width):
            input_ids[row, i] = pad_id
            attention_mask[row, i] = 0
    return n_cut


@kernel
def take_rows(values, offsets, indices, out_offsets, out):
    """Copy chosen rows one behind the other.

    Parameters
    ----------
    values : T[m]
    offsets : int64[rows + 1]
        Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``.
    indices : int64[k]
        Rows to copy, each in ``[0, rows)``, in any order and number.
    out_offsets : int64[k + 1]
        Where the copies start in ``out``, from 0.
    out : T[out_offsets[k]]
        Written.

    Returns
    -------
    int64
        Number of copied values.
    """
    for i in range(indices.size):
        first = offsets[indices[i]]
        begin = out_offsets[i]
        for j in range(out_offsets[i + 1] - begin):
            out[begin + j] = values[first + j]
    return out_offsets[indices.size]


@kernel
def join_rows(values, offsets, separator_id, separate_first, out):
    """Join rows to one stream of ids with a separator between each two.

    Parameters
    ----------
    values : int32[m]
    offsets : int64[rows + 1]
        Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``; every id fits the type of ``out``.
    separator_id : int64
    separate_first : bool
        Put a separator before the first row too: the stream goes on.
    out : uint16[n] or uint32[n]
        Written; ``n >= offsets[rows] - offsets[0] + rows``.

    Returns
    -------
    int64
        Number of written ids.
    """
    n = np.int64(0)
    for row in range(offsets.size - 1):
        if row > 0 or separate_first:
            out[n] = separator_id
            n += 1
        for i in range(offsets[row], offsets[row + 1]):
            out[n] = values[i]
            n += 1
    return n
