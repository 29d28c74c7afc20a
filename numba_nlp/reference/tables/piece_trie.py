"""Plain twin of ``numba_nlp/kernels/tables/piece_trie.py``: a dictionary of keys, tried from the longest on."""

from __future__ import annotations

from collections.abc import Mapping


def longest_piece(pieces: Mapping[bytes, int], text: bytes, start: int, stop: int) -> tuple[int, int]:
    """Value and end of the longest key at the beginning of ``text[start:stop]``; ``-1, start`` when there is none."""
    for end in range(stop, start, -1):
        if text[start:end] in pieces:
            return pieces[text[start:end]], end
    return -1, start


def pieces_below(trie, root: int) -> dict[bytes, int]:
    """All keys of one trie and their values."""
    found: dict[bytes, int] = {}
    pending = [(root, b"")]
    while pending:
        base, key = pending.pop()
        for byte in range(256 if base else 0):
            unit = int(trie[base ^ byte])
            if unit & 0x1FF == byte | 0x100:
                if unit >> 33:
                    found[key + bytes([byte])] = (unit >> 33) - 1
                pending.append((unit >> 9 & 0xFFFFFF, key + bytes([byte])))
    return found
