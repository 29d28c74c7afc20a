"""Twin of ``kernels/segment/staged_word_models.py``: a piece of normalized text is a word; no cache."""

from __future__ import annotations

from collections.abc import Mapping

from numba_nlp.reference.segment import character_bpe, wordpiece
from numba_nlp.reference.segment.staged_models import Tokens, find_whole

__all__ = ["segment_marked", "segment_wordpiece", "solve_marked", "solve_wordpiece"]


def segment_wordpiece(pieces: wordpiece.Pieces, piece: bytes) -> Tokens:
    """Tokens of a piece by WordPiece."""
    return [(token.id, token.end) for token in wordpiece.segment(pieces, piece)]


def segment_marked(plan: character_bpe.Plan, whole: Mapping[bytes, int], piece: bytes) -> Tokens:
    """Tokens of a piece by BPE with marks."""
    number = find_whole(whole, piece)
    if number >= 0:
        return [(number, len(piece))]
    text = piece.decode()
    return [(token.id, len(text[: token.end].encode())) for token in character_bpe.segment(plan, text)]


def solve_wordpiece(pieces: wordpiece.Pieces, piece: bytes) -> list[int]:
    """Ids of a piece by WordPiece."""
    return [number for number, _ in segment_wordpiece(pieces, piece)]


def solve_marked(plan: character_bpe.Plan, whole: Mapping[bytes, int], piece: bytes) -> list[int]:
    """Ids of a piece by BPE with marks."""
    return [number for number, _ in segment_marked(plan, whole, piece)]
