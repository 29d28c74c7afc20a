"""Plain twin of :mod:`numba_nlp.kernels.segment.cut_program`: a piece is a list of characters with their ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numba_nlp.reference.segment.normalize_edits import prepend, replace_string
from numba_nlp.reference.segment.normalize_text import Character, text_of

__all__ = ["cut", "cut_rows", "metaspace"]

Piece = list[Character]
#: Cuts one piece into pieces.
Step = Callable[[Piece], list[Piece]]


def metaspace(replacement: str, scheme: str, piece: Piece, base: int = 0) -> Piece:
    """Write spaces as ``replacement``, and put it before the piece as ``scheme`` says."""
    written = replace_string(" ", replacement, piece)
    starts_row = base + piece[0].start == 0
    if not text_of(written).startswith(replacement) and (scheme == "always" or (scheme == "first" and starts_row)):
        written = prepend(replacement, written)
    return written


def cut(steps: Sequence[Step], row: Piece) -> list[Piece]:
    """Cut one row into pieces, step by step."""
    pieces = [row] if row else []
    for step in steps:
        pieces = [part for piece in pieces for part in step(piece)]
    return pieces


def cut_rows(steps: Sequence[Step], rows: Sequence[Piece]) -> list[list[Piece]]:
    """Cut every row."""
    return [cut(steps, row) for row in rows]
