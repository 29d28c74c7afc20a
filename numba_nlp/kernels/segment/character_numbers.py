"""Which word of its text each id of character BPE belongs to, as tokenizers counts them.

Words are what the rule of the vocabulary cuts, counted from 0 in each row; a special token in the text is a word of its
own, and a word without ids counts too. Ids come out of a cache of chunks, so words are cut again, and merged for their
number of ids.

Twin: ``numba_nlp.reference.segment.character_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cached_loops import BLOCK
from numba_nlp.kernels.segment.character_bpe import segment
from numba_nlp.kernels.segment.character_bpe_memory import WORDS, WORDS_BERT, WORDS_SPACES
from numba_nlp.kernels.segment.character_words import fill_spaces, next_word
from numba_nlp.kernels.segment.number_rows import number_word, numbers_function
from numba_nlp.kernels.segment.wordpiece import next_word as next_bert_word

__all__ = ["number_words_character"]


@kernel
def _number_text(tables, data, start, stop, working, ids, last, word, words, at):
    scratch, found = working
    no_ends = scratch.token_ends[:0]
    rule = tables.flags[WORDS]
    position, literal = start, np.int64(-1)
    # no row is left in its middle
    scratch.ends[scratch.ends.size - 1] = 0
    while position < stop and at >= 0:
        if rule == WORDS_BERT:
            no_places = scratch.from_starts[:0]
            position, n, n_characters = next_bert_word(
                tables, data, position, stop, start, scratch.text, no_places, no_places
            )
            if n_characters < 0:
                return word, np.int64(STATUS_OUTPUT_FULL)
            if n > 0:
                n_ids = segment(
                    tables, scratch.text, np.int64(0), n, 0.0, scratch.low, scratch, found, no_ends, np.int64(0)
                )
                at = number_word(found, n_ids, ids, last, word, words, at)
                word += np.int32(1)
        elif rule == WORDS_SPACES:
            n, position = fill_spaces(
                tables, data, position, stop, scratch.starts, scratch.ends, np.int64(0), np.int64(BLOCK)
            )
            for i in range(n):
                n_ids = segment(
                    tables, data, scratch.starts[i], scratch.ends[i], 0.0, scratch.low, scratch, found, no_ends,
                    np.int64(0),
                )  # fmt: skip
                at = number_word(found, n_ids, ids, last, word, words, at)
                if at < 0:
                    break
                word += np.int32(1)
        else:
            begin, position, literal = next_word(tables, data, position, stop, literal)
            if begin < position:
                n_ids = segment(tables, data, begin, position, 0.0, scratch.low, scratch, found, no_ends, np.int64(0))
                at = number_word(found, n_ids, ids, last, word, words, at)
                word += np.int32(1)
    return word, at


#: :func:`numba_nlp.kernels.segment.number_rows.number_words` with ``CharacterBpeTables``; the memory is a
#: ``CharacterBpeScratch`` and int32 with two elements for each byte of the longest stretch, and more.
number_words_character = numbers_function("number_words_character", _number_text)
