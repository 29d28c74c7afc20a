"""Rows with merges left out at random (BPE-dropout), for every kind of BPE.

Nothing comes out of a cache here. The number of a row is the stream of its random numbers, so a row has the same ids
whatever stands around it, and whichever thread encodes it. Which rule of :mod:`numba_nlp.kernels.segment.dropout`
counts is what the reference of the family does.

Twin: ``numba_nlp.reference.segment.dropout_rows``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.segment import character_bpe
from numba_nlp.kernels.segment.character_spans import encode_text
from numba_nlp.kernels.segment.dropout import (
    DROP_EACH_STEP,
    DROP_ONCE,
    merge_piece_with_dropout,
    segment_with_dropout,
)
from numba_nlp.kernels.segment.normalize_charsmap import WHOLE_ROW, normalize
from numba_nlp.kernels.segment.normalizer_tables import NormalizerTables
from numba_nlp.kernels.segment.word_numbers import SCANS
from numba_nlp.kernels.specialising import specialise

__all__ = ["DROP_BYTES", "drop_characters", "drop_marked", "drop_normalized", "drop_pieces", "drop_rows"]


def drop_rows(tables, data, starts, ends, fixed, first_of_row, first_row, probability, state, working, ids, offsets):
    """Ids of rows: the code that is compiled for each family, with what it makes of one segment.

    Parameters
    ----------
    tables : tuple of arrays
        ``ByteBpeTables`` with every pair that may merge (:data:`DROP_BYTES`); ``CharacterBpeTables``
        (:data:`drop_characters`); ``StagedBpeTables`` (:data:`drop_pieces`); ``StagedMarkedTables``
        (:data:`drop_marked`); ``SentencePieceBpeRowTables`` with every pair whose text is a piece, and a bridge that
        holds all pairs (:data:`drop_normalized`).
    data : uint8[m]
        Valid UTF-8.
    starts, ends, fixed, first_of_row : int64[s], int64[s], int32[s], int64[rows + 1]
        Segments of rows: texts, or ids that are given (not negative). Behind stages texts are pieces of what they made.
    first_row : int64
        Row to begin with: those before are done.
    probability : float64
    state : uint64[3]
        Seed and number of the first row, as of :func:`numba_nlp.kernels.segment.dropout.join_with_dropout`.
    working : tuple
        Memory of one thread: the scratch of the family where that has all that is needed (:data:`drop_characters`,
        :data:`drop_marked`); the scratch and ``dropped``, uint64 as long as its heap (:data:`drop_pieces`,
        :data:`drop_normalized`); the ranks of merges (int32[M], or int32[0] when their numbers are their ranks), the
        scratch, and two heaps uint64[3 * capacity] (:data:`DROP_BYTES`).
    ids, offsets : int32[k], int64[rows + 1]
        Written: ids of row ``r`` are ``ids[offsets[r]:offsets[r + 1]]``. Room for an id a segment, and an id a byte of
        text, normalised where the family does so; two a byte with :data:`drop_characters`.

    Returns
    -------
    int64
        Number of rows; the row to go on with when a chunk of it does not fit into the scratch.
    """
    base = np.int64(state[1])
    n_rows = np.int64(first_of_row.size - 1)
    for row in range(first_row, n_rows):
        out = offsets[row]
        state[1] = np.uint64(base + row)
        state[2] = np.uint64(0)
        for part in range(first_of_row[row], first_of_row[row + 1]):
            if fixed[part] >= 0:
                ids[out] = fixed[part]
                out += 1
                continue
            out = drop_segment(  # noqa: F821  bound by `specialise`
                tables, data, starts[part], ends[part], probability, state, working, ids, out
            )
            if out < 0:
                state[1] = np.uint64(base)
                return np.int64(row)
        offsets[row + 1] = out
    state[1] = np.uint64(base)
    return n_rows


# What a family makes of one segment: it writes ids from `out` on and gives the place after the last one, or a negative
# number when the memory is too small.


def _drop_bytes(tables, data, start, stop, probability, state, working, ids, out):
    ranks, scratch, heap, dropped = working
    while start < stop:
        end = np.int64(next_end(tables.class_index, tables.class_blocks, data, start, stop))  # noqa: F821  bound below
        n = merge_piece_with_dropout(
            tables, ranks, data, start, end - start, DROP_EACH_STEP, probability, state, scratch, heap, dropped, ids,
            out,
        )  # fmt: skip
        if n < 0:
            return n
        out += n
        start = end
    return out


@kernel
def _drop_characters(tables, data, start, stop, probability, state, working, ids, out):
    no_spans = working.starts[:0]
    return encode_text(tables, data, start, stop, probability, state, working, ids, no_spans, no_spans, out)


@kernel
def _drop_marked(tables, data, start, stop, probability, state, working, ids, out):
    # pieces are not taken whole (`ignore_merges`) where merges are left out, as in tokenizers
    return character_bpe.segment(tables, data, start, stop, probability, state, working, ids, working.no_ends, out)


@kernel
def _drop_piece(tables, data, start, stop, probability, state, working, ids, out):
    scratch, dropped = working
    return segment_with_dropout(
        tables, data, start, stop, DROP_EACH_STEP, probability, state, scratch, dropped, ids, scratch.no_ends, out
    )


@kernel
def _drop_normalized(tables, data, start, stop, probability, state, working, ids, out):
    scratch, dropped = working
    normalizer = NormalizerTables(
        tables.rule_units, tables.rule_strings, tables.symbol_units, tables.words, tables.steps, tables.after,
        tables.settings,
    )  # fmt: skip
    no_places, no_ends = scratch.list_symbols[:0], scratch.starts[:0]
    n = np.int64(normalize(normalizer, data, start, stop, WHOLE_ROW, scratch.text, no_places, no_places))
    if n < 0:
        return n
    return segment_with_dropout(
        tables, scratch.text, np.int64(0), n, DROP_ONCE, probability, state, scratch, dropped, ids, no_ends, out
    )


def _bytes_function(pattern, scan):
    drop_segment = inlined(specialise(_drop_bytes, f"_drop_bytes_{pattern}", next_end=scan))
    return kernel(specialise(drop_rows, f"drop_bytes_{pattern}", drop_segment=drop_segment))


#: Byte-level BPE by the name of the pattern; ``"whole"``: each stretch of text is one pre-token.
DROP_BYTES = {pattern: _bytes_function(pattern, scan) for pattern, scan in SCANS.items()}
#: Character BPE.
drop_characters = kernel(specialise(drop_rows, "drop_characters", drop_segment=_drop_characters))
#: BPE with marks behind general stages.
drop_marked = kernel(specialise(drop_rows, "drop_marked", drop_segment=_drop_marked))
#: BPE behind general stages.
drop_pieces = kernel(specialise(drop_rows, "drop_pieces", drop_segment=_drop_piece))
#: SentencePiece BPE.
drop_normalized = kernel(specialise(drop_rows, "drop_normalized", drop_segment=_drop_normalized))
