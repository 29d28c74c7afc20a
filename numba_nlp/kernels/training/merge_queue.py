"""Which pair merges next: a binary heap of entries, and those whose turn is far off, unsorted.

All entries whose count is at least a threshold are in the heap, so its first one is the first of all. When the heap is
empty the threshold falls to half the highest count that waits. Most pairs of a corpus are rare and never enter the
heap.

Twin: ``numba_nlp.reference.training.merge_queue``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import inlined, kernel
from numba_nlp.kernels.training.merge_memory import RULE_COUNTS, State
from numba_nlp.kernels.training.sort_rows import compare_bytes

__all__ = ["comes_before", "pop_entry", "push_entry", "refill_queue"]

_QUEUED, _LATER, _THRESHOLD = State.QUEUED, State.LATER, State.THRESHOLD


@kernel
def _text_order(tokens, left, right):
    """Below 0, 0 or above 0 as the text of one symbol is less than, as or greater than that of another."""
    offsets = tokens.offsets
    return compare_bytes(tokens.data, offsets[left], offsets[left + 1], tokens.data, offsets[right], offsets[right + 1])


@inlined
def comes_before(memory, tokens, rule, a, b):
    """Whether entry ``a`` is to be merged before entry ``b``.

    Parameters
    ----------
    memory : MergeMemory
    tokens : Tokens
    rule : int64
        ``RULE_COUNTS`` or ``RULE_CODES``: what decides between equal counts.
    a, b : int64

    Returns
    -------
    bool
        Of two entries of the same pair and count the older one comes first.
    """
    if memory.counts[a] != memory.counts[b]:
        return memory.counts[a] > memory.counts[b]
    first, second = memory.keys[a], memory.keys[b]
    if first == second:
        return a < b
    if rule == RULE_COUNTS:
        return first < second
    order = _text_order(tokens, first >> 32, second >> 32)
    if order == 0:
        order = _text_order(tokens, first & 0xFFFFFFFF, second & 0xFFFFFFFF)
    return order > 0


@kernel
def push_entry(memory, tokens, rule, state, entry):
    """Let an entry wait for its turn.

    Parameters
    ----------
    memory : MergeMemory
    tokens : Tokens
    rule : int64
    state : int64[State.SIZE]
    entry : int64

    Returns
    -------
    int64
        0.
    """
    if memory.counts[entry] < state[_THRESHOLD]:
        memory.later[state[_LATER]] = np.int32(entry)
        state[_LATER] += 1
        return np.int64(0)
    queue = memory.queue
    i = state[_QUEUED]
    state[_QUEUED] = i + 1
    while i > 0:
        parent = (i - 1) >> 1
        if comes_before(memory, tokens, rule, np.int64(queue[parent]), entry):
            break
        queue[i] = queue[parent]
        i = parent
    queue[i] = np.int32(entry)
    return np.int64(0)


@kernel
def pop_entry(memory, tokens, rule, state):
    """Take the first entry out of the heap, which is not empty.

    Parameters
    ----------
    memory : MergeMemory
    tokens : Tokens
    rule : int64
    state : int64[State.SIZE]

    Returns
    -------
    int64
        The entry.
    """
    queue = memory.queue
    size = state[_QUEUED] - 1
    state[_QUEUED] = size
    first = np.int64(queue[0])
    moved = np.int64(queue[size])
    i = np.int64(0)
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and comes_before(memory, tokens, rule, np.int64(queue[child + 1]), np.int64(queue[child])):
            child += 1
        if comes_before(memory, tokens, rule, moved, np.int64(queue[child])):
            break
        queue[i] = queue[child]
        i = child
    queue[i] = np.int32(moved)
    return first


@kernel
def refill_queue(memory, tokens, rule, state):
    """Lower the threshold until the heap is not empty.

    Parameters
    ----------
    memory : MergeMemory
    tokens : Tokens
    rule : int64
    state : int64[State.SIZE]

    Returns
    -------
    int64
        Number of entries in the heap; 0 when none is left at all.
    """
    if state[_QUEUED] > 0 or state[_LATER] == 0:
        return state[_QUEUED]
    later = memory.later
    n = state[_LATER]
    highest = memory.counts[later[0]]
    for i in range(1, n):
        highest = max(highest, memory.counts[later[i]])
    state[_THRESHOLD] = highest - (highest >> 1) if highest > 0 else highest
    kept = np.int64(0)
    for i in range(n):
        entry = np.int64(later[i])
        if memory.counts[entry] < state[_THRESHOLD]:
            later[kept] = np.int32(entry)
            kept += 1
        else:
            push_entry(memory, tokens, rule, state, entry)
    state[_LATER] = kept
    return state[_QUEUED]
