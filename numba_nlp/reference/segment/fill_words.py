r"""Plain twin of ``fill_words.py`` and ``window_words.py``: kinds of characters as letters, chunks by one pattern."""

from __future__ import annotations

import re

from numba_nlp.kernels.segment.normalize_bert import CHINESE_WORD, PUNCTUATION_WORD, SPACE
from numba_nlp.reference.segment.normalize_bert import unit_of

#: Per byte: ``s`` white space, ``p`` punctuation, ``q`` the apostrophe, ``c`` and ``d`` first and further byte of a
#: Chinese character, ``w`` anything else. The white space between punctuation is one byte.
CHUNK = re.compile("s*(?:((?:[pq]*w+(?:qw+)*|[pq]+|cd*)(?:s?[pq]+)*)|$)")


def next_chunk(normal_index, normal_blocks, data, position: int, stop: int) -> tuple[int, int]:
    """Next chunk from ``position`` on, or ``stop, stop``."""
    kinds = ""
    for character in bytes(data[position:stop]).decode():
        kind = unit_of(normal_index, normal_blocks, ord(character)) & 7
        n = len(character.encode())
        if character == "'":
            kinds += "q"
        elif character in "\v\f":
            kinds += "w"
        elif kind == CHINESE_WORD:
            kinds += "c" + "d" * (n - 1)
        else:
            kinds += {SPACE: "s", PUNCTUATION_WORD: "p"}.get(kind, "w") * n
    found = CHUNK.match(kinds)
    assert found is not None, "a chunk begins anywhere"
    if found[1] is None:
        return stop, stop
    return position + found.start(1), position + found.end(1)


def fill_chunks(tables, data, position: int, stop: int, starts, ends, n: int, limit: int) -> tuple[int, int]:
    """Append the chunks from ``position`` on until the text ends or there are ``limit`` spans."""
    while position < stop and n < limit:
        start, position = next_chunk(tables.normal_index, tables.normal_blocks, data, position, stop)
        if start < position:
            starts[n], ends[n] = start, position
            n += 1
    return n, position
