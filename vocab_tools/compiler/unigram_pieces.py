"""What the pieces of a Unigram vocabulary say about where text may be cut before it is segmented."""

from __future__ import annotations

from collections.abc import Iterable

from numba_nlp.kernels.segment.unigram_chunks import (
    SPLIT_BEFORE_EACH,
    SPLIT_BEFORE_RUNS,
    SPLIT_BEHIND_EACH,
    SPLIT_BEHIND_RUNS,
    SPLIT_NONE,
)

__all__ = ["pieces_split_at_spaces"]

_SPACE = "\u2581".encode()


def pieces_split_at_spaces(pieces: Iterable[bytes]) -> int:
    """How normalised text may be cut at U+2581 so that no piece reaches across.

    Parameters
    ----------
    pieces : iterable of bytes
        All that text is compared with: normal and user-defined pieces.

    Returns
    -------
    int
        The ``SPLIT_`` constant of :mod:`numba_nlp.kernels.segment.unigram_chunks` with the shortest chunks of those
        that are right. ``SPLIT_NONE`` too when U+2581 is no piece itself: a run of unknown characters, which becomes
        one id, could then reach across.
    """
    known = False
    allowed = {SPLIT_BEFORE_EACH, SPLIT_BEFORE_RUNS, SPLIT_BEHIND_EACH, SPLIT_BEHIND_RUNS}
    for piece in pieces:
        if _SPACE not in piece:
            continue
        known = known or piece == _SPACE
        if _SPACE in piece[1:]:
            allowed.discard(SPLIT_BEFORE_EACH)
        if _SPACE in piece[:-1]:
            allowed.discard(SPLIT_BEHIND_EACH)
        # the piece without what the cuts of runs leave together
        if _SPACE in _without_leading(piece):
            allowed.discard(SPLIT_BEFORE_RUNS)
        if _SPACE in _without_trailing(piece):
            allowed.discard(SPLIT_BEHIND_RUNS)
    return min(allowed, default=SPLIT_NONE) if known else SPLIT_NONE


def _without_leading(piece: bytes) -> bytes:
    while piece.startswith(_SPACE):
        piece = piece[len(_SPACE) :]
    return piece


def _without_trailing(piece: bytes) -> bytes:
    while piece.endswith(_SPACE):
        piece = piece[: -len(_SPACE)]
    return piece
