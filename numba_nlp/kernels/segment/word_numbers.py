"""Which word (pre-token) of its text each id of byte-level BPE belongs to, as tokenizers counts them.

Words are counted from 0 in each row; a special token in the text is a word of its own
(:mod:`numba_nlp.kernels.segment.number_rows`).

Twin: ``numba_nlp.reference.segment.word_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.number_rows import numbers_function
from numba_nlp.kernels.segment.scan import (
    next_end_cl100k,
    next_end_gpt2,
    next_end_llama3,
    next_end_o200k,
    next_end_qwen2,
    next_end_tekken,
)
from numba_nlp.kernels.segment.scan_deepseek import next_end_deepseek_v3
from numba_nlp.kernels.specialising import specialise

__all__ = ["NUMBER_WORDS", "SCANS"]


@inlined
def _text_end(class_index, class_blocks, data, position, stop):
    """Each stretch of text is one word."""
    return stop


def _number_text(tables, data, start, stop, working, ids, last, word, words, at):
    """Number the ids of one text, of which each stands for as many bytes as its piece has."""
    class_index, class_blocks = tables
    piece_offsets = working
    position, reached = start, start
    while position < stop:
        position = np.int64(
            next_end(class_index, class_blocks, data, position, stop)  # noqa: F821  bound by `specialise`
        )
        while reached < position:
            if at >= last:
                return word, np.int64(STATUS_NOT_TILING)
            reached += piece_offsets[ids[at] + 1] - piece_offsets[ids[at]]
            words[at] = word
            at += 1
        word += np.int32(1)
    return word, at


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
#: :func:`numba_nlp.kernels.segment.number_rows.number_words` by the name of the pattern; ``"whole"``: each stretch of
#: text is one word. The tables are ``class_index`` and ``class_blocks`` of a vocabulary; in place of memory it takes
#: ``piece_offsets`` (int64[V + 1]): ``piece_offsets[id + 1] - piece_offsets[id]`` is the number of bytes of a piece.
NUMBER_WORDS = {
    pattern: numbers_function(
        f"number_words_{pattern}", inlined(specialise(_number_text, f"_number_text_{pattern}", next_end=scan))
    )
    for pattern, scan in SCANS.items()
}
