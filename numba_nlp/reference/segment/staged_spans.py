"""Twin of ``kernels/segment/staged_spans.py``: every piece is segmented, whatever its ids say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from numba_nlp.reference.segment.staged_models import Segment

__all__ = [
    "Piece",
    "count_to",
    "fill_staged_bpe_spans",
    "fill_staged_marked_spans",
    "fill_staged_unigram_spans",
    "fill_staged_wordpiece_spans",
]


class Piece(NamedTuple):
    """A piece of a row, or a given id.

    ``ranges`` are those of its bytes in the row; a given id has one range, ``(-1, -1)`` for those of a template.
    """

    text: bytes
    ranges: Sequence[tuple[int, int]]
    fixed: int = -1


def count_to(content: bytes, target: int) -> int:
    """Characters before a place."""
    return len(content[:target].decode())


def fill_staged_unigram_spans(
    segment: Segment, row: bytes, pieces: Sequence[Piece], in_characters: bool
) -> list[tuple[int, int]]:
    """Range of every id of a row."""
    found: list[tuple[int, int]] = []
    for piece in pieces:
        if piece.fixed >= 0:
            found.append(piece.ranges[0])
            continue
        start = 0
        for _, end in segment(piece.text):
            found.append((piece.ranges[start][0], piece.ranges[end - 1][1]))
            start = end
    if not in_characters:
        return found
    return [(a, b) if a < 0 else (count_to(row, a), count_to(row, b)) for a, b in found]


fill_staged_bpe_spans = fill_staged_wordpiece_spans = fill_staged_marked_spans = fill_staged_unigram_spans
