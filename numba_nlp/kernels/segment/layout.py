"""Model inputs laid out by a template: the ids of texts between fixed ids, padded where rows have a width.

A template is int64[parts]: ``FIRST_TEXT`` and ``SECOND_TEXT`` (each once at most) or, for everything else, any number
that is not negative. What stands at the fixed parts is in ``entries``, one value a part, so that one template lays out
ids, types, masks and spans.

Twin: ``numba_nlp.reference.segment.layout``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel

__all__ = ["FIRST_TEXT", "SECOND_TEXT", "lay_marks", "lay_values"]

FIRST_TEXT = -1
SECOND_TEXT = -2


@inlined
def _fixed_parts(template):
    """Parts that are no text."""
    n = np.int64(0)
    for part in range(template.size):
        if template[part] >= 0:
            n += 1
    return n


@inlined
def _fill(out, start, n, value):
    """Write one value ``n`` times."""
    for k in range(n):
        out[np.uint64(start + k)] = value


@inlined
def _copy(values, source, n, out, start):
    """Copy ``n`` values."""
    for k in range(n):
        out[np.uint64(start + k)] = values[np.uint64(source + k)]


@kernel
def lay_values(
    template,
    entries,
    first_values,
    second_values,
    first_starts,
    first_ends,
    second_starts,
    second_ends,
    pad,
    pad_left,
    out_offsets,
    out,
):
    """Lay out what each id of the texts has of its own: the ids themselves, spans, word numbers.

    Parameters
    ----------
    template, entries : int64[parts], int64[parts]
        Entries at the places of texts are not read.
    first_values, second_values : T[k], T[l]
        The second one is not read when the template has no second text.
    first_starts, first_ends, second_starts, second_ends : int64[n], int64[n], int64[n], int64[n]
        Ranges of values of each input.
    pad : int64
        Stands where an input has no part.
    pad_left : bool
        Fill before the input instead of behind it.
    out_offsets : int64[n + 1]
        Input ``i`` goes to ``out[out_offsets[i]:out_offsets[i + 1]]``, which is at least as long as it.
    out : int32[m] or int64[m]
        Written.

    Returns
    -------
    int64
        Number of inputs.
    """
    n_fixed = _fixed_parts(template)
    for i in range(out_offsets.size - 1):
        n_first = first_ends[i] - first_starts[i]
        n_second = second_ends[i] - second_starts[i]
        place = out_offsets[i]
        n_pad = out_offsets[i + 1] - place - n_fixed - n_first - n_second
        if pad_left:
            _fill(out, place, n_pad, pad)
            place += n_pad
        for part in range(template.size):
            if template[part] == FIRST_TEXT:
                _copy(first_values, first_starts[i], n_first, out, place)
                place += n_first
            elif template[part] == SECOND_TEXT:
                _copy(second_values, second_starts[i], n_second, out, place)
                place += n_second
            else:
                out[place] = entries[part]
                place += 1
        if not pad_left:
            _fill(out, place, n_pad, pad)
    return out_offsets.size - 1


@kernel
def lay_marks(template, entries, first_starts, first_ends, second_starts, second_ends, pad, pad_left, out_offsets, out):
    """Lay out what all ids of a text have in common: types, masks, which of the texts it is.

    Parameters
    ----------
    template, entries : int64[parts], int64[parts]
        The entry at the place of a text stands at each of its ids.
    first_starts, first_ends, second_starts, second_ends : int64[n], int64[n], int64[n], int64[n]
        Ranges of ids of each input.
    pad, pad_left : int64, bool
        As of :func:`lay_values`.
    out_offsets : int64[n + 1]
        As of :func:`lay_values`.
    out : int32[m] or int64[m]
        Written.

    Returns
    -------
    int64
        Number of inputs.
    """
    n_fixed = _fixed_parts(template)
    for i in range(out_offsets.size - 1):
        n_first = first_ends[i] - first_starts[i]
        n_second = second_ends[i] - second_starts[i]
        place = out_offsets[i]
        n_pad = out_offsets[i + 1] - place - n_fixed - n_first - n_second
        if pad_left:
            _fill(out, place, n_pad, pad)
            place += n_pad
        for part in range(template.size):
            if template[part] == FIRST_TEXT:
                _fill(out, place, n_first, entries[part])
                place += n_first
            elif template[part] == SECOND_TEXT:
                _fill(out, place, n_second, entries[part])
                place += n_second
            else:
                out[place] = entries[part]
                place += 1
        if not pad_left:
            _fill(out, place, n_pad, pad)
    return out_offsets.size - 1
