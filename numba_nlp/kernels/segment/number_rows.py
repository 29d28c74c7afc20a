"""Numbering the words of rows: what the families share.

Words are counted from 0 in each row; a given id (a special token in the text) is a word of its own. How the ids of a
text are numbered is what a family brings.

Twin: ``numba_nlp.reference.segment.word_numbers``, and those of the families.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.specialising import specialise

__all__ = ["number_word", "number_words", "numbers_function"]


def number_words(tables, data, starts, ends, fixed, row_first_segment, ids, id_offsets, working, words, where):
    """Write the word number of every id of a batch: the code that is compiled for each family.

    Parameters
    ----------
    tables : tuple of arrays
        Of the family.
    data : uint8[n]
        Valid UTF-8, as it was encoded.
    starts, ends, fixed : int64[s], int64[s], int32[s]
        Stretches of text, and given ids (>= 0).
    row_first_segment : int64[rows + 1]
        The stretches of each row.
    ids, id_offsets : int32[m], int64[rows + 1]
        What the rows were encoded to.
    working : tuple
        What the family needs besides, of one thread.
    words : int32[m]
        Written.
    where : int64[2]
        Written on failure: row, and bytes of the text that did not fit or that has other ids.

    Returns
    -------
    int64
        Number of ids; ``STATUS_NOT_TILING`` when the text does not give these ids; ``STATUS_OUTPUT_FULL`` when a word
        does not fit into the memory.
    """
    for row in range(id_offsets.size - 1):
        where[0] = row
        at, last = id_offsets[row], id_offsets[row + 1]
        word = np.int32(0)
        for part in range(row_first_segment[row], row_first_segment[row + 1]):
            if fixed[part] >= 0:
                if at >= last or ids[at] != fixed[part]:
                    return np.int64(STATUS_NOT_TILING)
                words[at] = word
                word += np.int32(1)
                at += 1
                continue
            word, at = number_text(  # noqa: F821  bound by `numbers_function`
                tables, data, starts[part], ends[part], working, ids, last, word, words, at
            )
            if at < 0:
                where[1] = ends[part] - starts[part]
                return at
        if at != last:
            return np.int64(STATUS_NOT_TILING)
    return np.int64(ids.size)


@inlined
def number_word(found, n_ids, ids, last, word, words, at):
    """Number the ids of one word that was encoded once more.

    Parameters
    ----------
    found : int32[k]
        What it gave, the first ``n_ids``.
    n_ids : int64
        Negative when the memory was too small.
    ids : int32[m]
    last : int64
        Where the ids of the row end.
    word : int32
        Its number.
    words : int32[m]
        Written from ``at`` on.
    at : int64

    Returns
    -------
    int64
        Place after the ids of the word, or a status.
    """
    if n_ids < 0:
        return np.int64(STATUS_OUTPUT_FULL)
    if at + n_ids > last:
        return np.int64(STATUS_NOT_TILING)
    for i in range(n_ids):
        if found[i] != ids[at]:
            return np.int64(STATUS_NOT_TILING)
        words[at] = word
        at += 1
    return at


def numbers_function(name: str, number_text: Any) -> Any:
    """Build and compile :func:`number_words` for one family.

    Parameters
    ----------
    name : str
        Of the kernel.
    number_text : callable
        ``(tables, data, start, stop, working, ids, last, word, words, at) -> word, at``: numbers the ids of one text,
        which begin at ``ids[at]`` and end before ``ids[last]``, from ``word`` on. Gives the number of the word behind
        it and the place after its ids, or a status in place of that.
    """
    return kernel(specialise(number_words, name, number_text=number_text))
