"""Word models behind general stages: each piece of normalized text is one word.

WordPiece and BPE with marks (``##`` before what goes on in a word, ``</w>`` at its end) have their own files for BERT,
GPT and CLIP, where one kernel normalizes, cuts and segments. Here the stages are whatever a file says, as of
:mod:`numba_nlp.kernels.segment.staged_models`, and pieces come through the word cache in the same way.

Twin: ``numba_nlp.reference.segment.staged_word_models``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import character_bpe, wordpiece
from numba_nlp.kernels.segment.cached_rows import rows_function, unseen_function
from numba_nlp.kernels.segment.staged_models import fill_piece, find_whole

__all__ = [
    "ENCODE_MARKED_ROWS",
    "ENCODE_WORDPIECE_ROWS",
    "FILLS",
    "encode_unseen_staged_marked",
    "encode_unseen_staged_wordpiece",
    "segment_marked",
    "segment_wordpiece",
    "solve_marked",
    "solve_wordpiece",
]


@kernel
def segment_wordpiece(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of a piece of text by WordPiece.

    Parameters
    ----------
    tables : StagedWordPieceTables
    text : uint8[m]
        UTF-8.
    start, stop : int64
        The piece, ``start < stop``.
    scratch : StagedWordPieceScratch
        Not used.
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, at most one a byte, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id.
    """
    n_characters = np.int64(0)
    for position in range(start, stop):
        n_characters += np.int64(text[position] & 0xC0 != 0x80)
    return wordpiece.segment(tables, text, start, stop, n_characters, ids, token_ends, out)


@kernel
def segment_marked(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of a piece of text by BPE with marks.

    Parameters
    ----------
    tables : StagedMarkedTables
    text : uint8[m]
        UTF-8.
    start, stop : int64
        The piece, ``start < stop``.
    scratch : StagedMarkedScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, at most one a byte, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id; ``start - stop`` when the scratch is too small.
    """
    whole = find_whole(tables, text, start, stop)
    if whole >= 0:
        ids[out] = np.int32(whole)
        if token_ends.size != 0:
            token_ends[out] = stop
        return out + 1
    return character_bpe.segment(tables, text, start, stop, 0.0, scratch.low, scratch, ids, token_ends, out)


@inlined
def solve_wordpiece(tables, data, start, n, scratch, ids, first):
    """Ids of one piece by WordPiece.

    Parameters
    ----------
    tables : StagedWordPieceTables
    data : uint8[m]
    start, n : int64
        The piece.
    scratch : StagedWordPieceScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids.
    """
    return segment_wordpiece(tables, data, start, start + n, scratch, ids, scratch.no_ends, first) - first


@inlined
def solve_marked(tables, data, start, n, scratch, ids, first):
    """Ids of one piece by BPE with marks.

    Parameters
    ----------
    tables : StagedMarkedTables
    data : uint8[m]
    start, n : int64
        The piece.
    scratch : StagedMarkedScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative when the scratch is too small.
    """
    end = segment_marked(tables, data, start, start + n, scratch, ids, scratch.no_ends, first)
    return end - first if end >= 0 else end


#: Pieces are words and are not cut further.
FILLS = {"whole": fill_piece}
#: Pieces that the cache does not hold (:func:`numba_nlp.kernels.segment.cached_rows.encode_unseen`).
encode_unseen_staged_wordpiece = unseen_function(inlined, "encode_unseen_staged_wordpiece", solve_wordpiece)
encode_unseen_staged_marked = unseen_function(inlined, "encode_unseen_staged_marked", solve_marked)
#: Row encoders (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`) by the name of the pattern.
ENCODE_WORDPIECE_ROWS = {
    "whole": rows_function(fill_piece, kernel, "encode_rows_staged_wordpiece", encode_unseen_staged_wordpiece)
}
ENCODE_MARKED_ROWS = {
    "whole": rows_function(fill_piece, kernel, "encode_rows_staged_marked", encode_unseen_staged_marked)
}

encode_rows_staged_wordpiece = ENCODE_WORDPIECE_ROWS["whole"]
encode_rows_staged_marked = ENCODE_MARKED_ROWS["whole"]
