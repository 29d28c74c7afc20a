"""Plain twins of ``numba_nlp/kernels/segment/window_spans.py``: bits looked at one by one."""

from __future__ import annotations

from itertools import pairwise

WINDOW = range(64)


def bits_of(mask) -> list[int]:
    """Places of the bits of a mask, in order."""
    return [i for i in WINDOW if int(mask) >> i & 1]


def mask_of(bits) -> int:
    """Mask with the given bits; those past the window are dropped."""
    return sum({1 << i for i in bits if i in WINDOW})


def runs_of(mask) -> list[tuple[int, int]]:
    """First place and end of each run of a mask."""
    bits = set(bits_of(mask))
    firsts = [i for i in sorted(bits) if i - 1 not in bits]
    lasts = [i for i in sorted(bits) if i + 1 not in bits]
    return [(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]


def lowest_cleared(mask) -> int:
    """The mask without its lowest bit."""
    return mask_of(bits_of(mask)[1:])


def fill_runs(seeds, runs) -> int:
    """Bits of ``runs`` from each bit of ``seeds`` up to the end of its run."""
    first_seeds = {run: min((i for i in bits_of(seeds) if run[0] <= i < run[1]), default=None) for run in runs_of(runs)}
    return mask_of(i for (_, end), seed in first_seeds.items() if seed is not None for i in range(seed, end))


def number_starts(number, further, most) -> int:
    """Starts of the tokens of numbers."""
    if most == 1:
        return mask_of(i for i in bits_of(number) if i not in bits_of(further))
    return mask_of(i for first, end in runs_of(number) for i in range(first, end, most))


def white_starts(blank, newline, taken, visible, leads, further, end_bit) -> tuple[int, int]:
    """Starts of the tokens of white space, and from which place on they are not known."""
    lines, seen, inner = (set(bits_of(mask)) for mask in (newline, visible, further))
    starts: list[int] = []
    trusted = 64
    for first, end in runs_of((int(blank) | int(newline)) & ~int(taken)):
        starts.append(first)
        cut = max((i + 1 for i in range(first, end) if i in lines), default=first)
        if first < cut < end:
            if end == 64:
                trusted = cut
            elif not int(end_bit) >> end & 1:
                starts.append(cut)
        if end in seen and cut < end:
            starts.append(max(i for i in range(first, end) if i not in inner))
    return mask_of(starts), trusted


def append_spans(token, whole, position, stop, starts, ends, n) -> tuple[int, int]:
    """Append the tokens of a window."""
    bounds = [position, *(position + i for i in bits_of(token)), *([stop] if whole else [])]
    for start, end in pairwise(bounds):
        starts[n] = start
        ends[n] = end
        n += 1
    return n, bounds[-1]
