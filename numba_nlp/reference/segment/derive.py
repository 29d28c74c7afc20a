"""Twins of ``numba_nlp.kernels.segment.derive``, on bytes and dictionaries instead of symbols and tables."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from numba_nlp.reference.segment.merge import merge_bytes


def merge_alone(symbols: list[int], merges: Mapping[tuple[int, int], tuple[int, int]], enough: int) -> list[int]:
    """Merge a row of symbols until nothing merges, or until only ``enough`` of them are left.

    Parameters
    ----------
    symbols : list of int
    merges : Mapping of (left, right) to (number, product)
    enough : int

    Returns
    -------
    list of int
    """
    symbols = list(symbols)
    while len(symbols) > enough:
        pairs = [(symbols[i], symbols[i + 1]) for i in range(len(symbols) - 1)]
        known = [pair for pair in pairs if pair in merges]
        if not known:
            break
        first = pairs.index(min(known, key=lambda pair: merges[pair][0]))
        symbols[first : first + 2] = [merges[pairs[first]][1]]
    return symbols


def derive_merges(ranks: Mapping[bytes, int]) -> dict[bytes, tuple[bytes, bytes] | None]:
    """Find the last merge of each piece's own bytes under the rule of rank files.

    Any two neighbours merge whose concatenation is a piece, the lowest rank first and the leftmost among equals. All
    pieces take part here, whatever their length.

    Parameters
    ----------
    ranks : Mapping of bytes to int
        Pieces and their ranks, every single byte among them.

    Returns
    -------
    dict of bytes to (bytes, bytes) or None
        For each piece of two bytes and more the pair that makes it; None when merging never makes it.
    """
    return {piece: _last_pair(piece, ranks) for piece in ranks if len(piece) > 1}


def _last_pair(piece: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while True:
        joined = [left + right for left, right in pairwise(parts)]
        known = [whole for whole in joined if whole in ranks]
        if not known:
            return None
        first = joined.index(min(known, key=lambda whole: ranks[whole]))
        if joined[first] == piece:
            return parts[first], parts[first + 1]
        parts[first : first + 2] = [joined[first]]


def enter_merge(merges: dict[tuple[int, int], int], left: int, right: int, number: int) -> None:
    """Enter one merge into a dictionary of merges."""
    merges[left, right] = number


def count_unreached(
    pieces: Mapping[bytes, int], merges: Mapping[tuple[int, int], tuple[int, int]], symbol_ids: list[int]
) -> int:
    """Count the pieces that merging their own bytes does not give.

    Parameters
    ----------
    pieces : Mapping of bytes to int
        Pieces and ids.
    merges : Mapping of (left, right) to (number, product)
        Symbols below 256 are bytes.
    symbol_ids : list of int
        Symbol -> id.

    Returns
    -------
    int
    """
    return sum(
        [symbol_ids[symbol] for symbol in merge_bytes(piece, merges)] != [number] for piece, number in pieces.items()
    )
