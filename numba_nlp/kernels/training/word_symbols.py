"""Words as symbols: the characters they are made of, told apart by their place in the word.

Twin: ``numba_nlp.reference.training.word_symbols``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.code_points import code_point_at, encoded_length

__all__ = ["FORMS", "count_characters", "fill_symbols", "mark_forms"]

#: Forms of a character: 0 the first of several, 1 neither first nor last, 2 the only one, 3 the last of several.
FORMS = 4


@inlined
def _character(data, position, is_bytes):
    """Character at a place, and the place after it; each byte is one when words are bytes."""
    if is_bytes:
        return np.int64(data[position]), position + 1
    code_point = code_point_at(data, position)
    return code_point, position + encoded_length(code_point)


@kernel
def count_characters(data, offsets, counts, is_bytes, totals):
    """Count the characters of counted words.

    Parameters
    ----------
    data, offsets, counts : uint8[m], int64[words + 1], int64[words]
    is_bytes : bool
        Characters are bytes.
    totals : int64[0x110000] or int64[256]
        Added to.

    Returns
    -------
    int64
        Number of characters of all distinct words.
    """
    n = np.int64(0)
    for word in range(counts.size):
        position = offsets[word]
        while position < offsets[word + 1]:
            character, position = _character(data, position, is_bytes)
            totals[character] += counts[word]
            n += 1
    return n


@kernel
def mark_forms(data, offsets, is_bytes, used):
    """Mark in which forms each character occurs.

    Parameters
    ----------
    data, offsets : uint8[m], int64[words + 1]
    is_bytes : bool
    used : uint8[FORMS * characters]
        Written: 1 at ``FORMS * character + form``.

    Returns
    -------
    int64
        Number of words.
    """
    for word in range(offsets.size - 1):
        first, stop = offsets[word], offsets[word + 1]
        position = first
        while position < stop:
            form = np.int64(position > first)
            character, position = _character(data, position, is_bytes)
            if position == stop:
                form += 2
            used[FORMS * character + form] = 1
    return np.int64(offsets.size - 1)


@kernel
def fill_symbols(data, offsets, is_bytes, form_ids, symbols, starts, lengths):
    """Write the symbols of words; characters without a symbol are left out.

    Parameters
    ----------
    data, offsets : uint8[m], int64[words + 1]
    is_bytes : bool
    form_ids : int32[FORMS * characters]
        Symbol of each form of a character, -1 for none.
    symbols : int32[n]
        Written; ``n`` is at least the number of characters.
    starts, lengths : int64[words], int32[words]
        Written: the symbols of word ``i`` are ``symbols[starts[i]:starts[i] + lengths[i]]``.

    Returns
    -------
    int64
        Number of symbols.
    """
    n = np.int64(0)
    for word in range(starts.size):
        starts[word] = n
        first, stop = offsets[word], offsets[word + 1]
        position = first
        while position < stop:
            form = np.int64(position > first)
            character, position = _character(data, position, is_bytes)
            if position == stop:
                form += 2
            symbol = form_ids[FORMS * character + form]
            if symbol >= 0:
                symbols[n] = symbol
                n += 1
        lengths[word] = np.int32(n - starts[word])
    return n
