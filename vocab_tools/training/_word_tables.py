"""Tables of word counts that grow, one a thread, and how they come together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from numba_nlp.kernels.segment.normalize_bert import normalized_room
from numba_nlp.kernels.tables.rows import copy_rows
from numba_nlp.kernels.training.count_rows import BLOCK, COUNT_ROWS, SLACK, WordRules, count_bert_words
from numba_nlp.kernels.training.sort_rows import first_bytes, sort_ties
from numba_nlp.kernels.training.word_table import (
    FILLED,
    USED_BYTES,
    WordTable,
    add_table,
    move_entries,
    new_word_table,
    word_sizes,
    write_words,
)

__all__ = ["GrowingTable", "Words", "join_tables", "sort_words"]

#: Words as rows, and their counts: data, offsets, counts.
Words = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]
_FIRST_BITS, _FIRST_ARENA = 14, 1 << 16


class GrowingTable:
    """A :class:`WordTable` that is replaced by a larger one when it is full; belongs to one thread at a time."""

    def __init__(self) -> None:
        self._table = new_word_table(_FIRST_BITS, _FIRST_ARENA)
        self._starts = np.empty(BLOCK + SLACK, np.int64)
        self._ends = np.empty(BLOCK + SLACK, np.int64)

    def _fill(self, rows: int, step: Callable[[int, WordTable, NDArray[np.int64]], int]) -> None:
        """Call a kernel from the row on where it stopped, with a larger table each time, until all rows are done."""
        where = np.array([-1, 0], np.int64)
        first = step(0, self._table, where)
        while first < rows:
            self._grow(int(where[1]))
            first = step(first, self._table, where)

    def _grow(self, n_bytes: int) -> None:
        old = self._table
        bits = (old.entries.size // 4).bit_length() - 1
        if 16 * (int(old.fill[FILLED]) + BLOCK + SLACK) > old.entries.size:
            bits += 1
        arena = max(old.arena.size, 2 * (int(old.fill[USED_BYTES]) + n_bytes))
        self._table = new_word_table(bits, arena)
        move_entries(old, self._table)

    def add_rows(
        self, cut: str, rules: WordRules, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> None:
        """Cut rows of valid UTF-8 into words and count these."""

        def step(first: int, table: WordTable, where: NDArray[np.int64]) -> int:
            kernel = COUNT_ROWS[cut]
            return int(kernel(rules, data, starts, ends, first, self._starts, self._ends, table, where))

        self._fill(starts.size, step)

    def add_bert_words(self, rules: WordRules, chunks: Words) -> None:
        """Normalise counted chunks as BERT does and count their words."""
        data, offsets, counts = chunks
        longest = int(np.diff(offsets).max(initial=0))
        text, no_alignment = np.empty(normalized_room(longest), np.uint8), np.empty(0, np.int32)

        def step(first: int, table: WordTable, where: NDArray[np.int64]) -> int:
            spans = self._starts, self._ends
            return int(count_bert_words(rules, data, offsets, counts, first, text, no_alignment, *spans, table, where))

        self._fill(counts.size, step)

    def add_words(self, words: Words) -> None:
        """Add counted words."""
        data, offsets, counts = words

        def step(first: int, table: WordTable, where: NDArray[np.int64]) -> int:
            stopped = int(add_table(table, data, offsets, counts, first))
            where[1] = 0 if stopped == counts.size else int(offsets[stopped + 1] - offsets[stopped])
            return stopped

        self._fill(counts.size, step)

    def words(self) -> Words:
        """All words, in no order."""
        sizes = np.zeros(2, np.int64)
        word_sizes(self._table, sizes)
        n_words, n_bytes = map(int, sizes)
        data = np.empty(n_bytes, np.uint8)
        offsets, counts = np.empty(n_words + 1, np.int64), np.empty(n_words, np.int64)
        write_words(self._table, data, offsets, counts)
        return data, offsets, counts


def join_tables(tables: Iterable[GrowingTable]) -> GrowingTable:
    """Add all tables up, into the first of them; there is at least one."""
    first, *others = tables
    for table in others:
        first.add_words(table.words())
    return first


def sort_words(words: Words, prefix: bytes = b"") -> Words:
    """Words in the order of their bytes, each with a prefix put before it."""
    data, offsets, counts = words
    keys = np.empty(counts.size, np.uint64)
    first_bytes(data, offsets, keys)
    order = np.argsort(keys, kind="stable").astype(np.int64, copy=False)
    sort_ties(data, offsets, keys, order, np.empty(counts.size, np.int64))
    lengths = np.diff(offsets)[order]
    starts = offsets[:-1][order]
    new_offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(lengths + len(prefix), out=new_offsets[1:])
    out = np.empty(int(new_offsets[-1]), np.uint8)
    for place, byte in enumerate(prefix):
        out[new_offsets[:-1] + place] = byte
    shifted = new_offsets + len(prefix)
    copy_rows(data, starts, starts + lengths, shifted, out)
    return out, new_offsets, counts[order]
