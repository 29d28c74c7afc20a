"""Where sentences end: a few rules for many languages, with exact places.

They serve to cut long texts between sentences, where a wrong border costs little: a border that is missed makes a
longer part, and one too many a shorter one.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

__all__ = ["sentence_spans", "trimmed"]

#: Marks that end a sentence whatever follows: Chinese and Japanese are written without spaces.
_WIDE = "。！？｡︒﹒﹗"
#: Marks that end one where white space follows, or the text ends.
_NARROW = ".!?…‼⁇⁈⁉؟۔։।॥።፧፨။៕"
#: What may stand between the mark and the end.
_CLOSERS = "\"'”’»›)\\]}」』）】》〉"
_MARKS = re.compile(
    rf"(?P<wide>[{_WIDE}][{_WIDE}{_NARROW}]*[{_CLOSERS}]*)"
    rf"|(?P<narrow>[{_NARROW}]+[{_CLOSERS}]*)(?=\s|\Z)"
    r"|(?P<paragraph>\n[^\S\n]*(?=\n)|\u2029)"
)
#: A word before a mark, no longer than any abbreviation here.
_WORD_BEFORE = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]{1,8}\Z")
#: After these and a full stop a sentence goes on. Titles and references; what may well end a sentence is left out.
_LISTED = """
mr mrs ms dr prof st sr jr rev hon gen col lt capt sgt gov sen rep vs fig figs eq eqs vol vols pp approx ca cf e.g i.e
viz al hr fr bzw z.b d.h u.a vgl abb mme mlle mm sra srta dott
"""
_ABBREVIATIONS = frozenset(_LISTED.split())
#: The same before a number.
_BEFORE_NUMBERS = frozenset({"no", "nos", "nr", "nº", "art", "sect", "ch"})
_MOST_BEFORE = 24


def sentence_spans(text: str) -> NDArray[np.int64]:
    """Begin and end of each sentence.

    Parameters
    ----------
    text : str

    Returns
    -------
    int64[sentences, 2]
        Half-open ranges of characters, in order. White space between sentences belongs to none; everything else does.
    """
    spans = []
    start = 0
    for mark in _MARKS.finditer(text):
        if mark.lastgroup == "narrow" and _goes_on(text, mark.start(), mark.end()):
            continue
        spans.append(trimmed(text, start, mark.end()))
        start = mark.end()
    spans.append(trimmed(text, start, len(text)))
    found = [span for span in spans if span[0] < span[1]]
    return np.array(found, np.int64).reshape(-1, 2)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A range without the white space at its ends; empty where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _goes_on(text: str, mark: int, end: int) -> bool:
    """Whether a sentence goes on behind a mark."""
    following = end
    while following < len(text) and text[following].isspace():
        if text[following] == "\n" and text[following + 1 : following + 2] == "\n":
            return False
        following += 1
    if following < len(text) and text[following].islower():
        return True
    if text[mark:end] != ".":
        return False
    word = _WORD_BEFORE.search(text[max(0, mark - _MOST_BEFORE) : mark])
    if word is None:
        return False
    # "J. R. Smith": a capital letter by itself, but for the English pronoun
    letters = word[0]
    alone = len(letters) == 1 and letters.isupper() and letters != "I" and _begins(text, mark - 1)
    folded = letters.casefold()
    is_numbered = following < len(text) and text[following].isdigit() and folded in _BEFORE_NUMBERS
    return alone or is_numbered or folded in _ABBREVIATIONS


def _begins(text: str, place: int) -> bool:
    return place == 0 or not text[place - 1].isalnum()
