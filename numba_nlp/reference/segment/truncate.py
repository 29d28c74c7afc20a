"""Twin of ``kernels/segment/truncate.py``: removes ids one after the other, and cuts lists."""

from __future__ import annotations

from itertools import pairwise, product

LONGEST_FIRST = 0
ONLY_FIRST = 1
ONLY_SECOND = 2


def _lengths(first_offsets, second_offsets):
    first = [stop - start for start, stop in pairwise(first_offsets)]
    second = [stop - start for start, stop in pairwise(second_offsets)] or [0] * len(first)
    return list(zip(map(int, first), map(int, second), strict=True))


def _kept(first, second, is_pair, room, strategy):
    """Lengths that are kept, or None when the text that may be cut is too short."""
    if room == 0:
        return 0, 0
    while first + second > room:
        if strategy == ONLY_FIRST:
            first -= 1
        elif strategy == ONLY_SECOND:
            second -= 1
        elif not is_pair or first > second:
            first -= 1
        elif second > first:
            second -= 1
        else:
            return None  # two equally long texts: how the caller shares depends on which was longer
    return first, second


def keep_lengths(first_offsets, second_offsets, room, strategy, kept_first, kept_second):
    """How many ids of each text are kept; returns the number of rows that could be cut."""
    is_pair = len(second_offsets) > 0
    for row, (first, second) in enumerate(_lengths(first_offsets, second_offsets)):
        kept = _kept(first, second, is_pair, room, strategy)
        if kept is None:
            half, larger_half = room // 2, room - room // 2
            kept = (half, larger_half) if first <= second else (larger_half, half)
        is_cut = (first, second) != kept
        if strategy == ONLY_FIRST and is_cut and room and kept[0] < 1:
            return row
        if strategy == ONLY_SECOND and is_cut and room and kept[1] < 1:
            return row
        kept_first[row], kept_second[row] = kept
    return len(first_offsets) - 1


def _windows(length, kept, stride, from_end=False):
    """All windows of a text, by sliding one along it."""
    if kept >= length:
        return [(0, length)]
    found = [(0, kept)]
    while found[-1][1] < length:
        start = found[-1][1] - stride
        found.append((start, min(start + kept, length)))
    return [(length - stop, length - start) for start, stop in found] if from_end else found


def count_windows(first_offsets, second_offsets, kept_first, kept_second, stride, counts):
    """How many inputs each row makes; returns the number of rows whose windows cover their texts."""
    for row, lengths in enumerate(_lengths(first_offsets, second_offsets)):
        kept = kept_first[row], kept_second[row]
        if any(k < n and k <= stride for k, n in zip(kept, lengths, strict=True)):
            return row
        first, second = (_windows(n, k, stride) for k, n in zip(kept, lengths, strict=True))
        counts[row] = len(first) * len(second)
    return len(first_offsets) - 1


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
    """Write which ids of the texts each model input holds; returns the number of inputs."""
    out = 0
    for row, (n_first, n_second) in enumerate(_lengths(first_offsets, second_offsets)):
        if all_windows:
            first = _windows(n_first, kept_first[row], stride, from_end)
            second = _windows(n_second, kept_second[row], stride, from_end)
        elif from_end:
            first = [(n_first - kept_first[row], n_first)]
            second = [(n_second - kept_second[row], n_second)]
        else:
            first, second = [(0, kept_first[row])], [(0, kept_second[row])]
        leading, other = (second, first) if second_leads else (first, second)
        pairs = [(leading[0], other[0]), *product(leading[1:], other), *product(leading[:1], other[1:])]
        for pair in pairs:
            (first_start, first_end), (second_start, second_end) = reversed(pair) if second_leads else pair
            second_base = second_offsets[row] if len(second_offsets) else 0
            rows[out] = row
            first_starts[out], first_ends[out] = first_offsets[row] + first_start, first_offsets[row] + first_end
            second_starts[out], second_ends[out] = second_base + second_start, second_base + second_end
            out += 1
    return out
