"""Plain twin of ``numba_nlp/kernels/articles/bpe_naive.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from numba_nlp.reference.articles.merge_pieces import Symbol, Token, emit_tokens, piece_rank, prepare_text


def merge_naively(ranks: Mapping[str, int], prepared: str, symbols: Sequence[Symbol]) -> list[Symbol]:
    """Merge the best pair until there is none: the lowest rank, the leftmost among equals."""
    symbols = list(symbols)
    while True:
        found = []
        for place, (left, right) in enumerate(pairwise(symbols)):
            rank = piece_rank(ranks, prepared, left, right)
            if rank is not None:
                found.append((rank, place))
        if not found:
            return symbols
        _, place = min(found)
        symbols[place : place + 2] = [Symbol(symbols[place].start, symbols[place + 1].stop)]


def tokenize_naive(ranks: Mapping[str, int], unknown: int, text: str) -> list[Token]:
    """Tokens of a text."""
    prepared = prepare_text(text)
    symbols = merge_naively(ranks, prepared, [Symbol(place, place + 1) for place in range(len(prepared))])
    return emit_tokens(ranks, unknown, text, prepared, symbols)
