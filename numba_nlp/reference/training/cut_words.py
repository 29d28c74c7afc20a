"""Twin of ``numba_nlp.kernels.training.cut_words``: words of a row, as text."""

from __future__ import annotations

import re

__all__ = ["bert_words", "marked_words", "spaced_words", "white_words"]

#: Characters with the Unicode property White_Space.
_WHITE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def white_words(text: str) -> list[str]:
    """What white space parts."""
    return re.findall(f"[^{_WHITE}]+", text)


def marked_words(text: str) -> list[str]:
    """What each single space or U+2581 parts, one at the beginning left aside."""
    if not text:
        return []
    parts = re.split("[ \u2581]", text)
    return parts[1:] if text[0] in " \u2581" else parts


def spaced_words(text: str) -> list[str]:
    """What runs of spaces and U+2581 part."""
    return [part for part in re.split("[ \u2581]+", text) if part]


def bert_words(text: str, kinds: dict[str, str]) -> list[str]:
    """Words of a text by the kinds of its characters: "space", "single", or part of a word where none is named."""
    words = [""]
    for character in text:
        kind = kinds.get(character)
        if kind is None:
            words[-1] += character
        elif kind == "single":
            words += [character, ""]
        else:
            words.append("")
    return [word for word in words if word]
