"""The article's fourth algorithm: a priority queue of pairs, and the symbols in a linked list. O(n log n).

A pair in the queue remembers how many characters its two symbols had; when its turn comes and they have not as many, or
one is gone, it is passed over.

Twin: ``numba_nlp.reference.articles.bpe_linked_list``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.articles.merge_pieces import emit_token, is_too_short, piece_rank, prepare_text
from numba_nlp.kernels.tables.heap import heap_key, pop_entry, push_entry

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@inlined
def _push_pair(pieces, scratch, left, right, size):
    """Put a pair of symbols into the queue when it merges; returns the new size."""
    starts, ends, sizes = scratch.starts, scratch.ends, scratch.sizes
    rank = piece_rank(pieces, scratch.text, np.int64(starts[left]), np.int64(ends[right]))
    if rank < 0:
        return size
    value = np.uint64((np.int64(right) << 32) | np.int64(sizes[left] + sizes[right]))
    return push_entry(scratch.heap, scratch.heap_values, size, heap_key(rank, left), value)


@kernel
def tokenize_priority_queue_linked_list(pieces, data, start, stop, scratch, ids, token_starts, token_ends):
    """Tokens of a text; arguments and result as of :func:`numba_nlp.kernels.articles.bpe_naive.tokenize_naive`."""
    if is_too_short(scratch, start, stop):
        return start - stop
    starts, ends, sizes = scratch.starts, scratch.ends, scratch.sizes
    previous, following = scratch.previous, scratch.following
    n = prepare_text(data, start, stop, scratch.text, scratch.origins, starts)
    for i in range(n):
        ends[i] = starts[i + 1]
        previous[i] = i - 1
        following[i] = i + 1 if i + 1 < n else -1
        sizes[i] = 1
    size = np.int64(0)
    for i in range(n - 1):
        size = _push_pair(pieces, scratch, np.int64(i), np.int64(i + 1), size)
    while size > 0:
        left = np.int64(scratch.heap[0] & LOW)
        value = scratch.heap_values[0]
        size = pop_entry(scratch.heap, scratch.heap_values, size)
        right = np.int64(value >> HALF)
        if sizes[left] == 0 or sizes[right] == 0 or sizes[left] + sizes[right] != np.int64(value & LOW):
            continue
        before, after = np.int64(previous[left]), np.int64(following[right])
        ends[left] = ends[right]
        sizes[left] += sizes[right]
        sizes[right] = 0
        following[left] = after
        if after >= 0:
            previous[after] = left
            size = _push_pair(pieces, scratch, left, after, size)
        if before >= 0:
            size = _push_pair(pieces, scratch, before, left, size)
    out = np.int64(0)
    node = np.int64(0)
    while node >= 0:
        out = emit_token(
            pieces, scratch.text, scratch.origins, np.int64(starts[node]), np.int64(ends[node]), ids, token_starts,
            token_ends, out,
        )  # fmt: skip
        node = np.int64(following[node])
    return out
