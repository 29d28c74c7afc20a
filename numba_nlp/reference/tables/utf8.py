"""Twin of ``kernels/tables/utf8.py``: Python's own decoder decides."""

from __future__ import annotations


def validate_utf8(data, start, stop):
    """Position of the first sequence in ``data[start:stop]`` that is not UTF-8, or -1."""
    try:
        bytes(data[start:stop]).decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        return start + error.start
    return -1


def sequence_length(data, position, stop):
    """Length of the well-formed UTF-8 sequence of two to four bytes at ``position``, or 0."""
    for length in (2, 3, 4):
        if position + length <= stop:
            try:
                character = bytes(data[position : position + length]).decode("utf-8", "strict")
            except UnicodeDecodeError:
                continue
            return length if len(character) == 1 else 0
    return 0


def validate_rows(data, starts, ends, first_row, bad_byte):
    """First row at or after ``first_row`` that is not UTF-8, or -1; its bad byte in ``bad_byte[0]``."""
    for row in range(first_row, len(starts)):
        position = validate_utf8(data, starts[row], ends[row])
        if position >= 0:
            bad_byte[0] = position - starts[row]
            return row
    return -1
