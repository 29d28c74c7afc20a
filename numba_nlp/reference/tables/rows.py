"""Twin of ``kernels/tables/rows.py``."""

from __future__ import annotations


def _lines(data):
    """The lines with their ends, as bytes."""
    parts = bytes(data).split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def count_lines(data):
    """Count the lines of a buffer."""
    return len(_lines(data))


def find_lines(data, strip, offsets, ends):
    """Bounds of the lines of a buffer, without their ends when ``strip``; returns their number."""
    lines = _lines(data)
    position = 0
    for row, line in enumerate(lines):
        shown = line
        if strip and line.endswith(b"\n"):
            shown = line.removesuffix(b"\n").removesuffix(b"\r")
        offsets[row] = position
        ends[row] = position + len(shown)
        position += len(line)
    offsets[len(lines)] = position
    return len(lines)


def copy_rows(data, starts, ends, offsets, out):
    """Copy rows together; returns their number."""
    rows = [bytes(data[start:end]) for start, end in zip(starts, ends, strict=True)]
    out[:] = list(b"".join(rows))
    return len(rows)
