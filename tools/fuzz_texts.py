"""Strings that are likely to break a tokenizer, made from a seed: the same seed gives the same strings anywhere.

(Given the same real texts: :func:`real_texts` takes what is on the machine.)
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from random import Random

from tools.files import carried_file, shared_file

__all__ = ["SHAPES", "fuzz_texts", "real_texts"]

_LAST = 0x110000
#: White space of every kind, and characters that some definitions of white space count and others do not.
_SPACES = " \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2003\u2009\u200a\u2028\u2029\u202f\u205f\u3000\u180e"
_COMMON_SPACES = " \t\r\n"
_INVISIBLE = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u061c\u180e\u200e\u200f\u202e\u2066\ufe0e\ufe0f\U000e0001\U000e0020"
)
_APOSTROPHES = "''''\u2019\u02bc\uff07`\u00b4"
_ENDINGS = (
    "s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "Re", "rE", "VE", "vE", "M", "LL", "lL", "D", "\u017f",
)  # fmt: skip
_SPECIALS = (
    "<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|endofprompt|>", "<|startoftext|>",
    "<s>", "</s>", "<pad>", "<unk>", "<mask>", "<|im_start|>", "[CLS]", "<0x0A>",
)  # fmt: skip
_NONCHARACTERS = [0xFDD0, 0xFDEF, *(plane << 16 | 0xFFFE | low for plane in range(17) for low in (0, 1))]
_BLOCKS = (
    (0x20, 0x7F), (0x80, 0x180), (0x250, 0x370), (0x370, 0x400), (0x400, 0x530), (0x530, 0x600), (0x600, 0x780),
    (0x900, 0xE00), (0xE00, 0x1000), (0x1000, 0x1200), (0x1200, 0x1800), (0x1E00, 0x2000), (0x2000, 0x2800),
    (0x2E80, 0x3400), (0x4E00, 0x9FFF), (0xA000, 0xAC00), (0xAC00, 0xD7A4), (0xE000, 0xF900), (0xF900, 0x10000),
    (0x10000, 0x11000), (0x1D400, 0x1D800), (0x1F000, 0x20000), (0x20000, 0x2A6E0), (0xE0000, 0xE01F0),
    (0xF0000, _LAST),
)  # fmt: skip


@lru_cache(maxsize=1)
def _by_category() -> dict[str, list[int]]:
    """Code points by general category (of this Python's Unicode version), surrogates left out."""
    found: dict[str, list[int]] = {}
    for point in range(_LAST):
        category = unicodedata.category(chr(point))
        if category != "Cs":
            found.setdefault(category, []).append(point)
    return found


@lru_cache(maxsize=1)
def real_texts() -> tuple[str, ...]:
    """Real text to cut snippets from: what the repository carries, some of Python's sources, and shared corpora."""
    paths: list[Path | None] = [carried_file("hamlet_gut.txt")]
    paths += sorted(Path(os.__file__).parent.glob("*.py"))[:60]
    names = ("udhr_all_languages.txt", "json/twitter.json", "blns.json", "pride_and_prejudice.txt")
    paths += [shared_file(f"text/{name}") for name in names]
    return tuple(path.read_bytes().decode("utf-8", errors="replace") for path in paths if path is not None)


def _point(r: Random) -> str:
    """Any code point but a surrogate."""
    point = r.randrange(_LAST - 0x800)
    return chr(point if point < 0xD800 else point + 0x800)


def _in_block(r: Random) -> str:
    low, high = r.choice(_BLOCKS)
    point = r.randrange(low, high)
    return chr(point)


def _length(r: Random, most: int) -> int:
    """Short lengths mostly, sometimes up to ``most``."""
    return 1 + int(most * r.random() ** 4)


def _snippet(r: Random) -> str:
    text = r.choice(real_texts())
    start = r.randrange(max(len(text), 1))
    return text[start : start + _length(r, 250)]


def _edited_snippet(r: Random) -> str:
    characters = list(_snippet(r))
    for _ in range(r.randrange(1, 4)):
        place = r.randrange(len(characters) + 1)
        characters[place:place] = r.choice((_in_block, _spacing, _contraction, _invisible))(r)
    return "".join(characters)


def _word(r: Random) -> str:
    if r.random() < 0.5:
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    else:
        low, high = r.choice(_BLOCKS[:17])
        letters = "".join(chr(r.randrange(low, high)) for _ in range(12))
    return "".join(r.choices(letters, k=_length(r, 24)))


def _long_word(r: Random) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz" if r.random() < 0.6 else "aeioustr\u00e9\u00df"
    return "".join(r.choices(letters, k=_length(r, 500)))


def _run(r: Random) -> str:
    unit = r.choice((_in_block, _spacing, _point))(r)[:2]
    return unit * _length(r, 1200)


def _contraction(r: Random) -> str:
    before = _word(r) if r.random() < 0.7 else r.choice(("", " ", "1", "\n", "'", "\u0130"))
    after = r.choice(("", " ", "t", "1", "'", "\n", "S"))
    return before + r.choice(_APOSTROPHES) + r.choice(_ENDINGS) + after


def _spacing(r: Random) -> str:
    return "".join(r.choices(_COMMON_SPACES if r.random() < 0.6 else _SPACES, k=_length(r, 12)))


def _digits(r: Random) -> str:
    pool = _by_category()[r.choice(("Nd", "Nd", "Nl", "No"))]
    if r.random() < 0.4:
        return "".join(r.choices("0123456789", k=_length(r, 20)))
    return "".join(chr(point) for point in r.choices(pool, k=_length(r, 10)))


def _marks(r: Random) -> str:
    marks = _by_category()[r.choice(("Mn", "Mc", "Me"))]
    return "".join(_in_block(r) + "".join(map(chr, r.choices(marks, k=r.randrange(4)))) for _ in range(_length(r, 8)))


def _invisible(r: Random) -> str:
    return "".join(r.choices(_INVISIBLE, k=r.randrange(1, 4)))


def _emoji(r: Random) -> str:
    faces = [chr(r.randrange(0x1F300, 0x1FAFF)) for _ in range(r.randrange(1, 5))]
    joined = r.choice(("\u200d", "", "\ufe0f\u200d", "\U0001f3fd")).join(faces)
    flag = "".join(chr(0x1F1E6 + r.randrange(26)) for _ in range(r.randrange(4)))
    return joined + flag


def _odd_points(r: Random) -> str:
    kind = r.randrange(3)
    if kind == 0:
        return "".join(chr(r.randrange(0xE000, 0xF900)) for _ in range(_length(r, 6)))
    if kind == 1:
        return "".join(map(chr, r.choices(_NONCHARACTERS, k=_length(r, 6))))
    return "".join(map(chr, r.choices(_by_category()["Cn"], k=_length(r, 6))))


def _category(r: Random) -> str:
    names = [name for name in _by_category() if name not in ("Cn", "Co")]
    chosen = r.sample(names, k=r.randrange(1, 4))
    return "".join(chr(r.choice(_by_category()[r.choice(chosen)])) for _ in range(_length(r, 30)))


def _anything(r: Random) -> str:
    return "".join(_point(r) for _ in range(_length(r, 30)))


def _special_like(r: Random) -> str:
    text = r.choice(_SPECIALS)
    if r.random() < 0.4:  # almost one
        cut = r.randrange(len(text))
        text = text[:cut] + r.choice(("", " ", "|", text[cut : cut + 1] * 2)) + text[cut + 1 :]
    return r.choice(("", " ", "\n", "a")) + text * r.choice((1, 1, 2)) + r.choice(("", " ", "\n", "b"))


def _punctuation(r: Random) -> str:
    return "".join(r.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \n/", k=_length(r, 30)))


def _latin(r: Random) -> str:
    return r.randbytes(_length(r, 60)).decode("latin-1")


#: Makers of one string each; all are drawn equally often, alone or glued together.
SHAPES: tuple[Callable[[Random], str], ...] = (
    _snippet, _edited_snippet, _word, _long_word, _run, _contraction, _spacing, _digits, _marks, _invisible, _emoji,
    _odd_points, _category, _anything, _special_like, _punctuation, _latin,
)  # fmt: skip


def fuzz_texts(count: int, seed: int) -> Iterator[str]:
    """``count`` strings; one in a thousand is empty, half are single shapes, half two to five glued together."""
    r = Random(seed)
    for _ in range(count):
        how = r.random()
        if how < 0.001:
            yield ""
        elif how < 0.5:
            yield r.choice(SHAPES)(r)
        else:
            yield "".join(r.choice(SHAPES)(r) for _ in range(r.randrange(2, 6)))
