"""Twin of ``kernels/segment/staged_models.py``: a piece of normalized text to tokens, without a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

#: Id and end of each token.
Tokens = list[tuple[int, int]]
Segment = Callable[[bytes], Tokens]

__all__ = ["encode_pieces", "fill_piece", "find_whole", "segment_bpe", "segment_unigram", "solve_bpe", "solve_unigram"]


def fill_piece(piece: bytes) -> list[bytes]:
    """A piece is one chunk."""
    return [piece] if piece else []


def find_whole(whole: Mapping[bytes, int], piece: bytes) -> int:
    """Id of a piece that is taken whole, or -1."""
    return whole.get(piece, -1)


def segment_unigram(segment: Segment, piece: bytes) -> Tokens:
    """Tokens of a piece, with ``numba_nlp.reference.segment.unigram_tokenizers.segment``."""
    return segment(piece) if piece else []


def segment_bpe(segment: Segment, whole: Mapping[bytes, int], piece: bytes) -> Tokens:
    """Tokens of a piece, with ``numba_nlp.reference.segment.sentencepiece_bpe.segment``."""
    number = find_whole(whole, piece)
    return [(number, len(piece))] if number >= 0 else segment(piece) if piece else []


def solve_unigram(segment: Segment, piece: bytes) -> list[int]:
    """Ids of a piece."""
    return [number for number, _ in segment_unigram(segment, piece)]


def solve_bpe(segment: Segment, whole: Mapping[bytes, int], piece: bytes) -> list[int]:
    """Ids of a chunk."""
    return [number for number, _ in segment_bpe(segment, whole, piece)]


def encode_pieces(segment: Segment, pieces: Iterable[bytes]) -> list[int]:
    """Ids of the pieces of a row."""
    return [number for piece in pieces for number, _ in segment(piece)]
