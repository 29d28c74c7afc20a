"""Plain twin of ``numba_nlp/kernels/segment/wordpiece_numbers.py``."""

from __future__ import annotations

from numba_nlp.reference.segment.normalize_bert import words
from numba_nlp.reference.segment.wordpiece import Pieces, segment


def number_words_wordpiece(tables, pieces: Pieces, row: list[str | int]) -> list[tuple[int, int]]:
    """Id and word number of every token of a row of texts and given ids."""
    found: list[tuple[int, int]] = []
    word = 0
    for part in row:
        if isinstance(part, int):
            found.append((part, word))
            word += 1
            continue
        content = part.encode()
        for one in words(tables, content, 0, len(content)):
            text = "".join(character.text for character in one).encode()
            found += [(token.id, word) for token in segment(pieces, text)]
            word += 1
    return found
