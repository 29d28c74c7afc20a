"""Lattices of words in plain Python: every piece at every place."""

from __future__ import annotations

__all__ = ["entries_at", "keep_entries"]


def entries_at(words, pieces):
    """Pieces of two and more characters at each place of words, the longest first; a word ends with an empty place."""
    made = []
    for word in words:
        for start in range(len(word)):
            found = [piece for piece in pieces if len(piece) > 1 and word.startswith(piece, start)]
            made.append(sorted(found, key=len, reverse=True))
        made.append([])
    return made


def keep_entries(numbers, entries):
    """New numbers of pieces at each place, without those whose number is -1."""
    return [[numbers[piece] for piece in place if numbers[piece] >= 0] for place in entries]
