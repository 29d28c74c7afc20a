"""Plain twin of ``numba_nlp/kernels/articles/merge_pieces.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

SPACE = "\u2581"
#: The characters with the Unicode property White_Space.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


class Symbol(NamedTuple):
    """Characters ``start`` to ``stop`` of the prepared text."""

    start: int
    stop: int


class Token(NamedTuple):
    """An id, and the bytes of the original text."""

    number: int
    start: int
    stop: int


def new_merge_pieces(pieces: Sequence[str]) -> dict[str, int]:
    """Pieces and their ids; the lower, the earlier a piece is merged."""
    return {piece: number for number, piece in enumerate(pieces)}


def prepare_text(text: str) -> str:
    """Put U+2581 for white space, and one in front of a text that does not start with it."""
    prefix = "" if text.startswith(SPACE) else SPACE
    return prefix + "".join(SPACE if character in WHITE_SPACE else character for character in text)


def piece_rank(ranks: Mapping[str, int], prepared: str, left: Symbol, right: Symbol) -> int | None:
    """Rank of the merge of two neighbours, or None."""
    return ranks.get(prepared[left.start : right.stop])


def emit_tokens(
    ranks: Mapping[str, int], unknown: int, text: str, prepared: str, symbols: Sequence[Symbol]
) -> list[Token]:
    """Ids and slices of the original text."""
    n_added = len(prepared) - len(text)

    def origin(place: int) -> int:
        return len(text[: max(place - n_added, 0)].encode())

    return [
        Token(ranks.get(prepared[symbol.start : symbol.stop], unknown), origin(symbol.start), origin(symbol.stop))
        for symbol in symbols
    ]
