"""Plain twin of ``numba_nlp/kernels/segment/sentencepiece_bpe.py``: merging by texts, written for obviousness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

NORMAL, _UNKNOWN, _CONTROL, USER_DEFINED, UNUSED = range(5)


class Piece(NamedTuple):
    """A piece that can stand in text: normal, user-defined or unused."""

    number: int
    score: float
    kind: int = NORMAL


class Token(NamedTuple):
    """An id and the place, in bytes, where it ends."""

    number: int
    end: int


class Symbol(NamedTuple):
    """Some characters, how they were joined, and whether they never join others."""

    text: str
    parts: tuple[Symbol, ...] = ()
    is_frozen: bool = False


def fill_symbols(text: str, pieces: Mapping[str, Piece]) -> list[Symbol]:
    """Cut a text into user-defined symbols, the longest at each place, and characters."""
    user = [piece for piece in pieces if pieces[piece].kind == USER_DEFINED]
    symbols, place = [], 0
    while place < len(text):
        found = max((piece for piece in user if text.startswith(piece, place)), key=len, default="")
        symbols.append(Symbol(found or text[place], is_frozen=bool(found)))
        place += len(symbols[-1].text)
    return symbols


def merge(symbols: Sequence[Symbol], pieces: Mapping[str, Piece]) -> list[Symbol]:
    """Join neighbours whose text is a piece, the highest score first, the leftmost among equals."""
    symbols = list(symbols)
    while True:
        candidates = [
            (-pieces[left.text + right.text].score, place)
            for place, (left, right) in enumerate(pairwise(symbols))
            if left.text + right.text in pieces and not left.is_frozen and not right.is_frozen
        ]
        if not candidates:
            return symbols
        _, place = min(candidates)
        left, right = symbols[place : place + 2]
        symbols[place : place + 2] = [Symbol(left.text + right.text, (left, right))]


def take_apart(symbol: Symbol, pieces: Mapping[str, Piece]) -> list[Symbol]:
    """Undo the merges that made unused pieces."""
    if symbol.parts and pieces[symbol.text].kind == UNUSED:
        return [small for part in symbol.parts for small in take_apart(part, pieces)]
    return [symbol]


def segment(
    text: str,
    pieces: Mapping[str, Piece],
    unknown: int,
    byte_ids: Sequence[int] | None,
    fuse: bool = True,
) -> list[Token]:
    """Ids of a text, all of it at once.

    Parameters
    ----------
    text : str
        Normalised.
    pieces : Mapping of str to Piece
        Normal, user-defined and unused pieces.
    unknown : int
        Id of what is no piece.
    byte_ids : sequence of int or None
        Ids of the bytes, with byte fallback.
    fuse : bool
        Whether a run of unknown characters has one id.

    Returns
    -------
    list of Token
    """
    merged = merge(fill_symbols(text, pieces), pieces)
    tokens: list[Token] = []
    end = 0
    was_unknown = False
    for symbol in [small for large in merged for small in take_apart(large, pieces)]:
        content = symbol.text.encode()
        end += len(content)
        is_unknown = symbol.text not in pieces or pieces[symbol.text].kind == UNUSED
        if not is_unknown:
            tokens.append(Token(pieces[symbol.text].number, end))
        elif byte_ids is not None:
            start = end - len(content)
            tokens += [Token(byte_ids[byte], start + i + 1) for i, byte in enumerate(content)]
        elif was_unknown and fuse:
            tokens[-1] = Token(unknown, end)
        else:
            tokens.append(Token(unknown, end))
        was_unknown = is_unknown
    return tokens


def segment_raw(
    text: str, pieces: Mapping[str, Piece], unknown: int, byte_ids: Sequence[int] | None, prefix: bool
) -> list[Token]:
    """Ids of a text in which spaces become U+2581, one more in front with ``prefix``; ends in the text as it is."""
    escaped = ("\u2581" if prefix and text else "") + text.replace(" ", "\u2581")
    ends = [0] * (3 if prefix else 0) + [0]
    for character in text:
        n = len(character.encode())
        ends += [ends[-1] + 1] * 3 if character == " " else [ends[-1] + i + 1 for i in range(n)]
    return [Token(number, ends[end]) for number, end in segment(escaped, pieces, unknown, byte_ids)]
