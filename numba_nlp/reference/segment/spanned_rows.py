"""Plain twin of ``numba_nlp/kernels/segment/spanned_rows.py``: what is kept of a chunk, and places in a row.

Rows with spans are those of the twins of the families: ``word_spans``, ``character_spans``, ``aligned_spans``.
"""

from __future__ import annotations

from collections.abc import Sequence

#: Id of a token, where in its chunk it begins and ends.
Token = tuple[int, int, int]


def to_characters(chunk: bytes, places: Sequence[int]) -> list[int]:
    """Number of characters that begin before each place."""
    return [sum(byte & 0xC0 != 0x80 for byte in chunk[:place]) for place in places]


def place_segments(row: bytes, segment_starts: Sequence[int], in_characters: bool) -> list[int]:
    """Where segments of a row begin, in bytes or characters; 0 for those of a template, which begin at -1."""
    return [0 if start < 0 else len(row[:start].decode()) if in_characters else start for start in segment_starts]


def recall_spans(kept: dict[bytes, list[Token]], chunk: bytes, base: int) -> list[Token] | None:
    """Ids and spans of a chunk at ``base``, or None when it was never entered."""
    if chunk not in kept:
        return None
    return [(number, base + start, base + end) for number, start, end in kept[chunk]]


def enter_spans(kept: dict[bytes, list[Token]], chunk: bytes, tokens: list[Token]) -> None:
    """Keep the tokens of a chunk; the compiled cache may forget them."""
    kept[chunk] = list(tokens)
