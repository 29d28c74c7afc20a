"""Plain twin of ``numba_nlp/kernels/segment/character_rows.py``: tokens written one behind the other."""

from __future__ import annotations

from numba_nlp.reference.segment.character_bpe import Plan, segment
from numba_nlp.reference.segment.character_words import space_words


def segment_row(plan: Plan, text: str, separator: str) -> str:
    """A text with the separator between the tokens of a word."""
    written: list[str] = []
    for start, end in space_words(text):
        word = text[start:end]
        parts = [word[token.start : token.end] for token in segment(plan, word)]
        written += [*(part + separator for part in parts[:-1]), parts[-1]]
    return " ".join(written)
