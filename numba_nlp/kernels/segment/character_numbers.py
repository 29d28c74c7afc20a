"""Which word of its text each id of character BPE belongs to, as tokenizers counts them.

Words are what the rule of the vocabulary cuts, counted from 0 in each row; a special token in the text is a word of its
own, and a word without ids counts too. Ids come out of a cache of chunks, so words are cut again, and merged for their
number of ids.

Twin: ``numba_nlp.reference.segment.character_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.cached_rows import BLOCK
from numba_nlp.kernels.segment.character_bpe import segment
from numba_nlp.kernels.segment.character_bpe_memory import WORDS, WORDS_BERT, WORDS_SPACES
from numba_nlp.kernels.segment.character_words import fill_spaces, next_word
from numba_nlp.kernels.segment.wordpiece import next_word as next_bert_word

__all__ = ["number_words_character"]


@kernel
def _take(found, n_ids, ids, last, word, words, out):
    """Number the ids of one word; gives the place after them, or a status."""
    if n_ids < 0:
        return np.int64(STATUS_OUTPUT_FULL)
    if out + n_ids > last:
        return np.int64(STATUS_NOT_TILING)
    for i in range(n_ids):
        if found[i] != ids[out]:
            return np.int64(STATUS_NOT_TILING)
        words[out] = word
        out += 1
    return out


@kernel
def _number_text(tables, data, start, stop, scratch, found, ids, last, word, words, out):
    """Number the ids of one text: the word after its last one, and the place after its ids or a status."""
    no_ends = scratch.token_ends[:0]
    rule = tables.flags[WORDS]
    position, literal = start, np.int64(-1)
    # no row is left in its middle
    scratch.ends[scratch.ends.size - 1] = 0
    while position < stop and out >= 0:
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
                out = _take(found, n_ids, ids, last, word, words, out)
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
                out = _take(found, n_ids, ids, last, word, words, out)
                if out < 0:
                    break
                word += np.int32(1)
        else:
            begin, position, literal = next_word(tables, data, position, stop, literal)
            if begin < position:
                n_ids = segment(tables, data, begin, position, 0.0, scratch.low, scratch, found, no_ends, np.int64(0))
                out = _take(found, n_ids, ids, last, word, words, out)
                word += np.int32(1)
    return word, out


@kernel
def number_words_character(
    tables, data, starts, ends, fixed, row_first_segment, ids, id_offsets, scratch, found, words, where
):
    """Write the word number of every id of a batch.

    Parameters
    ----------
    tables : CharacterBpeTables
    data : uint8[n]
        Valid UTF-8, as it was encoded (normalised).
    starts, ends, fixed : int64[s], int64[s], int32[s]
        Stretches of text, and given ids (>= 0).
    row_first_segment : int64[rows + 1]
        The stretches of each row.
    ids, id_offsets : int32[m], int64[rows + 1]
        What the rows were encoded to.
    scratch : CharacterBpeScratch
    found : int32[k]
        Working memory: two elements for each byte of the longest stretch, and more.
    words : int32[m]
        Written.
    where : int64[2]
        Written on failure: row, and bytes that the scratch must be made for.

    Returns
    -------
    int64
        Number of ids; ``STATUS_OUTPUT_FULL`` when a word does not fit into the scratch; ``STATUS_NOT_TILING`` when the
        text does not give these ids.
    """
    out = np.int64(0)
    for row in range(id_offsets.size - 1):
        where[0] = row
        last = id_offsets[row + 1]
        word = np.int32(0)
        for part in range(row_first_segment[row], row_first_segment[row + 1]):
            if fixed[part] >= 0:
                if out >= last or ids[out] != fixed[part]:
                    return np.int64(STATUS_NOT_TILING)
                words[out] = word
                word += np.int32(1)
                out += 1
                continue
            word, out = _number_text(
                tables, data, starts[part], ends[part], scratch, found, ids, last, word, words, out
            )
            if out < 0:
                where[1] = ends[part] - starts[part]
                return out
        if out != last:
            return np.int64(STATUS_NOT_TILING)
    return out
