"""Words of normalised text in plain Python."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_characters", "count_words", "cut_row", "cut_to_alphabet"]

MARK = "\u2581"


def cut_row(text, split, suffix, alone, symbols):
    """Words of a row, by regular expressions."""
    mark = f"{MARK}+" if alone else MARK
    if not split:
        word = ".+"
    elif suffix:
        word = f"[^{MARK}]*{mark}|[^{MARK}]+"
    else:
        word = f"{mark}[^{MARK}]*|[^{MARK}]+"
    parts = [text]
    if symbols:
        longest_first = sorted(symbols, key=len, reverse=True)
        parts = re.split("|".join(map(re.escape, longest_first)), text)
    return [found for part in parts for found in re.findall(word, part, re.S)]


def count_words(words):
    """How often each word occurs."""
    return Counter(words)


def count_characters(words):
    """How often each character occurs in words with counts."""
    made: Counter = Counter()
    for word, count in words:
        for character in word:
            made[character] += count
    return made


def cut_to_alphabet(words, alphabet):
    """Words with counts, cut where a character is not in the alphabet."""
    return [
        (part, count)
        for word, count in words
        for part in "".join(c if c in alphabet else "\0" for c in word).split("\0")
        if part
    ]
