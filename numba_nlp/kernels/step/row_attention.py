"""Self-attention of one new token in each row (Vaswani et al. 2017, arXiv:1706.03762, section 3.2).

Twin: ``numba_nlp.reference.step.row_attention``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.float_lanes import largest_of_block, write_exponentials
from numba_nlp.kernels.step.row_sums import add_multiple, dot, total

__all__ = ["BLOCK", "attend_to_rows", "exponentials"]

#: Scores are computed by so many.
BLOCK = 64


@kernel
def exponentials(scores, first, n):
    """Make scores of attention into weights that sum up to more than 0; those that fill the last block count as well.

    Parameters
    ----------
    scores : float32[m]
        Scores from ``first`` on, changed in place; ``m`` reaches to the end of the last block of 64. What fills it is
        written as minus infinity first.
    first, n : int64
        ``n`` is at least 1.

    Returns
    -------
    float32
        The sum of the ``n`` weights.
    """
    end = first + (n + BLOCK - 1) // BLOCK * BLOCK
    for i in range(first + n, end):
        scores[i] = -np.inf
    top = np.float32(-np.inf)
    for i in range(first, end, BLOCK):
        top = max(top, largest_of_block(scores, i))
    for i in range(first, end, BLOCK):
        write_exponentials(scores, i, top, scores)
    return total(scores, first, n)


@kernel
def attend_to_rows(qkv, layer, first, last, weights, memory, scores, context):
    """Keep the keys and values of new tokens, and attend to all that their rows see.

    Parameters
    ----------
    qkv : float32[m, k]
        Query, key and value of each row.
    layer : int64
    first, last : int64
        Which heads of rows: head ``i % heads`` of row ``i // heads``. Those of a row need not be together.
    weights : DecoderWeights
    memory : RowMemory
        Keys and values of the heads are written.
    scores : float32[s]
        Work space, for as many numbers as a row sees, to a multiple of 64.
    context : float32[m, heads * head width]
        Written: what the heads give.
    """
    heads, size = weights.heads, weights.head_width
    width = heads * size
    keys, values, scale = memory.keys[layer], memory.values[layer], weights.scales[layer]
    queries, stride = qkv.reshape(qkv.size), qkv.shape[1]
    out = context.reshape(context.size)
    farthest = weights.distances.shape[1] - 1
    for item in range(first, last):
        row, head = item // heads, item % heads
        begin = head * size
        query, n = row * stride + begin, memory.lengths[row]
        own = memory.offsets[row, n - 1] + begin
        for i in range(size):
            keys[own + i] = queries[query + width + i]
            values[own + i] = queries[query + 2 * width + i]
        for i in range(n):
            scores[i] = dot(queries, query, keys, memory.offsets[row, i] + begin, size) * scale
        if farthest >= 0:
            place = memory.columns[row, n - 1]
            for i in range(n):
                scores[i] += weights.distances[head, min(place - memory.columns[row, i], farthest)]
        factor = np.float32(1) / exponentials(scores, 0, n)
        to = row * width + begin
        for i in range(to, to + size):
            out[i] = 0
        for i in range(n):
            add_multiple(out, to, scores[i] * factor, values, memory.offsets[row, i] + begin, size)
