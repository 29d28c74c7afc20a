"""Plain twin of ``numba_nlp/kernels/segment/merge.py`` and ``merge_long.py``, written for obviousness."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise


def merge_bytes(piece: bytes, merges: Mapping[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Merge the bytes of a pre-token until nothing merges.

    Parameters
    ----------
    piece : bytes
    merges : Mapping of (left, right) to (number, product)
        Symbols below 256 are bytes. The lowest number merges first, the leftmost pair among equals.

    Returns
    -------
    list of int
        The symbols left.
    """
    symbols = list(piece)
    while True:
        candidates = [(merges[pair][0], position) for position, pair in enumerate(pairwise(symbols)) if pair in merges]
        if not candidates:
            return symbols
        _, position = min(candidates)
        product = merges[symbols[position], symbols[position + 1]][1]
        symbols[position : position + 2] = [product]
