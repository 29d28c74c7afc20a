"""Twin of ``kernels/segment/layout.py`` with lists."""

from __future__ import annotations

FIRST_TEXT = -1
SECOND_TEXT = -2


def _lay(template, entries, first, second, pad, pad_left, out_offsets, out):
    """Lay out; ``first(i)`` and ``second(i)`` give the values of the texts of an input."""
    for i in range(len(out_offsets) - 1):
        row = []
        for part, entry in zip(template, entries, strict=True):
            row += first(i) if part == FIRST_TEXT else second(i) if part == SECOND_TEXT else [entry]
        filling = [pad] * (out_offsets[i + 1] - out_offsets[i] - len(row))
        out[out_offsets[i] : out_offsets[i + 1]] = filling + row if pad_left else row + filling
    return len(out_offsets) - 1


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
    """Lay out what each id of the texts has of its own; returns the number of inputs."""

    def first(i):
        return list(first_values[first_starts[i] : first_ends[i]])

    def second(i):
        return list(second_values[second_starts[i] : second_ends[i]])

    return _lay(template, entries, first, second, pad, pad_left, out_offsets, out)


def lay_marks(template, entries, first_starts, first_ends, second_starts, second_ends, pad, pad_left, out_offsets, out):
    """Lay out what all ids of a text have in common; returns the number of inputs."""

    def first(i):
        return [entries[list(template).index(FIRST_TEXT)]] * (first_ends[i] - first_starts[i])

    def second(i):
        return [entries[list(template).index(SECOND_TEXT)]] * (second_ends[i] - second_starts[i])

    return _lay(template, entries, first, second, pad, pad_left, out_offsets, out)
