"""The article's second algorithm: the first one, word by word. O(n) for words of bounded length.

A word starts at each U+2581, which it keeps; an ASCII punctuation character is a word of its own. Pieces that reach
over the end of a word are never made, so results differ from those of the other three.

Twin: ``numba_nlp.reference.articles.bpe_presplit``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.articles.bpe_naive import merge_naively
from numba_nlp.kernels.articles.merge_pieces import FIRST, SECOND, THIRD, emit_token, is_too_short, prepare_text


@kernel
def is_ascii_punctuation(byte):
    """Whether a byte is one of the 32 ASCII punctuation characters and symbols.

    Parameters
    ----------
    byte : int64

    Returns
    -------
    bool
    """
    return 0x21 <= byte <= 0x2F or 0x3A <= byte <= 0x40 or 0x5B <= byte <= 0x60 or 0x7B <= byte <= 0x7E


@kernel
def next_word(text, first, n, starts):
    """Number of characters of the word that starts with a character.

    Parameters
    ----------
    text : uint8[m]
        Prepared text.
    first, n : int64
        A character, and the number of all.
    starts : int32[n + 1]
        Where each character starts in ``text``.

    Returns
    -------
    int64
        At least 1.
    """
    if is_ascii_punctuation(np.int64(text[starts[first]])):
        return np.int64(1)
    last = first + 1
    while last < n:
        place = starts[last]
        if is_ascii_punctuation(np.int64(text[place])):
            break
        if text[place] == FIRST and text[place + 1] == SECOND and text[place + 2] == THIRD:
            break
        last += 1
    return last - first


@kernel
def tokenize_naive_presplit(pieces, data, start, stop, scratch, ids, token_starts, token_ends):
    """Tokens of a text; arguments and result as of :func:`numba_nlp.kernels.articles.bpe_naive.tokenize_naive`."""
    if is_too_short(scratch, start, stop):
        return start - stop
    text, starts, words = scratch.text, scratch.starts, scratch.ends
    n = prepare_text(data, start, stop, text, scratch.origins, starts)
    out = np.int64(0)
    first = np.int64(0)
    while first < n:
        size = next_word(text, first, n, starts)
        for i in range(size + 1):
            words[i] = starts[first + i]
        left = merge_naively(pieces, text, np.int64(0), size, words)
        for i in range(left):
            out = emit_token(
                pieces, text, scratch.origins, np.int64(words[i]), np.int64(words[i + 1]), ids, token_starts,
                token_ends, out,
            )  # fmt: skip
        first += size
    return out
