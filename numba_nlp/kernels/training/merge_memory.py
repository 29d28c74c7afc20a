"""The arrays of a training run of BPE, the numbers that say how far it is, and what makes room in them.

Twin: ``numba_nlp.reference.training.learn_merges``, which needs none of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.training.pair_table import new_pair_slots

__all__ = [
    "FULL_BYTES",
    "FULL_ENTRIES",
    "FULL_MERGES",
    "FULL_PAIRS",
    "FULL_POSITIONS",
    "RULE_CODES",
    "RULE_COUNTS",
    "Limits",
    "MergeMemory",
    "State",
    "Step",
    "Tokens",
    "TrainingWords",
    "new_memory",
    "new_step",
]

#: Ties as in tokenizers: of pairs that are as frequent the lower left symbol first, then the lower right one.
RULE_COUNTS = 0
#: Ties as in subword-nmt: the pair with the greater text of its left, then of its right symbol.
RULE_CODES = 1

# What an array has no room for (:func:`numba_nlp.kernels.training.learn_merges.learn_merges`).
FULL_PAIRS, FULL_ENTRIES, FULL_POSITIONS, FULL_BYTES, FULL_MERGES = -1, -2, -3, -4, -5


class State:
    """Places in the array of numbers that change from step to step."""

    TOKENS, ENTRIES, POSITIONS, QUEUED, LATER, THRESHOLD, MERGES, PAIRS, NEEDED = range(9)
    SIZE = 9


class Limits(NamedTuple):
    """When training ends, and what it does on the way.

    Attributes
    ----------
    rule : int
        ``RULE_COUNTS`` or ``RULE_CODES``.
    tokens, merges : int
        Most symbols, most merges.
    frequency : int
        A pair that occurs less often does not merge.
    length : int
        Pairs whose product would have this many characters, or more, are not taken up; pairs of the characters that
        words begin with always are (``max_token_length`` of tokenizers).
    """

    rule: int
    tokens: int
    merges: int
    frequency: int
    length: int


class TrainingWords(NamedTuple):
    """Distinct words as symbols.

    Attributes
    ----------
    symbols : int32[n]
        Changed.
    starts, lengths : int64[words], int32[words]
        The symbols of word ``i`` are ``symbols[starts[i]:starts[i] + lengths[i]]``. Lengths change.
    counts : int64[words]
    """

    symbols: NDArray[np.int32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int32]
    counts: NDArray[np.int64]


class Tokens(NamedTuple):
    """What symbols stand for; their number is ``state[State.TOKENS]``.

    Attributes
    ----------
    data, offsets : uint8[b], int64[T + 1]
        Text of each.
    lengths : int32[T]
        Characters of each.
    lookup : int32[2^k]
        As :func:`numba_nlp.kernels.tables.hashing.find_piece` wants it; ``2^k >= 2 * T``.
    prefix : uint8[p]
        What a symbol inside a word begins with, which a merge takes off its right part.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int32]
    lookup: NDArray[np.int32]
    prefix: NDArray[np.uint8]


class MergeMemory(NamedTuple):
    """Pairs, and where they occur.

    An *entry* is a pair, words in which it may occur, and the count that it has its place in the queue by. The count is
    brought up to date when the entry comes first. Entries of low counts wait unsorted.

    Attributes
    ----------
    slots : int64[2 << bits]
        Counts (:mod:`numba_nlp.kernels.training.pair_table`).
    newest : int32[1 << bits] or int32[0]
        Newest entry of the pair in each slot, -1 for none; for ``RULE_CODES`` only.
    counts, keys, firsts, stops : int64[E], int64[E], int64[E], int64[E]
        Count, pair, and place in ``positions`` of each entry.
    older : int32[E]
        The entry of the same pair before; -1 for none, -2 when the entry is done with. For ``RULE_CODES`` only.
    positions : int32[P]
        Numbers of words.
    queue, later : int32[E], int32[E]
        Entries: a heap of those with a count of at least the threshold, and the others.
    merges : int32[3 * M]
        Left symbol, right symbol and product.
    """

    slots: NDArray[np.int64]
    newest: NDArray[np.int32]
    counts: NDArray[np.int64]
    keys: NDArray[np.int64]
    firsts: NDArray[np.int64]
    stops: NDArray[np.int64]
    older: NDArray[np.int32]
    positions: NDArray[np.int32]
    queue: NDArray[np.int32]
    later: NDArray[np.int32]
    merges: NDArray[np.int32]


class Step(NamedTuple):
    """What one merge changes, by the neighbour ``x``; place ``kind * T + x`` of the first three.

    Kinds: 0 the new pair ``(x, new)``, 1 ``(new, x)``, 2 the pair ``(x, left)`` that goes, 3 ``(right, x)``.

    Attributes
    ----------
    changes : int64[4 * T]
        Change of the count; zero between steps.
    marks : uint8[4 * T]
        1 for those in ``touched``.
    touched : int32[4 * T]
    last_words : int32[2 * T]
        Word recorded last for a new pair; -1 between steps.
    n_words : int32[2 * T]
        Words recorded for a new pair; zero between steps.
    record_pairs, record_words : int32[R], int32[R]
        Places (as above) and words of new pairs, in the order in which they were made.
    """

    changes: NDArray[np.int64]
    marks: NDArray[np.uint8]
    touched: NDArray[np.int32]
    last_words: NDArray[np.int32]
    n_words: NDArray[np.int32]
    record_pairs: NDArray[np.int32]
    record_words: NDArray[np.int32]


def new_memory(pair_bits: int, entries: int, positions: int, merges: int, *, keeps_entries: bool) -> MergeMemory:
    """Empty arrays; ``keeps_entries`` for ``RULE_CODES``."""
    return MergeMemory(
        new_pair_slots(pair_bits),
        np.full(1 << pair_bits if keeps_entries else 0, -1, np.int32),
        *(np.zeros(entries, np.int64) for _ in range(4)),
        np.full(entries if keeps_entries else 0, -1, np.int32),
        np.zeros(positions, np.int32),
        np.zeros(entries, np.int32),
        np.zeros(entries, np.int32),
        np.zeros(3 * merges, np.int32),
    )


def new_step(n_tokens: int, records: int) -> Step:
    """Scratch for up to ``n_tokens`` symbols."""
    return Step(
        np.zeros(4 * n_tokens, np.int64),
        np.zeros(4 * n_tokens, np.uint8),
        np.zeros(4 * n_tokens, np.int32),
        np.full(2 * n_tokens, -1, np.int32),
        np.zeros(2 * n_tokens, np.int32),
        np.empty(records, np.int32),
        np.empty(records, np.int32),
    )
