"""Model inputs laid out by a template: the ids of texts between fixed ids, padded where rows have a width.

A template is int64[parts]: ``FIRST_TEXT`` and ``SECOND_TEXT`` (each once at most) or, for everything else, any number
that is not negative. What stands at the fixed parts is in ``entries``, one value a part, so that one template lays out
ids, types, masks and spans.

Twin: ``numba_nlp.reference.segment.layout``.
"""

from __future__ import annotations

from numba_nlp._jit import kernel

__all__ = ["FIRST_TEXT", "SECOND_TEXT", "lay_marks", "lay_values"]

FIRST_TEXT = -1
SECOND_TEXT = -2


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
    n_fixed = template.size
    for part in range(template.size):
        if template[part] < 0:
            n_fixed -= 1
    for i in range(out_offsets.size - 1):
        place = out_offsets[i]
        stop = out_offsets[i + 1]
        if pad_left:
            n = n_fixed + (first_ends[i] - first_starts[i]) + (second_ends[i] - second_starts[i])
            while place < stop - n:
                out[place] = pad
                place += 1
        for part in range(template.size):
            if template[part] == FIRST_TEXT:
                for source in range(first_starts[i], first_ends[i]):
                    out[place] = first_values[source]
                    place += 1
            elif template[part] == SECOND_TEXT:
                for source in range(second_starts[i], second_ends[i]):
                    out[place] = second_values[source]
                    place += 1
            else:
                out[place] = entries[part]
                place += 1
        while place < stop:
            out[place] = pad
            place += 1
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
    n_fixed = template.size
    for part in range(template.size):
        if template[part] < 0:
            n_fixed -= 1
    for i in range(out_offsets.size - 1):
        place = out_offsets[i]
        stop = out_offsets[i + 1]
        n_first = first_ends[i] - first_starts[i]
        n_second = second_ends[i] - second_starts[i]
        if pad_left:
            while place < stop - n_fixed - n_first - n_second:
                out[place] = pad
                place += 1
        for part in range(template.size):
            count = 1
            if template[part] == FIRST_TEXT:
                count = n_first
            elif template[part] == SECOND_TEXT:
                count = n_second
            for _ in range(count):
                out[place] = entries[part]
                place += 1
        while place < stop:
            out[place] = pad
            place += 1
    return out_offsets.size - 1
