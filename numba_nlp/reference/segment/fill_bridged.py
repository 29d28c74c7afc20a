"""Twin of ``kernels/segment/fill_bridged.py``: chunks of a row, from the places where it may be cut."""

from __future__ import annotations

from collections.abc import Collection

#: Longest chunk that is not cut any further.
LONGEST = 15
_MARK = "\u2581".encode()


def end_of_chunk(row: bytes, start: int, white: bytes, cuts: Collection[int]) -> int:
    """End of the chunk that begins at ``start``.

    Parameters
    ----------
    row : bytes
    start : int
    white : bytes
        White space.
    cuts : collection of int
        Places where the row may be cut.
    """
    last = start + LONGEST
    for place in range(start + 1, min(last, len(row) - 1) + 1):
        if row[place] in white and row[place - 1] not in white and not row[start:place].endswith(_MARK):
            return place
    if len(row) <= last:
        return len(row)
    behind = sorted(place for place in cuts if place > start)
    near = [place for place in behind if place <= last]
    if row[start] < 0x80 and near:
        return near[-1]
    return behind[0] if behind else len(row)


def fill_bridged(row: bytes, white: bytes, cuts: Collection[int]) -> list[bytes]:
    """Chunks of a row."""
    chunks, start = [], 0
    while start < len(row):
        end = end_of_chunk(row, start, white, cuts)
        chunks.append(row[start:end])
        start = end
    return chunks
