"""Plain twins of the helpers in ``numba_nlp/kernels/segment/scan_deepseek.py``."""

from __future__ import annotations

from numba_nlp.reference.segment.characters import character
from numba_nlp.reference.segment.scan import CJK, next_end_deepseek_v3

__all__ = ["ascii_letters_end", "is_cjk", "next_end_deepseek_v3", "piece_character", "piece_run_end"]


def is_cjk(data, position) -> bool:
    """Whether the character is in ``[一-龥぀-ゟ゠-ヿ]``."""
    return bytes(data[position : position + 4]).decode(errors="ignore")[0] in CJK


def piece_character(class_index, class_blocks, data, position, stop, in_cjk) -> tuple[int, int]:
    """Class and end of a character, or 15 and ``position`` where the piece around it ends."""
    if position < stop:
        character_class, end = character(class_index, class_blocks, data, position)
        if character_class != 7 and is_cjk(data, position) == in_cjk:
            return character_class, end
    return 15, position


def piece_run_end(class_index, class_blocks, data, position, stop, in_cjk, classes) -> int:
    """End of the longest run of characters of some classes that stays within the piece."""
    character_class, end = piece_character(class_index, class_blocks, data, position, stop, in_cjk)
    while classes >> character_class & 1:
        position = end
        character_class, end = piece_character(class_index, class_blocks, data, position, stop, in_cjk)
    return position


def ascii_letters_end(data, position, stop) -> int:
    """End of a run of ``[A-Za-z]``."""
    text = bytes(data[position:stop]).decode()
    length = 0
    while length < len(text) and text[length].isascii() and text[length].isalpha():
        length += 1
    return position + length
