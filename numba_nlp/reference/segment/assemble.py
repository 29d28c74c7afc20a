"""Twin of ``kernels/segment/assemble.py`` with lists."""

from __future__ import annotations

from itertools import pairwise


def _rows(values, offsets):
    return [list(values[start:stop]) for start, stop in pairwise(offsets)]


def pad_rows(values, offsets, pad_id, limit, pad_left, keep_end, input_ids, attention_mask):
    """Lay rows of ids out as a matrix; returns the number of rows that were cut."""
    width = input_ids.shape[1]
    n_cut = 0
    for row, ids in enumerate(_rows(values, offsets)):
        n_cut += len(ids) > limit
        kept = ids[max(len(ids) - limit, 0) :] if keep_end else ids[:limit]
        filling = [pad_id] * (width - len(kept))
        is_id = [1] * len(kept)
        no_id = [0] * len(filling)
        input_ids[row] = filling + kept if pad_left else kept + filling
        attention_mask[row] = no_id + is_id if pad_left else is_id + no_id
    return n_cut


def take_rows(values, offsets, indices, out_offsets, out):
    """Copy chosen rows one behind the other; returns the number of values."""
    rows = _rows(values, offsets)
    taken = [value for index in indices for value in rows[index]]
    out[:] = taken
    return len(taken)


def join_rows(values, offsets, separator_id, separate_first, out):
    """Join rows to one stream with a separator between each two; returns its length."""
    stream = []
    for row, ids in enumerate(_rows(values, offsets)):
        if row > 0 or separate_first:
            stream.append(separator_id)
        stream.extend(ids)
    out[: len(stream)] = stream
    return len(stream)
