"""Plain twin of ``numba_nlp/kernels/segment/sentencepiece_numbers.py``: cuts listed first, then looked up."""

from __future__ import annotations

import re
from collections.abc import Sequence


def number_pieces(
    text: str, token_ends: Sequence[int], user_defined: Sequence[bool], splits: bool, space: str, is_suffix: bool
) -> list[int]:
    """Word number of every token of one text; ``token_ends`` in bytes, ``user_defined`` one for each token."""
    content = text.encode()
    begins = [0, *token_ends][: len(token_ends)]
    cuts = {0}
    inside: set[int] = set()
    for begin, end, alone in zip(begins, token_ends, user_defined, strict=True):
        if alone:
            cuts |= {begin, end}
            inside |= set(range(begin + 1, end))
    if splits:
        for found in re.finditer(re.escape(space.encode()), content):
            place = found.end() if is_suffix else found.start()
            if place not in inside:
                cuts.add(place)
    cuts.discard(len(content))
    return [sum(cut <= begin for cut in cuts) - 1 for begin in begins]
