"""Plain twin of ``numba_nlp/kernels/segment/renumber.py``."""

from __future__ import annotations


def renumber(pieces: list[str], ids: dict[str, int], unknown_id: int) -> list[int]:
    """Ids of pieces as sentencepiece spells them: unknown runs as they stand in the text."""
    return [ids.get(piece, unknown_id) for piece in pieces]
