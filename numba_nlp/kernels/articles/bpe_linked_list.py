"""The article's fourth algorithm: a priority queue of pairs, and the symbols in a linked list. O(n log n).

In the article a pair in the queue remembers how many characters its two symbols had, and is passed over when they have
not as many when its turn comes. The length of the piece that it would make says the same, so a pair in the queue is
just its rank and where it starts.

Twin: ``numba_nlp.reference.articles.bpe_linked_list``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.articles.merge_pieces import (
    STRETCH,
    has_length,
    is_too_short,
    keep_tokens,
    piece_rank,
    prepare_text,
)
from numba_nlp.kernels.tables.heap import heap_key, pop_key, push_key

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@inlined
def _push_pair(pieces, text, starts, left, end, heap, size):
    """Put the pair of symbols in some characters into the queue when it merges; returns the new size."""
    rank = piece_rank(pieces, text, np.int64(starts[left]), np.int64(starts[end]))
    return push_key(heap, size, heap_key(rank, left)) if rank >= 0 else size


@kernel
def merge_by_list(pieces, scratch, first, last):
    """Merge some characters of the prepared text until nothing merges.

    Parameters
    ----------
    pieces : MergePieces
    scratch : ArticleScratch
        ``text`` and ``starts`` are read. Of each symbol left ``ends`` is written at its first character.
    first, last : int64
        The characters, ``first < last``.

    Notes
    -----
    A symbol is known by its first character. The one that follows begins where it ends, so the list has a link to the
    symbol before and an end; a symbol that is gone has the end 0.
    """
    text, starts, ends, previous, heap = (
        scratch.text, scratch.starts, scratch.ends, scratch.previous, scratch.heap,
    )  # fmt: skip
    size = np.int64(0)
    for i in range(first, last):
        ends[i] = i + 1
        previous[i - first] = i - 1
        if i + 1 < last:
            size = _push_pair(pieces, text, starts, np.int64(i), np.int64(i + 2), heap, size)
    while size > 0:
        left = np.int64(heap[0] & LOW)
        rank = np.int64(heap[0] >> HALF)
        size = pop_key(heap, size)
        right = np.int64(ends[left])
        if right == 0 or right == last:
            continue
        end = np.int64(ends[right])
        if not has_length(pieces, rank, np.int64(starts[end]) - np.int64(starts[left])):
            continue
        ends[left] = end
        ends[right] = 0
        if end < last:
            previous[end - first] = left
            size = _push_pair(pieces, text, starts, left, np.int64(ends[end]), heap, size)
        before = np.int64(previous[left - first])
        if before >= first:
            size = _push_pair(pieces, text, starts, before, end, heap, size)


@kernel
def tokenize_priority_queue_linked_list(pieces, data, start, stop, scratch, ids, token_starts, token_ends):
    """Tokens of a text; arguments and result as of :func:`numba_nlp.kernels.articles.bpe_naive.tokenize_naive`."""
    if is_too_short(scratch, start, stop):
        return start - stop
    n = prepare_text(data, start, stop, scratch.text, scratch.origins, scratch.starts)
    stretch = np.int64(STRETCH)
    first, expected, out = np.int64(0), np.int64(-1), np.int64(0)
    while True:
        last = min(first + stretch, n)
        merge_by_list(pieces, scratch, first, last)
        out, first, expected = keep_tokens(
            pieces, scratch, first, last, n, expected, ids, token_starts, token_ends, out
        )
        if first == n:
            return out
        if first < 0:
            stretch, first, out = n, np.int64(0), np.int64(0)
