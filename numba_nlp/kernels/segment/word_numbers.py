"""Which word (pre-token) of its text each id of byte-level BPE belongs to, as tokenizers counts them.

Words are counted from 0 in each row; a special token in the text is a word of its own.

Twin: ``numba_nlp.reference.segment.word_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.cached_rows import specialise
from numba_nlp.kernels.segment.scan import (
    next_end_cl100k,
    next_end_gpt2,
    next_end_llama3,
    next_end_o200k,
    next_end_qwen2,
    next_end_tekken,
)
from numba_nlp.kernels.segment.scan_deepseek import next_end_deepseek_v3

__all__ = ["NUMBER_WORDS", "SCANS", "number_words"]


@inlined
def _text_end(class_index, class_blocks, data, position, stop):
    """Each stretch of text is one word."""
    return stop


def number_words(
    class_index,
    class_blocks,
    piece_offsets,
    data,
    starts,
    ends,
    fixed,
    row_first_segment,
    ids,
    id_offsets,
    words,
):
    """Write the word number of every id of a batch.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
    piece_offsets : int64[V + 1]
        ``piece_offsets[id + 1] - piece_offsets[id]`` is the number of bytes of a piece.
    data : uint8[n]
        Valid UTF-8, as it was encoded (with prefix spaces).
    starts, ends, fixed : int64[s], int64[s], int32[s] or int32[0]
        Stretches of text, and given ids (>= 0).
    row_first_segment : int64[rows + 1] or int64[0]
        The stretches of each row; empty: one each.
    ids, id_offsets : int32[m], int64[rows + 1]
        What the rows were encoded to.
    words : int32[m]
        Written.

    Returns
    -------
    int64
        Number of ids, or ``STATUS_NOT_TILING`` when the ids do not belong to the text.
    """
    for row in range(id_offsets.size - 1):
        token = id_offsets[row]
        last = id_offsets[row + 1]
        word = np.int32(0)
        segment = np.int64(row)
        last_segment = np.int64(row + 1)
        if row_first_segment.size > 0:
            segment = row_first_segment[row]
            last_segment = row_first_segment[row + 1]
        while segment < last_segment:
            if fixed.size > 0 and fixed[segment] >= 0:
                if token >= last:
                    return np.int64(STATUS_NOT_TILING)
                words[token] = word
                word += np.int32(1)
                token += 1
                segment += 1
                continue
            position = starts[segment]
            reached = position
            stop = ends[segment]
            while position < stop:
                position = np.int64(
                    next_end(class_index, class_blocks, data, position, stop)  # noqa: F821  bound by `specialise`
                )
                while reached < position:
                    if token >= last:
                        return np.int64(STATUS_NOT_TILING)
                    reached += piece_offsets[ids[token] + 1] - piece_offsets[ids[token]]
                    words[token] = word
                    token += 1
                word += np.int32(1)
            segment += 1
        if token != last:
            return np.int64(STATUS_NOT_TILING)
    return np.int64(ids.size)


#: What finds the end of a pre-token, by the name of the pattern.
SCANS = {
    "gpt2": next_end_gpt2,
    "cl100k": next_end_cl100k,
    "o200k": next_end_o200k,
    "llama3": next_end_llama3,
    "qwen2": next_end_qwen2,
    "tekken": next_end_tekken,
    "deepseek_v3": next_end_deepseek_v3,
    "whole": _text_end,
}
#: :func:`number_words` compiled for each pattern, by name; ``"whole"``: each stretch of text is one word.
NUMBER_WORDS = {
    pattern: kernel(specialise(number_words, f"number_words_{pattern}", next_end=scan))
    for pattern, scan in SCANS.items()
}
