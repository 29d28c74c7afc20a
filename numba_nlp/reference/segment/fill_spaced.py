"""Twin of ``kernels/segment/fill_spaced.py``: chunks of a row by a regular expression."""

from __future__ import annotations

import re
from collections.abc import Collection


def chunks(row: bytes, spaces: Collection[int], solid: Collection[int]) -> list[bytes]:
    """Chunks of a row, one space before each but the first."""
    if not spaces:
        return [row] if row else []
    space = b"[" + re.escape(bytes(sorted(spaces))) + b"]"
    parts = re.split(b"(" + space + b"+)", row)
    words, runs = parts[::2], parts[1::2]
    found: list[bytes] = []
    for i, word in enumerate(words):
        run = runs[i - 1] if i else b""
        if i and found and found[-1][-1] not in solid:
            found[-1] += run + word
        elif word:
            found.append(run[-1:] + word if found else word)
    return found
