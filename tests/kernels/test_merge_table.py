"""The table of merges against a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.tables import merge_table
from numba_nlp.kernels.tables.hashing import table_bits
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL, find_merge_pair, guess_merge, new_merge_table, number_bits

symbols = st.one_of(st.integers(0, 9), st.integers(0, NO_SYMBOL - 1), st.integers(0, 19).map(lambda bit: 1 << bit))


@kernel
def _find(table, pairs, left, right):
    return find_merge_pair(table, pairs, left, right)


@kernel
def _guess(table, pairs, left, right):
    return guess_merge(table, table_bits(table.size), number_bits(pairs.size), left, right)


def make(pairs):
    lefts, rights = (np.array([pair[side] for pair in pairs], np.int32) for side in range(2))
    return new_merge_table(lefts, rights)


@given(
    pairs=st.lists(st.tuples(symbols, symbols), unique=True, max_size=300), others=st.lists(st.tuples(symbols, symbols))
)
def test_finds_what_was_entered_and_nothing_else(pairs, others):
    table, numbered = make(pairs)
    assert table.dtype == np.uint32
    assert table.size >= 2 * len(pairs)
    assert table.size & (table.size - 1) == 0
    numbers = {pair: number for number, pair in enumerate(pairs)}
    for left, right in [*pairs, *others, (0, NO_SYMBOL), (NO_SYMBOL, NO_SYMBOL)]:
        expected = numbers.get((left, right), -1)
        assert _find(table, numbered, left, right) == expected
        guess = _guess(table, numbered, left, right)
        assert guess >= 0
        if expected >= 0:
            # never above the right one
            assert guess <= expected


@given(n_merges=st.one_of(st.integers(0, 70), st.integers(0, 2**24)))
def test_number_bits(n_merges):
    assert number_bits(n_merges) == max(1, (n_merges - 1).bit_length() if n_merges else 1)


def test_large_table():
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 50_000, (60_000, 2)), axis=0)
    rng.shuffle(pairs)
    table, numbered = new_merge_table(pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32))
    assert np.count_nonzero(table) == len(pairs)
    for number in range(0, len(pairs), 97):
        assert _find(table, numbered, *pairs[number].tolist()) == number
    listed = set(map(tuple, pairs.tolist()))
    for left, right in rng.integers(0, 50_000, (500, 2)).tolist():
        assert (_find(table, numbered, left, right) >= 0) == ((left, right) in listed)


def test_a_table_that_is_too_small_doubles(monkeypatch):
    filled = []
    fill = merge_table.fill_merge_table

    def fill_twice(pairs, table):
        filled.append(table.size)
        return fill(pairs, table) if len(filled) > 2 else 0

    monkeypatch.setattr(merge_table, "fill_merge_table", fill_twice)
    table, numbered = make([(1, 2), (3, 4), (1, 4)])
    assert filled == [8, 16, 32]
    assert _find(table, numbered, 3, 4) == 1
    filled.clear()
    monkeypatch.setattr(merge_table, "fill_merge_table", lambda pairs, table: 0)
    with pytest.raises(ValueError, match="can hold these 3 merges"):
        make([(1, 2), (3, 4), (1, 4)])


def test_overfull_table_says_so():
    pairs = np.arange(1, 10, dtype=np.uint64)
    table = np.zeros(8, np.uint32)
    assert merge_table.fill_merge_table(pairs, table) < 9
