"""One run of BPE training over the kernels: arrays are made, and grow when a kernel asks for room."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from numba_nlp.kernels.tables.hashing import fill_piece_lookup
from numba_nlp.kernels.training.count_pairs import count_pairs, count_places, fill_places
from numba_nlp.kernels.training.learn_merges import DONE, MORE, learn_merges
from numba_nlp.kernels.training.merge_memory import (
    FULL_BYTES,
    FULL_ENTRIES,
    FULL_MERGES,
    FULL_PAIRS,
    FULL_POSITIONS,
    RULE_CODES,
    Limits,
    MergeMemory,
    State,
    Tokens,
    TrainingWords,
    new_memory,
    new_step,
)
from numba_nlp.kernels.training.pair_table import move_pairs, new_pair_slots

__all__ = ["Learned", "learn"]

#: Merges between two looks at the progress bar, and at what the user presses.
_STEPS = 500
_FIRST_PAIR_BITS = 12
#: Room to begin with, besides what is known to be needed.
_SPARE_ENTRIES, _SPARE_BYTES, _FIRST_MERGES = 1024, 1 << 16, 1024


class Learned(NamedTuple):
    """What a run gives.

    Attributes
    ----------
    tokens : list of bytes
        Those that it began with, then products.
    merges : int32[M, 3]
        Left symbol, right symbol, product.
    """

    tokens: list[bytes]
    merges: NDArray[np.int32]


def learn(
    tokens: Sequence[bytes],
    lengths: Sequence[int],
    words: TrainingWords,
    *,
    rule: int,
    most_tokens: int | None,
    most_merges: int | None,
    min_frequency: int,
    max_length: int | None,
    prefix: bytes,
    progress: bool,
) -> Learned:
    """Learn merges.

    Parameters
    ----------
    tokens, lengths : sequence of bytes, sequence of int
        Text of the symbols there are, no two the same, and their numbers of characters.
    words : TrainingWords
        Changed.
    rule : int
        ``RULE_COUNTS`` or ``RULE_CODES``.
    most_tokens, most_merges : int, optional
    min_frequency : int
    max_length : int, optional
    prefix : bytes
        What a merge takes off its right part.
    progress : bool

    Returns
    -------
    Learned
    """
    n_symbols = int(words.lengths.sum())
    # each merge that makes a token makes the words shorter by one symbol at least
    n_tokens = len(tokens) + n_symbols
    if most_tokens is not None:
        n_tokens = min(n_tokens, max(most_tokens, len(tokens)))
    if most_merges is not None:
        n_tokens = min(n_tokens, len(tokens) + most_merges)
    slots, n_pairs = _count_pairs(words)
    n_slots = slots.size // 2
    n_words = np.zeros(n_slots, np.int64)
    last_words = np.full(n_slots, -1, np.int32)
    n_places = int(count_places(words, slots, last_words, n_words))
    keeps = rule == RULE_CODES
    memory = new_memory(1, n_pairs + _SPARE_ENTRIES, n_places + 2 * n_symbols, _FIRST_MERGES, keeps_entries=keeps)
    memory = memory._replace(slots=slots, newest=np.full(n_slots if keeps else 0, -1, np.int32))
    table = _new_tokens(tokens, lengths, n_tokens + 1, prefix)
    state = np.zeros(State.SIZE, np.int64)
    state[State.TOKENS], state[State.PAIRS] = len(tokens), n_pairs
    state[State.THRESHOLD] = np.iinfo(np.int64).max
    last_words[:] = -1
    fill_places(words, n_words, last_words, memory, table, rule, state)
    step = new_step(n_tokens + 1, 2 * n_symbols)
    limits = Limits(
        rule,
        _or_most(most_tokens),
        _or_most(most_merges),
        min_frequency,
        _or_most(max_length),
    )
    status = MORE
    expected = n_tokens - len(tokens)
    with tqdm(total=expected, desc="merges", unit="", disable=not progress) as bar:
        while status != DONE:
            status = int(learn_merges(words, table, memory, step, limits, state, _STEPS))
            if status < 0:
                memory, table = _grown(memory, table, status, int(state[State.NEEDED]))
            bar.update(min(int(state[State.MERGES]), expected) - bar.n)
    data = table.data.tobytes()
    bounds = table.offsets[: int(state[State.TOKENS]) + 1].tolist()
    texts = [data[start:stop] for start, stop in pairwise(bounds)]
    return Learned(texts, memory.merges[: 3 * int(state[State.MERGES])].reshape(-1, 3))


def _or_most(limit: int | None) -> int:
    most = int(np.iinfo(np.int64).max)
    return most if limit is None else min(limit, most)


def _count_pairs(words: TrainingWords) -> tuple[NDArray[np.int64], int]:
    """Table of the pairs there are, and their number."""
    longest = int(words.lengths.max(initial=0))
    bits = max(_FIRST_PAIR_BITS, (4 * longest).bit_length())
    slots = new_pair_slots(bits)
    n_pairs = np.zeros(1, np.int64)
    word = int(count_pairs(words, 0, slots, n_pairs))
    none = np.empty(0, np.int32)
    while word < words.counts.size:
        bits += 1
        larger = new_pair_slots(bits)
        move_pairs(slots, none, larger, none)
        slots = larger
        word = int(count_pairs(words, word, slots, n_pairs))
    return slots, int(n_pairs[0])


def _new_tokens(tokens: Sequence[bytes], lengths: Sequence[int], room: int, prefix: bytes) -> Tokens:
    text = b"".join(tokens)
    data = np.zeros(len(text) + _SPARE_BYTES, np.uint8)
    data[: len(text)] = np.frombuffer(text, np.uint8)
    offsets = np.zeros(room + 1, np.int64)
    np.cumsum([len(token) for token in tokens], out=offsets[1 : len(tokens) + 1])
    n_characters = np.zeros(room, np.int32)
    n_characters[: len(tokens)] = lengths
    lookup = np.full(1 << (2 * room).bit_length(), -1, np.int32)
    fill_piece_lookup(data, offsets, np.arange(len(tokens), dtype=np.int32), lookup)
    return Tokens(data, offsets, n_characters, lookup, np.frombuffer(prefix, np.uint8).copy())


def _grown(memory: MergeMemory, tokens: Tokens, status: int, needed: int) -> tuple[MergeMemory, Tokens]:
    """The arrays with room for what a kernel needs, and as much again."""
    if status == FULL_BYTES:
        return memory, tokens._replace(data=_longer(tokens.data, 2 * needed))
    if status == FULL_MERGES:
        return memory._replace(merges=_longer(memory.merges, 6 * needed)), tokens
    if status == FULL_POSITIONS:
        return memory._replace(positions=_longer(memory.positions, 2 * needed)), tokens
    if status == FULL_ENTRIES:
        names = ("counts", "keys", "firsts", "stops", "queue", "later", *(("older",) if memory.older.size else ()))
        return memory._replace(**{name: _longer(getattr(memory, name), 2 * needed) for name in names}), tokens
    assert status == FULL_PAIRS, status
    bits = (4 * needed).bit_length()
    slots = new_pair_slots(bits)
    newest = np.full(slots.size // 2 if memory.newest.size else 0, -1, np.int32)
    move_pairs(memory.slots, memory.newest, slots, newest)
    return memory._replace(slots=slots, newest=newest), tokens


def _longer(array: NDArray, size: int) -> NDArray:  # type: ignore[type-arg]
    longer = np.zeros(size, array.dtype)
    longer[: array.size] = array
    return longer
