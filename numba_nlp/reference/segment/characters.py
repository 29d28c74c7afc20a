"""Plain twins of ``numba_nlp/kernels/segment/characters.py``: the same answers from decoded text."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Tables = tuple[NDArray[np.uint16], NDArray[np.uint8]]


def class_of(class_index: NDArray[np.uint16], class_blocks: NDArray[np.uint8], text: str) -> int:
    """Class of a one-character text."""
    code_point = ord(text)
    return int(class_blocks[int(class_index[code_point >> 7]) * 128 + code_point % 128])


def _classes_in(mask: int) -> set[int]:
    return {number for number in range(16) if mask >> number & 1}


def _text(data: NDArray[np.uint8], position: int, stop: int) -> str:
    return bytes(data[position:stop]).decode()


def _width(text: str) -> int:
    return len(text.encode())


def _run(class_index, class_blocks, text: str, classes: Collection[int]) -> str:
    """Longest start of ``text`` whose characters are all of ``classes``."""
    length = 0
    while length < len(text) and class_of(class_index, class_blocks, text[length]) in classes:
        length += 1
    return text[:length]


def character(class_index, class_blocks, data, position) -> tuple[int, int]:
    """Class and end of the character that starts at a byte."""
    first = _text(data, position, position + _length_by_lead(int(data[position])))
    return class_of(class_index, class_blocks, first), position + _width(first)


def _length_by_lead(lead: int) -> int:
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    return 3 if lead < 0xF0 else 4


def run_end(class_index, class_blocks, data, position, stop, classes) -> int:
    """End of the longest run of characters of some classes."""
    return position + _width(_run(class_index, class_blocks, _text(data, position, stop), _classes_in(classes)))


def lines_end(data, position, stop, slashes) -> int:
    r"""End of a run of ``[\r\n]``, or of ``[\r\n/]``."""
    text = _text(data, position, stop)
    return position + len(text) - len(text.lstrip("\r\n/" if slashes else "\r\n")) if text else position


def digits_end(class_index, class_blocks, data, position, stop, limit) -> int:
    r"""End of a run of at most ``limit`` characters of ``\p{N}``."""
    return position + _width(_run(class_index, class_blocks, _text(data, position, stop), {7})[:limit])


def space_end(class_index, class_blocks, data, position, stop) -> int:
    r"""End of the match of ``\s+(?!\S)|\s+`` at a white space character."""
    text = _text(data, position, stop)
    spaces = _run(class_index, class_blocks, text, {8, 9})
    if spaces != text and len(spaces) > 1:
        spaces = spaces[:-1]
    return position + _width(spaces)


def space_or_lines_end(class_index, class_blocks, data, position, stop) -> int:
    r"""End of the match of ``\s*[\r\n]+|\s+(?!\S)|\s+`` at a white space character."""
    spaces = _run(class_index, class_blocks, _text(data, position, stop), {8, 9})
    lines = max(spaces.rfind("\r"), spaces.rfind("\n")) + 1
    if lines:
        return position + _width(spaces[:lines])
    return space_end(class_index, class_blocks, data, position, stop)


def contraction_end(data, position, stop, fold_case) -> int:
    r"""End of the match of ``'s|'t|'re|'ve|'m|'ll|'d`` at an apostrophe."""
    text = _text(data, position, stop)
    for word in ("s", "t", "re", "ve", "m", "ll", "d"):
        found = text[1 : 1 + len(word)]
        folded = found.replace("\u017f", "s").lower() if fold_case else found
        if folded == word:
            return position + 1 + _width(found)
    return position
