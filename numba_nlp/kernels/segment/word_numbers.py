"""Which word (pre-token) of its text each id of byte-level BPE belongs to, as tokenizers counts them.

Words are counted from 0 in each row; a special token in the text is a word of its own.

Twin: ``numba_nlp.reference.segment.word_numbers``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment.scan import next_end

__all__ = ["WHOLE", "number_words"]

#: In the place of a pattern: each stretch of text is one word.
WHOLE = -1


@kernel
def number_words(
    pattern,
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
    pattern : int64
        Code of :mod:`numba_nlp.kernels.segment.patterns`, or ``WHOLE``.
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
                if pattern == WHOLE:
                    position = stop
                else:
                    position = np.int64(next_end(pattern, class_index, class_blocks, data, position, stop))
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
