"""Attention to a source, whose keys and values all rows of a prompt share: two products for each head.

Twin: ``numba_nlp.reference.step.row_attention.attend``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.products import MULTIPLY, PACK, Matrices
from numba_nlp.kernels.step.row_attention import BLOCK, exponentials
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["attend_to_sources", "score_panels", "sum_panels"]

_pack, _multiply = PACK["float32"], MULTIPLY["float32"]


@kernel
def score_panels(queries, row, n_rows, begin, scale, keys, seen, size, no_sums, packed, work, scores):
    """Scaled products of the queries of some rows with all keys of a head.

    Parameters
    ----------
    queries : float32[m, k]
    row, n_rows : int64
        First of the rows, and their number.
    begin : int64
        Column of the head.
    scale : float32
    keys : float32[p]
        The keys in panels, ``seen`` columns of ``size`` numbers; see ``SourceMemory``.
    seen, size : int64
    no_sums : int32[0]
        What such matrices lack.
    packed : PackedRows
        Work space, for as many rows of ``size`` numbers.
    work : float32[w]
        Work space, for so many.
    scores : float32[s]
        The first ``n_rows * seen`` are written, row by row.
    """
    some = work[: n_rows * size].reshape(n_rows, size)
    for r in range(n_rows):
        for i in range(size):
            some[r, i] = queries[row + r, begin + i] * scale
    none = scores[:0]
    _pack(some, n_rows, packed)
    matrices = Matrices(keys, none, no_sums, none, seen, size)
    _multiply(packed, n_rows, matrices, 0, 0, seen // COLUMNS, scores[: n_rows * seen].reshape(n_rows, seen))


@kernel
def sum_panels(scores, row, n_rows, begin, values, seen, size, no_sums, packed, work, context):
    """Sums of the values of a head, by the weights of some rows.

    Parameters
    ----------
    scores : float32[s]
        Weights, ``seen`` for each row.
    row, n_rows : int64
        First of the rows that are written, and their number.
    begin : int64
        Column of the head.
    values : float32[p]
        The values in panels, ``seen`` rows of ``size`` numbers.
    seen, size : int64
    no_sums : int32[0]
        What such matrices lack.
    packed : PackedRows
        Work space, for as many rows of ``seen`` numbers.
    work : float32[w]
        Work space, for as many rows of ``size`` numbers, to whole panels.
    context : float32[m, k]
        ``size`` columns of the rows are written.
    """
    columns = (size + COLUMNS - 1) // COLUMNS * COLUMNS
    none = scores[:0]
    _pack(scores[: n_rows * seen].reshape(n_rows, seen), n_rows, packed)
    matrices = Matrices(values, none, no_sums, none, columns, seen)
    some = work[: n_rows * columns].reshape(n_rows, columns)
    _multiply(packed, n_rows, matrices, 0, 0, columns // COLUMNS, some)
    for r in range(n_rows):
        for i in range(size):
            context[row + r, begin + i] = some[r, i]


@kernel
def attend_to_sources(queries, layer, first, last, prompts, per_prompt, weights, source, packed, scores, work, context):
    """Attend to the sources of rows.

    Parameters
    ----------
    queries : float32[m, k]
        Query of each row.
    layer : int64
    first, last : int64
        Which heads of prompts: head ``i % heads`` of group ``i // heads``.
    prompts : int32[p]
        Source of each group of ``per_prompt`` rows.
    per_prompt : int64
    weights : DecoderWeights
    source : SourceMemory
    packed : PackedRows
        Work space, for ``per_prompt`` rows of as many numbers as a source, or a head, has.
    scores : float32[s]
        Work space, for so many.
    work : float32[w]
        Work space, for ``per_prompt`` rows of a head, to whole panels.
    context : float32[m, heads * head width]
        Written: what the heads give.
    """
    heads, size = weights.heads, weights.head_width
    columns = (size + COLUMNS - 1) // COLUMNS * COLUMNS
    for item in range(first, last):
        group, head = item // heads, item % heads
        prompt, begin, row = prompts[group], head * size, group * per_prompt
        length = source.lengths[prompt]
        seen = (length + BLOCK - 1) // BLOCK * BLOCK
        which = ((layer * source.sources + prompt) * heads + head) * source.width
        keys, values = source.keys[which * size :], source.values[which * columns :]
        none = source.no_sums
        score_panels(
            queries, row, per_prompt, begin, weights.scales[layer], keys, seen, size, none, packed, work, scores
        )
        for r in range(per_prompt):
            factor = np.float32(1) / exponentials(scores, r * seen, length)
            for i in range(r * seen, (r + 1) * seen):
                scores[i] *= factor
        sum_panels(scores, row, per_prompt, begin, values, seen, size, none, packed, work, context)
