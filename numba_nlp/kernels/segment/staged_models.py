"""The models behind general stages: pieces of normalized text to ids, through the word cache.

Text comes normalized and cut (:mod:`numba_nlp.kernels.segment.normalize_program`,
:mod:`numba_nlp.kernels.segment.cut_program`); each piece is a row here. Unigram takes a piece whole. BPE cuts it
further where no merge can cross (:mod:`numba_nlp.kernels.segment.bridge`), unless pieces of the vocabulary are taken
whole before anything merges (``ignore_merges``).

Twin: ``numba_nlp.reference.segment.staged_models``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import unigram_tokenizers
from numba_nlp.kernels.segment.bridge import fill_spans_bridge
from numba_nlp.kernels.segment.cached_rows import rows_function, unseen_function
from numba_nlp.kernels.segment.sentencepiece_bpe import segment_chunk, segment_from
from numba_nlp.kernels.tables.hashing import find_piece

__all__ = [
    "BPE_FILLS",
    "ENCODE_BPE_ROWS",
    "ENCODE_UNIGRAM_ROWS",
    "UNIGRAM_FILLS",
    "encode_unseen_staged_bpe",
    "encode_unseen_staged_unigram",
    "find_whole",
    "segment_bpe",
    "segment_unigram",
    "solve_bpe",
    "solve_unigram",
]


@inlined
def fill_piece(tables, data, position, stop, starts, ends, n, limit):
    """Append a whole piece as one span.

    Parameters
    ----------
    tables : tuple of arrays
        Not used.
    data : uint8[m]
        Not used.
    position, stop : int64
        The piece.
    starts, ends : int64[limit]
        Written at ``n``.
    n, limit : int64
        Spans there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
    """
    if position < stop and n < limit:
        starts[n] = position
        ends[n] = stop
        return n + 1, stop
    return n, position


@kernel
def segment_unigram(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of a piece of text by Unigram.

    Parameters
    ----------
    tables : StagedUnigramTables
    text : uint8[m]
        UTF-8.
    start, stop : int64
    scratch : StagedUnigramScratch
    ids, token_ends : int32[k], int64[k] or int64[0]
        Written from ``out`` on: ids, at most one a byte, and the place in ``text`` where each ends.
    out : int64

    Returns
    -------
    int64
        Place after the last id; ``start - stop`` when the scratch is too small.
    """
    return unigram_tokenizers.segment(tables, text, start, stop, scratch, ids, token_ends, out)


@inlined
def find_whole(tables, text, start, stop):
    """Id of a piece that is taken whole, or -1.

    Parameters
    ----------
    tables : StagedBpeTables
    text : uint8[m]
    start, stop : int64

    Returns
    -------
    int64
    """
    if tables.whole_lookup.size == 0:
        return np.int64(-1)
    return np.int64(find_piece(tables.whole_lookup, tables.piece_bytes, tables.piece_offsets, text, start, stop))


@kernel
def segment_bpe(tables, text, start, stop, scratch, ids, token_ends, out):
    """Ids of a piece of text by BPE; arguments and result as of :func:`segment_unigram`, with the tables of BPE."""
    whole = find_whole(tables, text, start, stop)
    if whole >= 0:
        ids[out] = np.int32(whole)
        if token_ends.size != 0:
            token_ends[out] = stop
        return out + 1
    return segment_from(tables, text, start, stop, np.int64(-1), scratch, ids, token_ends, out)


@inlined
def solve_unigram(tables, data, start, n, scratch, ids, first):
    """Ids of one piece by Unigram.

    Parameters
    ----------
    tables : StagedUnigramTables
    data : uint8[m]
    start, n : int64
        The piece.
    scratch : StagedUnigramScratch
    ids : int32[k]
        Written from ``first`` on.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative when the scratch is too small.
    """
    end = segment_unigram(tables, data, start, start + n, scratch, ids, scratch.no_ends, first)
    return end - first if end >= 0 else end


@inlined
def solve_bpe(tables, data, start, n, scratch, ids, first):
    """Ids of one chunk by BPE; arguments and result as of :func:`solve_unigram`, with the tables of BPE."""
    whole = find_whole(tables, data, start, start + n)
    if whole >= 0:
        ids[first] = np.int32(whole)
        return np.int64(1)
    end = segment_chunk(tables, data, start, start + n, np.int64(-1), scratch, ids, scratch.no_ends, first)
    return end - first if end >= 0 else end


#: What cuts pieces further, by the name of the pattern.
UNIGRAM_FILLS = {"whole": fill_piece}
BPE_FILLS = {"whole": fill_piece, "bridge": fill_spans_bridge}
#: Pieces that the cache does not hold (:func:`numba_nlp.kernels.segment.cached_rows.encode_unseen`).
encode_unseen_staged_unigram = unseen_function(inlined, "encode_unseen_staged_unigram", solve_unigram)
encode_unseen_staged_bpe = unseen_function(inlined, "encode_unseen_staged_bpe", solve_bpe)
#: Row encoders (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`) by the name of the pattern.
ENCODE_UNIGRAM_ROWS = {
    "whole": rows_function(fill_piece, kernel, "encode_rows_staged_unigram_whole", encode_unseen_staged_unigram)
}
ENCODE_BPE_ROWS = {
    pattern: rows_function(fill, kernel, f"encode_rows_staged_bpe_{pattern}", encode_unseen_staged_bpe)
    for pattern, fill in BPE_FILLS.items()
}

encode_rows_staged_unigram_whole = ENCODE_UNIGRAM_ROWS["whole"]
encode_rows_staged_bpe_whole = ENCODE_BPE_ROWS["whole"]
encode_rows_staged_bpe_bridge = ENCODE_BPE_ROWS["bridge"]
