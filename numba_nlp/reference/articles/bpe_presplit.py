"""Plain twin of ``numba_nlp/kernels/articles/bpe_presplit.py``."""

from __future__ import annotations

import string
from collections.abc import Mapping

from numba_nlp.reference.articles.bpe_naive import merge_naively
from numba_nlp.reference.articles.merge_pieces import SPACE, Symbol, Token, emit_tokens, prepare_text


def split_words(prepared: str) -> list[Symbol]:
    """Words that start at each U+2581, and punctuation by itself."""
    words: list[Symbol] = []
    for place, character in enumerate(prepared):
        alone = character in string.punctuation
        after_punctuation = place > 0 and prepared[place - 1] in string.punctuation
        if place == 0 or alone or after_punctuation or character == SPACE:
            words.append(Symbol(place, place + 1))
        else:
            words[-1] = Symbol(words[-1].start, place + 1)
    return words


def tokenize_naive_presplit(ranks: Mapping[str, int], unknown: int, text: str) -> list[Token]:
    """Tokens of a text, word by word."""
    prepared = prepare_text(text)
    symbols: list[Symbol] = []
    for word in split_words(prepared):
        symbols += merge_naively(ranks, prepared, [Symbol(place, place + 1) for place in range(*word)])
    return emit_tokens(ranks, unknown, text, prepared, symbols)
