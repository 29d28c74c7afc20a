"""What of each text goes into a model input: lengths that are kept, and the windows that cover the rest.

Both are those of tokenizers (``truncate_encodings`` and ``Encoding.truncate`` of 0.23.3, found by experiment and held
by ``tests/reference_parity/test_inputs_parity.py``), computed from lengths alone.

Twin: ``numba_nlp.reference.segment.truncate``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel

__all__ = ["LONGEST_FIRST", "ONLY_FIRST", "ONLY_SECOND", "count_windows", "keep_lengths", "list_windows"]

LONGEST_FIRST = 0
ONLY_FIRST = 1
ONLY_SECOND = 2


@kernel
def keep_lengths(first_offsets, second_offsets, room, strategy, kept_first, kept_second):
    """How many ids of each text are kept so that a row fits.

    Parameters
    ----------
    first_offsets : int64[rows + 1]
        The first text of row ``i`` has the ids ``first_offsets[i]`` to ``first_offsets[i + 1]``.
    second_offsets : int64[rows + 1] or int64[0]
        The same of the second texts; empty when there are none.
    room : int64
        Most ids of the texts of a row together, at least 0.
    strategy : int64
        ``LONGEST_FIRST``: the longer text is cut, down to the length of the shorter one; what is still too much is
        shared out in halves, of which that of the longer text is one larger where ``room`` is odd (of two equally
        long ones the second counts as longer). ``ONLY_FIRST``, ``ONLY_SECOND``: one text is cut, and keeps an id.
        With no room at all nothing is kept, whatever the strategy.
    kept_first, kept_second : int64[rows], int64[rows]
        Written.

    Returns
    -------
    int64
        The number of rows; less when the text that may be cut is too short in the row of that number.
    """
    rows = first_offsets.size - 1
    for row in range(rows):
        first = first_offsets[row + 1] - first_offsets[row]
        second = np.int64(0)
        if second_offsets.size > 0:
            second = second_offsets[row + 1] - second_offsets[row]
        excess = first + second - room
        if room == 0:
            first = np.int64(0)
            second = np.int64(0)
        elif excess > 0:
            if strategy == ONLY_FIRST:
                first -= excess
                if first <= 0:
                    return np.int64(row)
            elif strategy == ONLY_SECOND:
                second -= excess
                if second <= 0:
                    return np.int64(row)
            elif second_offsets.size == 0:
                first = np.int64(room)
            elif first <= second:
                first, second = _shared(first, room)
            else:
                second, first = _shared(second, room)
        kept_first[row] = first
        kept_second[row] = second
    return np.int64(rows)


@kernel
def _shared(shorter, room):
    """Lengths of a shorter and a longer text that do not fit together."""
    if 2 * shorter <= room:
        return shorter, room - shorter
    return room // 2, room - room // 2


@kernel
def _n_windows(length, kept, stride):
    """Windows of ``kept`` ids, each sharing ``stride`` with the one before, that cover ``length``."""
    if kept >= length:
        return np.int64(1)
    step = kept - stride
    return 1 + (length - kept + step - 1) // step


@kernel
def _window(length, kept, stride, from_end, number):
    """Start and end of a window."""
    if kept >= length:
        return np.int64(0), np.int64(length)
    moved = number * (kept - stride)
    if from_end:
        return max(length - moved - kept, np.int64(0)), length - moved
    return moved, min(moved + kept, length)


@kernel
def count_windows(first_offsets, second_offsets, kept_first, kept_second, stride, counts):
    """How many model inputs each row makes when the rest of a text goes into further windows.

    Parameters
    ----------
    first_offsets, second_offsets : int64[rows + 1], int64[rows + 1] or int64[0]
        As of :func:`keep_lengths`.
    kept_first, kept_second : int64[rows], int64[rows]
        Written by :func:`keep_lengths`.
    stride : int64
        Ids that a window shares with the one before.
    counts : int64[rows]
        Written: windows of the first text times windows of the second one.

    Returns
    -------
    int64
        The number of rows; less when ``stride`` ids or fewer are kept of a text that is cut in the row of that
        number, so that windows would never cover it.
    """
    rows = first_offsets.size - 1
    for row in range(rows):
        first = first_offsets[row + 1] - first_offsets[row]
        if kept_first[row] < first and kept_first[row] <= stride:
            return np.int64(row)
        n = _n_windows(first, kept_first[row], stride)
        if second_offsets.size > 0:
            second = second_offsets[row + 1] - second_offsets[row]
            if kept_second[row] < second and kept_second[row] <= stride:
                return np.int64(row)
            n *= _n_windows(second, kept_second[row], stride)
        counts[row] = n
    return np.int64(rows)


@kernel
def list_windows(
    first_offsets,
    second_offsets,
    kept_first,
    kept_second,
    stride,
    all_windows,
    from_end,
    second_leads,
    rows,
    first_starts,
    first_ends,
    second_starts,
    second_ends,
):
    """Write which ids of the texts each model input holds.

    Parameters
    ----------
    first_offsets, second_offsets : int64[n + 1], int64[n + 1] or int64[0]
        As of :func:`keep_lengths`.
    kept_first, kept_second : int64[n], int64[n]
        Written by :func:`keep_lengths`.
    stride : int64
        Ids that a window shares with the one before.
    all_windows : bool
        Make an input of every pair of windows; else of the first ones only.
    from_end : bool
        The first window is the end of the text, and windows go to its start.
    second_leads : bool
        The second text stands before the first one in the input.
    rows : int64[m]
        Written: the row that each input comes from. Of a row comes first the input of both first windows; then, for
        each further window of the text that leads, all windows of the other; then the further windows of the other
        with the first one of the text that leads.
    first_starts, first_ends, second_starts, second_ends : int64[m], int64[m], int64[m], int64[m]
        Written: ranges of ids; the second ones are 0, 0 when there are no second texts.

    Returns
    -------
    int64
        Number of inputs, the sum of what :func:`count_windows` wrote, or of rows without ``all_windows``.
    """
    out = np.int64(0)
    for row in range(first_offsets.size - 1):
        first_base = first_offsets[row]
        first = first_offsets[row + 1] - first_base
        second_base = np.int64(0)
        second = np.int64(0)
        if second_offsets.size > 0:
            second_base = second_offsets[row]
            second = second_offsets[row + 1] - second_base
        n_first = np.int64(1)
        n_second = np.int64(1)
        if all_windows:
            n_first = _n_windows(first, kept_first[row], stride)
            n_second = _n_windows(second, kept_second[row], stride)
        n_leading = n_second if second_leads else n_first
        n_other = n_first if second_leads else n_second
        for number in range(n_leading * n_other):
            # the numbers 1 to n_other - 1 of a plain product come last
            place = number
            if number > 0:
                place = number + n_other - 1
                if place >= n_leading * n_other:
                    place = place - n_leading * n_other + 1
            leading = place // n_other
            other = place % n_other
            start, end = _window(first, kept_first[row], stride, from_end, other if second_leads else leading)
            first_starts[out] = first_base + start
            first_ends[out] = first_base + end
            start, end = _window(second, kept_second[row], stride, from_end, leading if second_leads else other)
            second_starts[out] = second_base + start
            second_ends[out] = second_base + end
            rows[out] = row
            out += 1
    return out
