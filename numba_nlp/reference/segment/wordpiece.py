"""Plain twin of ``numba_nlp/kernels/segment/wordpiece.py``: words cut into the longest pieces that a dictionary has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from numba_nlp.reference.segment.normalize_bert import words
from numba_nlp.reference.tables.double_array import ROOT, longest_below


class Pieces(NamedTuple):
    """A vocabulary as dictionaries."""

    first: Mapping[bytes, int]
    further: Mapping[bytes, int]  # without their prefix
    unknown: int
    max_characters: int


class Token(NamedTuple):
    """An id and the bytes of the word that it stands for."""

    id: int
    start: int
    end: int


def segment(pieces: Pieces, word: bytes) -> list[Token]:
    """Tokens of one normalised word."""
    unknown = [Token(pieces.unknown, 0, len(word))]
    if len(word.decode()) > pieces.max_characters:
        return unknown
    tokens: list[Token] = []
    place = 0
    while place < len(word):
        piece, end = longest_below(pieces.further if place else pieces.first, ROOT, word, place, len(word))
        if piece < 0:
            return unknown
        tokens.append(Token(piece, place, end))
        place = end
    return tokens


def encode_words(tables, pieces: Pieces, data, start: int, stop: int) -> list[Token]:
    """Tokens of a text, with the bytes, relative to ``start``, that each comes from."""
    found: list[Token] = []
    for word in words(tables, data, start, stop):
        origin = [one for one in word for _ in one.text.encode()]
        for token in segment(pieces, "".join(one.text for one in word).encode()):
            part = origin[token.start : token.end]
            found.append(Token(token.id, min(one.start for one in part), max(one.end for one in part)))
    return found


def encode_rows_wordpiece(tables, pieces: Pieces, rows: list[str | int]) -> list[list[int]]:
    """Ids of rows of text, or of ids that stand for a row."""
    return [
        [row]
        if isinstance(row, int)
        else [token.id for token in encode_words(tables, pieces, row.encode(), 0, len(row.encode()))]
        for row in rows
    ]
