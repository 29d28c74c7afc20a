"""Numbers of pieces to ids that another file gives them.

Some checkpoints have a SentencePiece model to cut text and a list of tokens that gives the ids (Marian, M2M100). A
piece that the list does not have gets the id of the unknown token. Unknown text is looked up as it stands: a run of
unknown characters, which sentencepiece makes one piece, may well be a token of the list, of the other language say.

So rows are encoded to numbers of pieces, as the model has them. Then each unknown run that is a token becomes its
*shifted* id, ``n_pieces + id`` (:func:`name_unknown`); ids of special tokens are shifted, too. At last a table of
``n_pieces + n_ids`` entries makes ids of numbers and shifted ids alike (:func:`renumber`).

Twin: ``numba_nlp.reference.segment.renumber``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.sentencepiece_bpe_rows import align_text as align_text_bpe
from numba_nlp.kernels.segment.sentencepiece_unigram import align_text
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.tables.double_array import find

__all__ = ["holds", "name_unknown", "name_unknown_bpe", "renumber"]


@kernel
def renumber(table, ids, n):
    """Replace numbers by what a table says.

    Parameters
    ----------
    table : int32[m]
    ids : int32[k]
        The first ``n`` are changed.
    n : int64

    Returns
    -------
    int64
        ``n``.
    """
    for i in range(n):
        ids[i] = table[ids[i]]
    return n


@kernel
def holds(ids, n, wanted):
    """Whether a number is among the first ones of an array.

    Parameters
    ----------
    ids : int32[k]
    n, wanted : int64

    Returns
    -------
    bool
    """
    found = np.int64(0)
    for i in range(n):
        found |= np.int64(ids[i] == wanted)
    return found != 0


def _name_unknown(
    tables, unknown_units, unknown, n_pieces, data, seg_starts, seg_ends, seg_fixed, first_of_row, ids, offsets,
    scratch, alignment, where,
):  # fmt: skip
    """Give unknown runs that are tokens their shifted ids.

    Parameters
    ----------
    tables : SentencePieceTables or SentencePieceBpeRowTables
    unknown_units : uint32[u]
        Double array from tokens to ids.
    unknown, n_pieces : int64
        Number of the unknown piece, and number of pieces.
    data : uint8[m]
        Valid UTF-8.
    seg_starts, seg_ends, seg_fixed : int64[s], int64[s], int32[s] or int32[0]
        Segments of the rows: texts, and where there are any given ids.
    first_of_row : int64[rows + 1]
    ids, offsets : int32[k], int64[rows + 1]
        Numbers of the pieces of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``; changed.
    scratch : SentencePieceScratch or SentencePieceBpeRowScratch
    alignment : (int32[room], int32[room], int64[room])
        Written: as of :func:`numba_nlp.kernels.segment.aligned_spans.fill_aligned_spans`.
    where : int64[1]
        Written on failure: the row.

    Returns
    -------
    int64
        0, or a status as of :func:`numba_nlp.kernels.segment.sentencepiece_unigram.align_text`.
    """
    from_starts, from_ends, token_ends = alignment
    for row in range(first_of_row.size - 1):
        at, last = offsets[row], offsets[row + 1]
        has_unknown = False
        for i in range(at, last):
            has_unknown |= ids[i] == unknown
        if not has_unknown:
            continue
        for segment in range(first_of_row[row], first_of_row[row + 1]):
            if seg_fixed.size != 0 and seg_fixed[segment] >= 0:
                at += 1
                continue
            n = align_text(
                tables, data, seg_starts[segment], seg_ends[segment], scratch, from_starts, from_ends, token_ends,
                ids[:last], at,
            )  # fmt: skip
            if n < 0:
                where[0] = row
                return n
            begin = np.int64(0)
            for i in range(n):
                end = token_ends[i]
                if ids[at + i] == unknown:
                    token = np.int64(find(unknown_units, scratch.text, begin, end))
                    if token >= 0:
                        ids[at + i] = np.int32(n_pieces + token)
                begin = end
            at += n
    return np.int64(0)


name_unknown = kernel(specialise(_name_unknown, "name_unknown", align_text=align_text))
name_unknown_bpe = kernel(specialise(_name_unknown, "name_unknown_bpe", align_text=align_text_bpe))
