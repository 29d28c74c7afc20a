"""Rows with merges left out at random (BPE-dropout): byte-level BPE, BPE behind general stages, SentencePiece BPE.

Nothing comes out of a cache here. The number of a row is the stream of its random numbers, so a row has the same ids
whatever stands around it, and whichever thread encodes it. Which rule of :mod:`numba_nlp.kernels.segment.dropout`
counts is what the reference of the family does.

Twin: ``numba_nlp.reference.segment.dropout_rows``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.cached_rows import specialise
from numba_nlp.kernels.segment.dropout import (
    DROP_EACH_STEP,
    DROP_ONCE,
    merge_piece_with_dropout,
    segment_with_dropout,
)
from numba_nlp.kernels.segment.normalize_charsmap import WHOLE_ROW, normalize
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.kernels.segment.word_numbers import SCANS

__all__ = ["DROP_BYTES", "drop_bytes", "drop_normalized", "drop_pieces"]


def drop_bytes(
    tables, merge_ranks, data, starts, ends, fixed, first_of_row, first_row, probability, state, scratch, heap, dropped,
    ids, offsets,
):  # fmt: skip
    """Ids of rows of byte-level BPE: the code that is compiled for each pattern.

    Parameters
    ----------
    tables : ByteBpeTables
    merge_ranks : int32[M] or int32[0]
        Rank of each merge; empty when its number is its rank.
    data : uint8[m]
        Valid UTF-8.
    starts, ends, fixed, first_of_row : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of rows: texts, or ids that are given (not negative).
    first_row : int64
        Row to begin with: those before are done.
    probability : float64
    state : uint64[3]
        Seed and number of the first row, as of :func:`numba_nlp.kernels.segment.dropout.join_with_dropout`.
    scratch : Scratch
    heap, dropped : uint64[3 * capacity] each
        Scratch.
    ids, offsets : int32[k], int64[rows + 1]
        Written: ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``; room for an id a byte and one a segment.

    Returns
    -------
    int64
        Number of rows; the row to go on with when a pre-token of it does not fit into the scratch.
    """
    base = np.int64(state[1])
    for row in range(first_row, first_of_row.size - 1):
        out = offsets[row]
        state[1] = np.uint64(base + row)
        state[2] = np.uint64(0)
        for part in range(first_of_row[row], first_of_row[row + 1]):
            if fixed[part] >= 0:
                ids[out] = fixed[part]
                out += 1
                continue
            position, stop = starts[part], ends[part]
            while position < stop:
                end = np.int64(
                    next_end(  # noqa: F821  bound by `specialise`
                        tables.class_index, tables.class_blocks, data, position, stop
                    )
                )
                n = merge_piece_with_dropout(
                    tables, merge_ranks, data, position, end - position, DROP_EACH_STEP, probability, state, scratch,
                    heap, dropped, ids, out,
                )  # fmt: skip
                if n < 0:
                    state[1] = np.uint64(base)
                    return np.int64(row)
                out += n
                position = end
        offsets[row + 1] = out
    state[1] = np.uint64(base)
    return np.int64(first_of_row.size - 1)


#: :func:`drop_bytes` compiled for each pattern, by name; ``"whole"``: each stretch of text is one pre-token.
DROP_BYTES = {
    pattern: kernel(specialise(drop_bytes, f"drop_bytes_{pattern}", next_end=scan)) for pattern, scan in SCANS.items()
}


@kernel
def drop_pieces(
    tables, text, starts, ends, fixed, first_of_row, first_row, probability, state, scratch, dropped, ids, offsets
):
    """Ids of rows that stages have cut into pieces of normalised text.

    Parameters
    ----------
    tables : StagedBpeTables
    text : uint8[m]
        Valid UTF-8.
    starts, ends, fixed, first_of_row : int64[p], int64[p], int32[p], int64[rows + 1]
        Pieces of rows, or ids that are given (not negative).
    first_row, probability, state
        As of :func:`drop_bytes`.
    scratch : StagedBpeScratch
    dropped : uint64[3 * capacity]
        Scratch.
    ids, offsets : int32[k], int64[rows + 1]
        As of :func:`drop_bytes`.

    Returns
    -------
    int64
        Number of rows; the row to go on with when a piece of it does not fit into the scratch.
    """
    base = np.int64(state[1])
    for row in range(first_row, first_of_row.size - 1):
        out = offsets[row]
        state[1] = np.uint64(base + row)
        state[2] = np.uint64(0)
        for part in range(first_of_row[row], first_of_row[row + 1]):
            if fixed[part] >= 0:
                ids[out] = fixed[part]
                out += 1
                continue
            out = segment_with_dropout(
                tables, text, starts[part], ends[part], DROP_EACH_STEP, probability, state, scratch, dropped, ids,
                scratch.no_ends, out,
            )  # fmt: skip
            if out < 0:
                state[1] = np.uint64(base)
                return np.int64(row)
        offsets[row + 1] = out
    state[1] = np.uint64(base)
    return np.int64(first_of_row.size - 1)


@kernel
def drop_normalized(
    tables, data, starts, ends, fixed, first_of_row, first_row, probability, state, scratch, dropped, ids, offsets
):
    """Ids of rows by SentencePiece BPE.

    Parameters
    ----------
    tables : SentencePieceBpeRowTables
        With every pair whose text is a piece, and a bridge that holds all pairs.
    data : uint8[m]
        Valid UTF-8.
    starts, ends, fixed, first_of_row : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of rows: texts, or ids that are given (not negative).
    first_row, probability, state
        As of :func:`drop_bytes`.
    scratch : SentencePieceBpeRowScratch
    dropped : uint64[3 * capacity]
        Scratch, as long as ``scratch.heap``.
    ids, offsets : int32[k], int64[rows + 1]
        As of :func:`drop_bytes`; room for an id a byte of normalised text.

    Returns
    -------
    int64
        Number of rows; the row to go on with when a text of it does not fit into the scratch.
    """
    normalizer = NormalizerTables(
        tables.rule_units, tables.rule_strings, tables.symbol_units, tables.words, tables.steps, tables.after,
        tables.settings,
    )  # fmt: skip
    no_places, no_ends = scratch.list_symbols[:0], scratch.starts[:0]
    base = np.int64(state[1])
    for row in range(first_row, first_of_row.size - 1):
        out = offsets[row]
        state[1] = np.uint64(base + row)
        state[2] = np.uint64(0)
        for part in range(first_of_row[row], first_of_row[row + 1]):
            if fixed[part] >= 0:
                ids[out] = fixed[part]
                out += 1
                continue
            n = normalize(normalizer, data, starts[part], ends[part], WHOLE_ROW, scratch.text, no_places, no_places)
            if n >= 0:
                out = segment_with_dropout(
                    tables, scratch.text, np.int64(0), n, DROP_ONCE, probability, state, scratch, dropped, ids, no_ends,
                    out,
                )  # fmt: skip
            if n < 0 or out < 0:
                state[1] = np.uint64(base)
                return np.int64(row)
        offsets[row + 1] = out
    state[1] = np.uint64(base)
    return np.int64(first_of_row.size - 1)
