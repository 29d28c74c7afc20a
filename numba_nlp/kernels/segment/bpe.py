"""Byte-level BPE: what merges a pre-token, and the row encoders of all patterns.

Rows are cut into pre-tokens and go through the word cache (:mod:`numba_nlp.kernels.segment.cached_rows`). A pre-token
that the cache does not hold goes through :mod:`numba_nlp.kernels.segment.merge` and is entered.

Twin: ``numba_nlp.reference.segment.bpe``: rows, and a pre-token by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment.cached_rows import rows_function, unseen_function
from numba_nlp.kernels.segment.fill_scalar import fill_spans_deepseek_v3
from numba_nlp.kernels.segment.merge import MERGE_SHORT_LIMIT, merge_short
from numba_nlp.kernels.segment.merge_long import merge_long
from numba_nlp.kernels.segment.window_cl100k import fill_spans_cl100k, fill_spans_llama3, fill_spans_qwen2
from numba_nlp.kernels.segment.window_gpt2 import fill_spans_gpt2
from numba_nlp.kernels.segment.window_o200k import fill_spans_o200k, fill_spans_tekken
from numba_nlp.kernels.specialising import specialise
from numba_nlp.kernels.tables.hashing import find_piece
from numba_nlp.kernels.words import trailing_zeros

ZERO = np.uint64(0)
ONE = np.uint64(1)


@inlined
def merge_piece(tables, data, start, n, scratch, ids, first):
    """Ids of one pre-token by merging, without the cache.

    Parameters
    ----------
    tables : ByteBpeTables
    data : uint8[m]
    start, n : int64
        The pre-token, ``n >= 1``.
    scratch : Scratch
    ids : int32[k]
        Written from ``first`` on, at most ``n`` ids.
    first : int64

    Returns
    -------
    int64
        Number of ids; negative, as of :func:`numba_nlp.kernels.segment.merge_long.merge_long`, when the lists of the
        scratch are too short.
    """
    if tables.flags[0] != 0:
        piece = find_piece(tables.piece_lookup, tables.piece_bytes, tables.piece_offsets, data, start, start + n)
        if piece >= 0:
            ids[first] = np.int32(piece)
            return 1
    out = first
    if n <= MERGE_SHORT_LIMIT:
        alive = merge_short(
            tables.pair_merges, tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.flags[2] != 0,
            data, start, n, scratch.symbols, scratch.keys,
        )  # fmt: skip
        while alive != ZERO:
            ids[out] = tables.symbol_ids[scratch.symbols[trailing_zeros(alive)]]
            alive &= alive - ONE
            out += 1
        return out - first
    return merge_long(tables, data, start, n, scratch, ids, first)


@kernel
def fill_whole(class_index, class_blocks, data, position, stop, starts, ends, n, limit):
    """Append the whole text as one span: for text that is already cut into pre-tokens.

    Parameters
    ----------
    class_index, class_blocks : uint16[0x110000 >> 7], uint8[blocks * 128]
        Not used.
    data : uint8[m]
        Not used.
    position, stop : int64
        The text.
    starts, ends : int64[limit]
        Written at ``n``.
    n, limit : int64
        Spans there are, and where to stop.

    Returns
    -------
    n, position : int64, int64
        Spans there are now, and ``stop`` when the text was taken or is empty.
    """
    if position < stop and n < limit:
        starts[n] = position
        ends[n] = stop
        return n + 1, stop
    return n, position


#: Scanners: what cuts text into pre-tokens, by the name of the pattern; "whole" takes each row as one pre-token.
SCANS = {
    "gpt2": fill_spans_gpt2,
    "cl100k": fill_spans_cl100k,
    "o200k": fill_spans_o200k,
    "llama3": fill_spans_llama3,
    "qwen2": fill_spans_qwen2,
    "tekken": fill_spans_tekken,
    "deepseek_v3": fill_spans_deepseek_v3,
    "whole": fill_whole,
}


def _scan(tables, data, position, stop, starts, ends, n, limit):
    """A scanner with the tables of this family: the code that :func:`_fill_of` compiles."""
    return scan(  # noqa: F821  bound by `_fill_of`
        tables.class_index, tables.class_blocks, data, position, stop, starts, ends, n, limit
    )


def _fill_of(pattern: str) -> Any:
    return inlined(specialise(_scan, f"_fill_{pattern}", scan=SCANS[pattern]))


#: What :func:`numba_nlp.kernels.segment.cached_rows.rows_function` takes as `fill_spans`, by the name of the pattern.
FILLS = {pattern: _fill_of(pattern) for pattern in SCANS}
#: A pre-token that the cache does not hold (:func:`numba_nlp.kernels.segment.cached_rows.encode_unseen`).
encode_unseen = unseen_function(inlined, "encode_unseen_bpe", merge_piece)
#: Row encoders (:func:`numba_nlp.kernels.segment.cached_rows.encode_rows`) by the name of the pattern.
ENCODE_ROWS = {
    pattern: rows_function(fill, kernel, f"encode_rows_{pattern}", encode_unseen) for pattern, fill in FILLS.items()
}

encode_rows_gpt2 = ENCODE_ROWS["gpt2"]
encode_rows_cl100k = ENCODE_ROWS["cl100k"]
encode_rows_o200k = ENCODE_ROWS["o200k"]
encode_rows_llama3 = ENCODE_ROWS["llama3"]
encode_rows_qwen2 = ENCODE_ROWS["qwen2"]
encode_rows_tekken = ENCODE_ROWS["tekken"]
encode_rows_deepseek_v3 = ENCODE_ROWS["deepseek_v3"]
encode_rows_whole = ENCODE_ROWS["whole"]
