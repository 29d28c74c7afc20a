"""Plain twin of ``numba_nlp/kernels/segment/word_spans.py``."""

from __future__ import annotations

from numba_nlp.reference.segment.wordpiece import Pieces, encode_words

#: A segment of a row: its bytes, and the id given for it, -1 for text; ``(-1, -1)`` for ids of the template.
Part = tuple[int, int, int]


def fill_word_spans(
    tables, pieces: Pieces, row: str, parts: list[Part] | None, in_characters: bool
) -> list[tuple[int, int, int]]:
    """Id, start and end of every token of a row that is one text, or the segments of ``parts``."""
    content = row.encode()
    found: list[tuple[int, int, int]] = []
    for start, end, fixed in [(0, len(content), -1)] if parts is None else parts:
        if fixed >= 0:
            found.append((fixed, start, end))
        else:
            tokens = encode_words(tables, pieces, content, start, end)
            found += [(token.id, start + token.start, start + token.end) for token in tokens]
    if not in_characters:
        return found
    return [(token, *(_character(content, place) for place in places)) for token, *places in found]


def _character(content: bytes, place: int) -> int:
    return place if place < 0 else len(content[:place].decode())
