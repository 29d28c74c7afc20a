r"""Plain twin of ``numba_nlp/kernels/segment/character_words.py``: words by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable

#: White space by the Unicode property.
WHITE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_SPECIAL = ("<|startoftext|>", "<|endoftext|>")
_CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")

Span = tuple[int, int]


def white_words(text: str, takes_newline: bool) -> list[Span]:
    """What white space parts, in characters."""
    return [found.span() for found in re.finditer(f"[^{WHITE}]+{chr(10) + '?' if takes_newline else ''}", text)]


def space_words(text: str) -> list[Span]:
    """What spaces part, without spaces and line ends at both ends of the text."""
    start = len(text) - len(text.lstrip("\r\n "))
    stop = len(text.rstrip("\r\n "))
    return [(start + one.start(), start + one.end()) for one in re.finditer("[^ ]+", text[start:stop])]


def clip_words(text: str, kind_of: Callable[[str], str]) -> list[Span]:
    """CLIP's words; ``kind_of`` says of a character: ``space``, ``letter``, ``number`` or ``other``."""
    found: list[Span] = []
    lower = "".join(c.lower() if c.isascii() else c for c in text)
    place = 0
    while place < len(text):
        special = next((token for token in _SPECIAL if lower.startswith(token, place)), "")
        short = next((word for word in _CONTRACTIONS if lower.startswith(word, place)), "")
        kind = kind_of(text[place])
        end = place + 1
        if special:
            # GPT-2's expression cuts it once more
            end = place + len(special)
            found += [(place, place + 2), (place + 2, end - 2), (end - 2, end)]
        elif kind != "space":
            if short:
                end = place + len(short)
            elif kind != "number":
                while end < len(text) and kind_of(text[end]) == kind:
                    end += 1
            found.append((place, end))
        place = end
    return found
