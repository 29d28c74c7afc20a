"""Twin of ``kernels/segment/aligned_spans.py``."""

from __future__ import annotations

from collections.abc import Sequence


def spans(from_starts: Sequence[int], from_ends: Sequence[int], token_ends: Sequence[int]) -> list[tuple[int, int]]:
    """Bytes of the text that each token comes from."""
    begins = [0, *token_ends][: len(token_ends)]
    return [(from_starts[begin], from_ends[end - 1]) for begin, end in zip(begins, token_ends, strict=True)]


def in_characters(row: bytes, places: Sequence[int]) -> list[int]:
    """Places in characters; negative ones stay."""
    return [place if place < 0 else len(row[:place].decode()) for place in places]
