"""Plain twin of ``numba_nlp/kernels/segment/normalize_bert.py``: characters in lists, runs of marks sorted."""

from __future__ import annotations

from typing import NamedTuple

from numba_nlp.kernels.segment.normalize_bert import (
    CHINESE_WORD,
    DELETED,
    ITSELF,
    LETTER,
    NO_CLASS,
    PUNCTUATION_WORD,
    SEVERAL,
    SPACE,
)


class Character(NamedTuple):
    """A character of normalised text."""

    text: str
    kind: int
    start: int  # bytes of the text that it came from
    end: int


class _Mark(NamedTuple):
    character: Character | None  # None: it is deleted, after marks are put into order
    combining_class: int


def unit_of(normal_index, normal_blocks, code_point: int) -> int:
    """Unit of a code point."""
    return int(normal_blocks[int(normal_index[code_point // 128]) * 128 + code_point % 128])


def characters(tables, data, start: int, stop: int) -> list[Character]:
    """Normalised characters of a text, with what the pre-tokeniser takes them for and where they came from.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[m]
    start, stop : int
        The text.
    """
    marks: list[_Mark] = []
    place = 0
    for old in bytes(data[start:stop]).decode():
        end = place + len(old.encode())
        unit = unit_of(tables.normal_index, tables.normal_blocks, ord(old))
        kind, value, rest = unit & 7, unit >> 3 & 0x1FFFFF, unit >> 24
        if kind == SEVERAL:
            for part in tables.normal_several[value : value + rest].tolist():
                marks.append(_Mark(Character(chr(part >> 3 & 0x1FFFFF), part & 7, place, end), part >> 24))
        elif kind != DELETED:
            new = old if value == ITSELF else chr(value)
            if kind == CHINESE_WORD:
                marks.append(_Mark(Character(" ", SPACE, place, end), 0))
            marks.append(_Mark(Character(new, kind, place, end), rest))
            if kind == CHINESE_WORD:
                marks.append(_Mark(Character(" ", SPACE, place, end), 0))
        elif rest != NO_CLASS:
            marks.append(_Mark(None, rest))
        place = end
    ordered: list[_Mark] = []
    run: list[_Mark] = []
    for mark in [*marks, _Mark(None, 0)]:
        if mark.combining_class == 0:
            # canonical order: by combining class, marks of one class as they came
            ordered += [*sorted(run, key=lambda one: one.combining_class), mark]
            run = []
        else:
            run.append(mark)
    return [mark.character for mark in ordered if mark.character is not None]


def normalize(tables, data, start: int, stop: int) -> tuple[bytes, list[int], list[int]]:
    """Normalised text, and for each of its bytes the bytes, relative to ``start``, of the character it came from."""
    found = characters(tables, data, start, stop)
    starts = [one.start for one in found for _ in one.text.encode()]
    ends = [one.end for one in found for _ in one.text.encode()]
    return "".join(one.text for one in found).encode(), starts, ends


def words(tables, data, start: int, stop: int) -> list[list[Character]]:
    """The pre-tokens of a text: what white space, punctuation and Chinese characters leave between them."""
    found: list[list[Character]] = []
    word: list[Character] = []
    for one in characters(tables, data, start, stop):
        if one.kind == LETTER:
            word.append(one)
            continue
        found.append(word)
        word = []
        if one.kind in (PUNCTUATION_WORD, CHINESE_WORD):
            found.append([one])
    return [word for word in [*found, word] if word]
