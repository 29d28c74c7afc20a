"""Which word of its text each id of WordPiece belongs to, as tokenizers counts them.

Words are what BERT's pre-tokenizer leaves of the normalised text, counted from 0 in each row; a special token in the
text is a word of its own. Ids come out of a cache of chunks, so words are cut again, and segmented for their number of
ids.

Twin: ``numba_nlp.reference.segment.wordpiece_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.wordpiece import next_word, segment

__all__ = ["number_words_wordpiece"]


@kernel
def number_words_wordpiece(
    tables, data, starts, ends, fixed, row_first_segment, ids, id_offsets, scratch, word_ids, words, where
):
    """Write the word number of every id of a batch.

    Parameters
    ----------
    tables : WordPieceTables
    data : uint8[n]
        Valid UTF-8.
    starts, ends, fixed : int64[s], int64[s], int32[s]
        Stretches of text, and given ids (>= 0).
    row_first_segment : int64[rows + 1]
        The stretches of each row.
    ids, id_offsets : int32[m], int64[rows + 1]
        What the rows were encoded to.
    scratch : WordPieceScratch
    word_ids : int32[k]
        Working memory as long as ``scratch.text``.
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
    no_places = scratch.from_starts[:0]
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
            position, stop = starts[part], ends[part]
            while position < stop:
                begin = position
                position, n, n_characters = next_word(
                    tables, data, position, stop, begin, scratch.text, no_places, no_places
                )
                if n_characters < 0:
                    where[1] = stop - begin
                    return np.int64(STATUS_OUTPUT_FULL)
                if n == 0:
                    break
                n_ids = segment(tables, scratch.text, np.int64(0), n, n_characters, word_ids, no_places, np.int64(0))
                if out + n_ids > last:
                    return np.int64(STATUS_NOT_TILING)
                for i in range(n_ids):
                    if word_ids[i] != ids[out]:
                        return np.int64(STATUS_NOT_TILING)
                    words[out] = word
                    out += 1
                word += np.int32(1)
        if out != last:
            return np.int64(STATUS_NOT_TILING)
    return out
