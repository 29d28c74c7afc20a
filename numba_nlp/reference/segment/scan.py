r"""Plain twins of ``numba_nlp/kernels/segment/scan.py``: the regexes themselves, interpreted by backtracking.

A pattern is a list of alternatives, an alternative a list of items, an item a set of characters with the least and the
most number of them (greedy, as in ``{least,most}``), a contraction, or an assertion. The matcher below tries the
alternatives in order, and for each item the longest run first, as a regex engine does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.patterns import PATTERN_NAMES
from numba_nlp.reference.segment.characters import class_of

MANY = 1 << 60
_CONTRACTIONS = ("s", "t", "re", "ve", "m", "ll", "d")


class Run(NamedTuple):
    """Between ``least`` and ``most`` characters of some classes, or of some characters."""

    classes: frozenset[int]
    least: int
    most: int
    characters: frozenset[str] = frozenset()


class Contraction(NamedTuple):
    """``'s|'t|'re|'ve|'m|'ll|'d``, ignoring case or not, to be left out or not."""

    fold_case: bool
    optional: bool


class TextEnd(NamedTuple):
    """The end of the text, ``$``."""


class NoVisibleNext(NamedTuple):
    r"""The end of the text or white space next, ``(?!\S)``."""


Item = Run | Contraction | TextEnd | NoVisibleNext


def _run(classes: str, least: int, most: int, characters: str = "") -> Run:
    return Run(frozenset(map(int, classes)), least, most, frozenset(characters))


def _maybe(classes: str, characters: str = "") -> Run:
    return _run(classes, 0, 1, characters)


def _some(classes: str, characters: str = "") -> Run:
    return _run(classes, 1, MANY, characters)


def _any(classes: str, characters: str = "") -> Run:
    return _run(classes, 0, MANY, characters)


_LETTERS = "345"
_OTHERS = "0126"
_SPACES = "89"
_BEFORE_LETTERS = "01268"  # [^\r\n\p{L}\p{N}]
_UPPERS, _LOWERS = "356", "456"
_ASCII_SIGNS = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_ASCII_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

#: ``[一-龥぀-ゟ゠-ヿ]``
CJK = frozenset(map(chr, [*range(0x3040, 0x3100), *range(0x4E00, 0x9FA6)]))

_BLANKS: list[list[Item]] = [[_some(_SPACES), NoVisibleNext()], [_some(_SPACES)]]
_LINES: list[list[Item]] = [[_any(_SPACES), _some("9")]]


def _cl100k_family(digits: int, spaces: list[list[Item]]) -> list[list[Item]]:
    return [
        [Contraction(fold_case=True, optional=False)],
        [_maybe(_BEFORE_LETTERS), _some(_LETTERS)],
        [_run("7", 1, digits)],
        [_maybe("", " "), _some(_OTHERS), _any("9")],
        *spaces,
    ]


def _o200k_family(digits: int, suffix: list[Item]) -> list[list[Item]]:
    return [
        [_maybe(_BEFORE_LETTERS), _any(_UPPERS), _some(_LOWERS), *suffix],
        [_maybe(_BEFORE_LETTERS), _some(_UPPERS), _any(_LOWERS), *suffix],
        [_run("7", 1, digits)],
        [_maybe("", " "), _some(_OTHERS), _any("9", "/")],
        *_LINES,
        *_BLANKS,
    ]


ALTERNATIVES: dict[str, list[list[Item]]] = {
    "gpt2": [
        [Contraction(fold_case=False, optional=False)],
        [_maybe("", " "), _some(_LETTERS)],
        [_maybe("", " "), _some("7")],
        [_maybe("", " "), _some(_OTHERS)],
        *_BLANKS,
    ],
    "cl100k": _cl100k_family(3, [[_some(_SPACES), TextEnd()], [_any(_SPACES), _run("9", 1, 1)], *_BLANKS]),
    "llama3": _cl100k_family(3, [*_LINES, *_BLANKS]),
    "qwen2": _cl100k_family(1, [*_LINES, *_BLANKS]),
    "o200k": _o200k_family(3, [Contraction(fold_case=True, optional=True)]),
    "tekken": _o200k_family(1, []),
    # the third split of DeepSeek-V3
    "deepseek_v3": [
        [_run("", 1, 1, _ASCII_SIGNS), _some("", _ASCII_LETTERS)],
        [_maybe("0678"), _some("3456")],
        [_maybe("", " "), _some("12"), _any("9")],
        *_LINES,
        *_BLANKS,
    ],
}


class Matcher:
    """Interprets alternatives over a text; positions are characters."""

    def __init__(self, class_index: NDArray[np.uint16], class_blocks: NDArray[np.uint8], text: str) -> None:
        self.text = text
        self.classes = [class_of(class_index, class_blocks, c) for c in text]

    def first_end(self, alternatives: list[list[Item]], start: int) -> int | None:
        """End of the match at ``start``, or None."""
        for items in alternatives:
            for end in self._ends(items, start):
                if end > start:
                    return end
        return None

    def _ends(self, items: list[Item], start: int) -> Iterator[int]:
        """Ends of all ways to match ``items`` at ``start``, in the order that a regex engine tries them."""
        if not items:
            yield start
            return
        for middle in self._item_ends(items[0], start):
            yield from self._ends(items[1:], middle)

    def _item_ends(self, item: Item, start: int) -> Iterator[int]:
        if isinstance(item, TextEnd):
            if start == len(self.text):
                yield start
        elif isinstance(item, NoVisibleNext):
            if start == len(self.text) or self.classes[start] in (8, 9):
                yield start
        elif isinstance(item, Contraction):
            yield from self._contraction_ends(item, start)
        else:
            end = start
            while (
                end < len(self.text)
                and end - start < item.most
                and (self.classes[end] in item.classes or self.text[end] in item.characters)
            ):
                end += 1
            while end - start >= item.least:
                yield end
                end -= 1

    def _contraction_ends(self, item: Contraction, start: int) -> Iterator[int]:
        for word in _CONTRACTIONS:
            found = self.text[start : start + 1 + len(word)]
            if item.fold_case:
                # lower() would also turn U+0130 to two characters; only ASCII and the long s have partners here
                found = "".join("s" if c == "\u017f" else c.lower() if c.isascii() else c for c in found)
            if found == "'" + word:
                yield start + 1 + len(word)
        if item.optional:
            yield start


def split(class_index, class_blocks, text: str, alternatives: list[list[Item]]) -> list[str]:
    """All pieces of a text; what no alternative matches is kept as pieces of its own."""
    matcher = Matcher(class_index, class_blocks, text)
    pieces: list[str] = []
    gap = position = 0
    while position < len(text):
        end = matcher.first_end(alternatives, position)
        if end is None:
            position += 1
            continue
        if gap < position:
            pieces.append(text[gap:position])
        pieces.append(text[position:end])
        gap = position = end
    if gap < len(text):
        pieces.append(text[gap:])
    return pieces


def split_deepseek_v3(class_index, class_blocks, text: str) -> list[str]:
    """The three splits of DeepSeek-V3, one after the other."""
    pieces = [text]
    for alternatives in ([[_run("7", 1, 3)]], [[Run(frozenset(), 1, MANY, CJK)]], ALTERNATIVES["deepseek_v3"]):
        pieces = [part for piece in pieces for part in split(class_index, class_blocks, piece, alternatives)]
    return pieces


def _next_end(name: str, class_index, class_blocks, data, position: int, stop: int) -> int:
    text = bytes(data[position:stop]).decode()
    if name == "deepseek_v3":
        first = split_deepseek_v3(class_index, class_blocks, text)[0]
    else:
        end = Matcher(class_index, class_blocks, text).first_end(ALTERNATIVES[name], 0)
        assert end is not None, f"{name} leaves text unmatched"
        first = text[:end]
    return position + len(first.encode())


NextEnd = Callable[[NDArray[np.uint16], NDArray[np.uint8], NDArray[np.uint8], int, int], int]


def next_end_gpt2(class_index, class_blocks, data, position, stop) -> int:
    """End of the GPT-2 token that starts at ``position``."""
    return _next_end("gpt2", class_index, class_blocks, data, position, stop)


def next_end_cl100k(class_index, class_blocks, data, position, stop) -> int:
    """End of the cl100k token that starts at ``position``."""
    return _next_end("cl100k", class_index, class_blocks, data, position, stop)


def next_end_o200k(class_index, class_blocks, data, position, stop) -> int:
    """End of the o200k token that starts at ``position``."""
    return _next_end("o200k", class_index, class_blocks, data, position, stop)


def next_end_llama3(class_index, class_blocks, data, position, stop) -> int:
    """End of the Llama-3 token that starts at ``position``."""
    return _next_end("llama3", class_index, class_blocks, data, position, stop)


def next_end_qwen2(class_index, class_blocks, data, position, stop) -> int:
    """End of the Qwen2 token that starts at ``position``."""
    return _next_end("qwen2", class_index, class_blocks, data, position, stop)


def next_end_tekken(class_index, class_blocks, data, position, stop) -> int:
    """End of the Mistral tekken token that starts at ``position``."""
    return _next_end("tekken", class_index, class_blocks, data, position, stop)


def next_end_deepseek_v3(class_index, class_blocks, data, position, stop) -> int:
    """End of the DeepSeek-V3 token that starts at ``position``."""
    return _next_end("deepseek_v3", class_index, class_blocks, data, position, stop)


def next_end(pattern, class_index, class_blocks, data, position, stop) -> int:
    """End of the token that starts at ``position``, for any pattern."""
    return _next_end(PATTERN_NAMES[pattern], class_index, class_blocks, data, position, stop)
