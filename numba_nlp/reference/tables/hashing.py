"""Plain twins of ``numba_nlp/kernels/tables/hashing.py``: Python's integers for hashes, dictionaries for tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_ALL = 0xFFFFFFFFFFFFFFFF
MERGE_MULTIPLIER = 0x9E3779B97F4A7C15
BYTES_MULTIPLIER = 0xD6E8FEB86659FD93


def hash_bytes(text: bytes) -> int:
    """Hash of a byte string, eight bytes after the other."""
    state = (len(text) + 1) * MERGE_MULTIPLIER & _ALL
    for start in range(0, len(text), 8):
        word = int.from_bytes(text[start : start + 8], "little")
        state = (state ^ word) * BYTES_MULTIPLIER & _ALL
        state ^= state >> 29
    return state * MERGE_MULTIPLIER & _ALL


def equal_bytes(left: bytes, right: bytes) -> bool:
    """Whether two byte strings are the same."""
    return left == right


def fill_piece_lookup(pieces: Sequence[bytes], ids: Sequence[int]) -> dict[bytes, int]:
    """Make the table from the bytes of pieces to their ids."""
    return {pieces[number]: number for number in ids}


def find_piece(lookup: Mapping[bytes, int], text: bytes) -> int:
    """Id of the piece equal to ``text``, or -1."""
    return lookup.get(text, -1)


def fill_merge_slots(lefts: Sequence[int], rights: Sequence[int]) -> dict[tuple[int, int], int]:
    """Make the table from pairs of symbols to the number of the pair."""
    return {pair: number for number, pair in enumerate(zip(lefts, rights, strict=True))}


def find_merge(merges: Mapping[tuple[int, int], int], left: int, right: int) -> int:
    """Merge number of a pair of symbols, or -1."""
    return merges.get((left, right), -1)


def table_bits(size: int) -> int:
    """Binary logarithm of a power of two."""
    return size.bit_length() - 1
