"""Twin of ``kernels/segment/sentencepiece_unigram.py``: a whole row at once, without chunks, a cache or marks.

The row is normalised, then segmented from its start on with the running score that arises on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from numba_nlp.reference.segment import unigram
from numba_nlp.reference.segment.unigram import Model

_SPACE = "\u2581"


def unigram_ids(model: Model, normalized: bytes) -> list[int]:
    """Ids of a row of normalised text by a Unigram model."""
    return [number for number, _ in unigram.segment(model, normalized)]


def looked_up_ids(
    parts: Callable[[str], list[str]],
    ids: Mapping[bytes, int],
    unknown_id: int,
    byte_ids: Mapping[int, int],
    normalized: bytes,
) -> list[int]:
    """Ids of a row of normalised text by a word or character model: :func:`words` or :func:`characters` looked up."""
    found: list[int] = []
    after_unknown = False
    for part in parts(normalized.decode()):
        number = ids.get(part.encode(), unknown_id)
        is_unknown = number == unknown_id
        if is_unknown and byte_ids:
            found += [byte_ids[byte] for byte in part.encode()]
        elif not (is_unknown and after_unknown):
            found.append(number)
        after_unknown = is_unknown
    return found


def words(text: str) -> list[str]:
    """A text cut before each U+2581."""
    return [part for part in re.split(f"(?={_SPACE})", text) if part]


def characters(text: str, symbols: Collection[str]) -> list[str]:
    """A text cut into user-defined symbols, the longest first, and characters."""
    longest_first = sorted(symbols, key=len, reverse=True)
    pattern = "|".join([*map(re.escape, longest_first), "."])
    return re.findall(pattern, text, re.DOTALL)
