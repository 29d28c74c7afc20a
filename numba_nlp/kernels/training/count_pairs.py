"""The pairs that a training run of BPE begins with: how often each occurs, and in which words.

Twin: ``numba_nlp.reference.training.count_pairs``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.training.merge_memory import State
from numba_nlp.kernels.training.merge_queue import push_entry
from numba_nlp.kernels.training.pair_table import NO_PAIR, add_to_pair, find_pair, pair_key

__all__ = ["count_pairs", "count_places", "fill_places"]

_ENTRIES, _POSITIONS = State.ENTRIES, State.POSITIONS


@kernel
def count_pairs(words, first, slots, n_pairs):
    """Count the pairs of neighbours, as long as the table is less than half full.

    Parameters
    ----------
    words : TrainingWords
    first : int64
        The word to begin with.
    slots : int64[2 << bits]
        Added to.
    n_pairs : int64[1]
        Pairs in the table; added to.

    Returns
    -------
    int64
        The word to go on with, once the table has grown; the number of words at the end.
    """
    for word in range(first, words.counts.size):
        start, n = words.starts[word], words.lengths[word]
        if 4 * (n_pairs[0] + n) > slots.size:
            return np.int64(word)
        for i in range(start, start + n - 1):
            n_pairs[0] += add_to_pair(slots, pair_key(words.symbols[i], words.symbols[i + 1]), words.counts[word])
    return np.int64(words.counts.size)


@kernel
def count_places(words, slots, last_words, n_words):
    """Count the words in which each pair occurs.

    Parameters
    ----------
    words : TrainingWords
    slots : int64[2 << bits]
        Of :func:`count_pairs`.
    last_words : int32[1 << bits]
        Scratch, -1 each.
    n_words : int64[1 << bits]
        Added to: zero each.

    Returns
    -------
    int64
        All of them.
    """
    n = np.int64(0)
    for word in range(words.counts.size):
        start = words.starts[word]
        for i in range(start, start + words.lengths[word] - 1):
            slot = find_pair(slots, pair_key(words.symbols[i], words.symbols[i + 1]))
            if last_words[slot] != word:
                last_words[slot] = np.int32(word)
                n_words[slot] += 1
                n += 1
    return n


@kernel
def fill_places(words, n_words, last_words, memory, tokens, rule, state):
    """Make an entry for each pair, with the words in which it occurs.

    Parameters
    ----------
    words : TrainingWords
    n_words : int64[1 << bits]
        Of :func:`count_places`; overwritten.
    last_words : int32[1 << bits]
        Scratch, -1 each.
    memory : MergeMemory
        ``slots`` are those of :func:`count_pairs`; the rest is written.
    tokens : Tokens
    rule : int64
    state : int64[State.SIZE]
        Entries and positions are counted.

    Returns
    -------
    int64
        Number of entries.
    """
    slots = memory.slots
    for slot in range(slots.size >> 1):
        if slots[2 * slot] == NO_PAIR:
            continue
        entry = state[_ENTRIES]
        state[_ENTRIES] += 1
        memory.keys[entry] = slots[2 * slot]
        memory.counts[entry] = slots[2 * slot + 1]
        memory.firsts[entry] = state[_POSITIONS]
        memory.stops[entry] = state[_POSITIONS]
        state[_POSITIONS] += n_words[slot]
        n_words[slot] = entry
        if memory.newest.size > 0:
            memory.newest[slot] = np.int32(entry)
            memory.older[entry] = -1
        push_entry(memory, tokens, rule, state, entry)
    for word in range(words.counts.size):
        start = words.starts[word]
        for i in range(start, start + words.lengths[word] - 1):
            slot = find_pair(slots, pair_key(words.symbols[i], words.symbols[i + 1]))
            if last_words[slot] != word:
                last_words[slot] = np.int32(word)
                entry = n_words[slot]
                memory.positions[memory.stops[entry]] = np.int32(word)
                memory.stops[entry] += 1
    return state[_ENTRIES]
