"""Plain twin of ``numba_nlp/kernels/segment/character_spans.py``: tokens of the words of a text, in characters."""

from __future__ import annotations

from collections.abc import Sequence

from numba_nlp.reference.segment.character_bpe import Plan, Token, segment


def encode_text(plan: Plan, text: str, words: Sequence[tuple[int, int]]) -> list[Token]:
    """Tokens of a text that is cut into words."""
    return [
        Token(token.id, start + token.start, start + token.end)
        for start, end in words
        for token in segment(plan, text[start:end])
    ]
