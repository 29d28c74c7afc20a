"""Plain twin of :mod:`numba_nlp.kernels.segment.normalize_edits`."""

from __future__ import annotations

import re

from numba_nlp.reference.segment.code_points import is_white_space
from numba_nlp.reference.segment.normalize_text import Character, put_characters, text_of

__all__ = ["prepend", "replace_matches", "replace_runs", "replace_string", "spell_bytes", "spelled", "strip"]


def strip(left: bool, right: bool, characters: list[Character]) -> list[Character]:
    """Take white space off the ends."""
    kept = list(characters)
    while left and kept and is_white_space(ord(kept[0].text)):
        kept.pop(0)
    while right and kept and is_white_space(ord(kept[-1].text)):
        kept.pop()
    return kept


def prepend(content: str, characters: list[Character]) -> list[Character]:
    """Put something before a text that is not empty, with the range of the text's first character."""
    if not characters:
        return []
    return put_characters(content, characters[0].start, characters[0].end) + characters


def replace_matches(matches: list[tuple[int, int]], content: str, characters: list[Character]) -> list[Character]:
    """Replace stretches of characters; the content has the range of the last character that it replaces."""
    result: list[Character] = []
    done = 0
    for first, last in matches:
        result += characters[done:first]
        result += put_characters(content, characters[last - 1].start, characters[last - 1].end)
        done = last
    return result + characters[done:]


def replace_string(pattern: str, content: str, characters: list[Character]) -> list[Character]:
    """Replace every occurrence of a string."""
    found = [match.span() for match in re.finditer(re.escape(pattern), text_of(characters))]
    return replace_matches(found, content, characters)


def replace_runs(member: str | None, least: int, content: str, characters: list[Character]) -> list[Character]:
    """Replace every run of at least ``least`` of one character, or (``None``) of white space."""
    flags = [
        is_white_space(ord(character.text)) if member is None else character.text == member for character in characters
    ]
    runs = re.finditer(f"1{{{least},}}", "".join(str(int(flag)) for flag in flags))
    return replace_matches([run.span() for run in runs], content, characters)


def spell_bytes(characters: list[Character]) -> list[Character]:
    """Write every byte as the character that stands for it."""
    result: list[Character] = []
    for text, start, end in characters:
        result += put_characters("".join(chr(spelled(byte)) for byte in text.encode()), start, end)
    return result


def spelled(byte: int) -> int:
    """Code point that stands for a byte in GPT-2's alphabet."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in printable:
        return byte
    return 0x100 + sum(other not in printable for other in range(byte))
