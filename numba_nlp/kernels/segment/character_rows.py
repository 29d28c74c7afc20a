"""Rows of character BPE as text with the cuts written into it, with or without dropout; nothing comes from a cache.

Twin: ``numba_nlp.reference.segment.character_rows``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cached_loops import BLOCK
from numba_nlp.kernels.segment.character_bpe import encode_words
from numba_nlp.kernels.segment.character_words import fill_spaces

__all__ = ["segment_rows"]

_SPACE = 0x20


@kernel
def segment_rows(
    tables, data, row_starts, row_ends, first_row, probability, state, separator, scratch, ids, starts, ends, text,
    offsets,
):  # fmt: skip
    """Rows of text with the separator between the tokens of a word.

    Parameters
    ----------
    tables : CharacterBpeTables
        Of words between spaces.
    data : uint8[m]
        Valid UTF-8.
    row_starts, row_ends : int64[rows], int64[rows]
    first_row : int64
        Row to begin with: those before are done.
    probability, state : float64, uint64[3]
        As of :func:`numba_nlp.kernels.segment.dropout_rows.drop_rows`.
    separator : uint8[k]
    scratch : CharacterBpeScratch
    ids, starts, ends : int32[t], int64[t], int64[t]
        Working memory: two elements for each byte of the longest row, and more.
    text, offsets : uint8[n], int64[rows + 1]
        Written: row ``r`` is ``text[offsets[r]:offsets[r + 1]]``.

    Returns
    -------
    int64
        Number of rows; the row to go on with when a word of it does not fit into the scratch;
        ``STATUS_OUTPUT_FULL`` when ``text`` has no room.
    """
    base = np.int64(state[1])
    for row in range(first_row, row_starts.size):
        out = offsets[row]
        state[1] = np.uint64(base + row)
        state[2] = np.uint64(0)
        scratch.ends[scratch.ends.size - 1] = 0
        position, stop = row_starts[row], row_ends[row]
        while position < stop:
            n, position = fill_spaces(
                tables, data, position, stop, scratch.starts, scratch.ends, np.int64(0), np.int64(BLOCK)
            )
            for i in range(n):
                word, word_end = scratch.starts[i], scratch.ends[i]
                n_tokens = encode_words(
                    tables, data, word, word_end, probability, state, scratch, ids, starts, ends, np.int64(0)
                )
                if n_tokens < 0:
                    state[1] = np.uint64(base)
                    return np.int64(row)
                if out + word_end - word + n_tokens * (separator.size + 1) + 1 > text.size:
                    state[1] = np.uint64(base)
                    return np.int64(STATUS_OUTPUT_FULL)
                if out > offsets[row]:
                    text[out] = _SPACE
                    out += 1
                for token in range(n_tokens):
                    for place in range(word + starts[token], word + ends[token]):
                        text[out] = data[place]
                        out += 1
                    if token < n_tokens - 1:
                        for k in range(separator.size):
                            text[out] = separator[k]
                            out += 1
                        text[out] = _SPACE
                        out += 1
        offsets[row + 1] = out
    state[1] = np.uint64(base)
    return np.int64(row_starts.size)
