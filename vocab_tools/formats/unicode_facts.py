"""What training needs to know of Unicode, from the data file of the package.

Written by ``tools/generate_training_tables.py``.
"""

from __future__ import annotations

import io
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["decompositions", "folds", "scripts"]

_SYLLABLES = 0xAC00
_N_SYLLABLES = 11172
_N_VOWELS = 21
_N_TAILS = 28


@lru_cache(maxsize=1)
def _arrays() -> dict[str, NDArray[Any]]:
    content = (resources.files("vocab_tools") / "data" / "training.npz").read_bytes()
    with np.load(io.BytesIO(content)) as file:
        return {name: file[name] for name in file.files}


def _texts(name: str, offsets: str) -> list[str]:
    text = "".join(map(chr, _arrays()[name].tolist()))
    bounds = _arrays()[offsets].tolist()
    return [text[start:stop] for start, stop in pairwise(bounds)]


def decompositions() -> dict[str, tuple[str, str]]:
    """Characters that NFKD changes: what it makes of them, and what NFKC makes of them."""
    parts, composed = _texts("parts", "part_offsets"), _texts("composed", "composed_offsets")
    characters = map(chr, _arrays()["characters"].tolist())
    made = dict(zip(characters, zip(parts, composed, strict=True), strict=True))
    for number in range(_N_SYLLABLES):  # Unicode standard, 3.12
        lead, rest = divmod(number, _N_VOWELS * _N_TAILS)
        vowel, tail = divmod(rest, _N_TAILS)
        syllable = chr(_SYLLABLES + number)
        made[syllable] = (
            chr(0x1100 + lead) + chr(0x1161 + vowel) + (chr(0x11A7 + tail) if tail else ""),
            syllable,
        )
    return made


def folds() -> dict[str, str]:
    """Simple case folds: one character by one other."""
    return {chr(character): chr(fold) for character, fold in _arrays()["folds"].tolist()}


@lru_cache(maxsize=1)
def scripts() -> tuple[NDArray[np.uint8], list[str]]:
    """Number of the script of every code point, and the names of the scripts; 0 is Common, or none."""
    arrays = _arrays()
    ends = np.append(arrays["script_starts"][1:], 0x110000)
    numbers = np.repeat(arrays["script_numbers"], ends - arrays["script_starts"])
    numbers.flags.writeable = False
    return numbers, arrays["script_names"].tolist()
