"""Twin of ``kernels/segment/row_firsts.py``: which chunks of a block begin a row, and keys that tell them apart."""

from __future__ import annotations


def keys(rows: list[list[bytes]]) -> list[tuple[bool, bytes]]:
    """A key for each chunk of some rows: whether it is the first one, and its bytes."""
    return [(place == 0, chunk) for chunks in rows for place, chunk in enumerate(chunks)]


def is_first_of_row(key: tuple[bool, bytes]) -> bool:
    """Whether a key is that of a chunk that begins a row."""
    return key[0]
