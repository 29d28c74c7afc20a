"""Attention to a source, whose keys and values all rows of a prompt share: two products for each head.

Twin: ``numba_nlp.reference.step.row_attention.attend``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.step.products import MULTIPLY, PACK, Matrices
from numba_nlp.kernels.step.row_attention import BLOCK, exponentials
from numba_nlp.kernels.step.row_blocks import COLUMNS

__all__ = ["attend_to_sources"]

_pack, _multiply = PACK["float32"], MULTIPLY["float32"]


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
    scale = weights.scales[layer]
    none, no_sums = scores[:0], source.no_sums
    for item in range(first, last):
        group, head = item // heads, item % heads
        prompt, begin, row = prompts[group], head * size, group * per_prompt
        length = source.lengths[prompt]
        seen = (length + BLOCK - 1) // BLOCK * BLOCK
        which = (layer * source.sources + prompt) * heads + head
        some = work[: per_prompt * size].reshape(per_prompt, size)
        for r in range(per_prompt):
            for i in range(size):
                some[r, i] = queries[row + r, begin + i] * scale
        keys = Matrices(source.keys[which * source.width * size :], none, no_sums, none, seen, size)
        rows = scores[: per_prompt * seen].reshape(per_prompt, seen)
        _pack(some, per_prompt, packed)
        _multiply(packed, per_prompt, keys, 0, 0, seen // COLUMNS, rows)
        for r in range(per_prompt):
            factor = np.float32(1) / exponentials(scores, r * seen, length)
            for i in range(seen):
                rows[r, i] *= factor
        values = Matrices(source.values[which * source.width * columns :], none, no_sums, none, columns, seen)
        some = work[: per_prompt * columns].reshape(per_prompt, columns)
        _pack(rows, per_prompt, packed)
        _multiply(packed, per_prompt, values, 0, 0, columns // COLUMNS, some)
        for r in range(per_prompt):
            for i in range(size):
                context[row + r, begin + i] = some[r, i]
