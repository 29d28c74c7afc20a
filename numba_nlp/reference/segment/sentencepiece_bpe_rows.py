"""Twin of ``kernels/segment/sentencepiece_bpe_rows.py``: a whole row at once, without chunks and without a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numba_nlp.reference.segment import sentencepiece_bpe
from numba_nlp.reference.segment.sentencepiece_bpe import Piece


def row_ids(normalized: bytes, pieces: Mapping[str, Piece], unknown: int, byte_ids: Sequence[int] | None) -> list[int]:
    """Ids of a row of normalised text."""
    return [number for number, _ in sentencepiece_bpe.segment(normalized.decode(), pieces, unknown, byte_ids)]
