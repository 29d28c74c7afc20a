"""Which word of its text each id of WordPiece belongs to, as tokenizers counts them.

Words are what BERT's pre-tokenizer leaves of the normalised text, counted from 0 in each row; a special token in the
text is a word of its own. Ids come out of a cache of chunks, so words are cut again, and segmented for their number of
ids.

Twin: ``numba_nlp.reference.segment.wordpiece_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.number_rows import number_word, numbers_function
from numba_nlp.kernels.segment.wordpiece import next_word, segment

__all__ = ["number_words_wordpiece"]


@inlined
def _number_text(tables, data, start, stop, working, ids, last, word, words, at):
    scratch, found = working
    no_places = scratch.from_starts[:0]
    while start < stop:
        start, n, n_characters = next_word(tables, data, start, stop, start, scratch.text, no_places, no_places)
        if n_characters < 0:
            return word, np.int64(STATUS_OUTPUT_FULL)
        if n == 0:
            break
        n_ids = segment(tables, scratch.text, np.int64(0), n, n_characters, found, no_places, np.int64(0))
        at = number_word(found, n_ids, ids, last, word, words, at)
        if at < 0:
            return word, at
        word += np.int32(1)
    return word, at


#: :func:`numba_nlp.kernels.segment.number_rows.number_words` with ``WordPieceTables``; the memory is a
#: ``WordPieceScratch`` and int32 as long as its ``text``.
number_words_wordpiece = numbers_function("number_words_wordpiece", _number_text)
