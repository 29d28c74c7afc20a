from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.derive_splits import derive_splits, merge_alone_ranked
from numba_nlp.kernels.segment.merge_list import join_by_heap, rank_of, start_list
from numba_nlp.kernels.tables.hashing import EMPTY, fill_merge_slots
from numba_nlp.kernels.tables.merge_table import new_merge_table
from numba_nlp.reference.segment import derive_splits as splits_twin
from numba_nlp.reference.segment import merge_list as twin
from tests.kernels.test_dropout import ranked_merges


def int32(values):
    return np.array(values, np.int32)


@given(merges=ranked_merges(), symbols=st.lists(st.integers(0, 5), min_size=1, max_size=40))
def test_join_by_heap(merges, symbols):
    n = len(symbols)
    table, pairs = new_merge_table(*(int32(side) for side in zip(*merges, strict=True)))
    ranks, products = (int32(column) for column in zip(*merges.values(), strict=True))
    row, following, previous, found = int32(symbols), *(np.full(n, -9, np.int32) for _ in range(3))
    start_list(table, pairs, n, row, following, previous, found)
    assert [int(rank_of(ranks, number)) if number >= 0 else None for number in found[: n - 1]] == [
        merges[pair][0] if pair in merges else None for pair in itertools.pairwise(symbols)
    ]
    left = join_by_heap(table, pairs, products, ranks, n, row, following, previous, found, np.zeros(3 * n, np.uint64))
    got, place = [], 0
    while place < n:
        got.append(int(row[place]))
        place = int(following[place])
    assert len(got) == left
    assert got == twin.merge_symbols(symbols, merges)


def test_without_ranks_the_merge_number_is_the_rank():
    assert rank_of(np.zeros(0, np.int32), 5) == 5
    assert rank_of(int32([4, 4, 9]), 1) == 4


@st.composite
def ranked_texts(draw):
    pieces = draw(st.lists(st.text("abc", min_size=2, max_size=7), unique=True, min_size=1, max_size=25))
    return {piece: draw(st.integers(0, 6)) for piece in pieces}


@given(ranks=ranked_texts())
def test_derive_splits(ranks):
    """The kernel goes by length and uses what it found so far; its twin merges with pieces of any length."""
    pieces = sorted(ranks, key=lambda piece: ranks[piece])
    symbols = {"a": 0, "b": 1, "c": 2, **{piece: 3 + number for number, piece in enumerate(pieces)}}
    n = len(pieces)
    lefts, rights = np.full(n, -9, np.int32), np.full(n, -9, np.int32)
    found = derive_splits(
        int32([symbols[c] for piece in pieces for c in piece]),
        np.cumsum([0, *map(len, pieces)], dtype=np.int64),
        int32(range(3, 3 + n)),
        int32([ranks[piece] for piece in pieces]),
        int32(sorted(range(n), key=lambda number: len(pieces[number]))),
        np.full(256, EMPTY, np.uint64),
        np.zeros(8, np.int32),
        np.zeros(8, np.int32),
        lefts,
        rights,
    )
    expected = splits_twin.derive_splits(ranks)
    names = {symbol: text for text, symbol in symbols.items()}
    got = {
        piece: (names[left], names[right]) if left >= 0 else None
        for piece, left, right in zip(pieces, lefts.tolist(), rights.tolist(), strict=True)
    }
    assert got == expected
    assert found == sum(parts is not None for parts in expected.values())


@given(ranks=ranked_texts(), text=st.text("abc", min_size=1, max_size=12))
def test_merge_alone_ranked(ranks, text):
    pieces = sorted(ranks, key=lambda piece: ranks[piece])
    symbols = {"a": 0, "b": 1, "c": 2, **{piece: 3 + number for number, piece in enumerate(pieces)}}
    splits = [
        (symbols[piece[:cut]], symbols[piece[cut:]], symbols[piece], ranks[piece])
        for piece in pieces
        for cut in range(1, len(piece))
        if piece[:cut] in symbols and piece[cut:] in symbols
    ]
    lefts, rights, products, order = (int32(column) for column in (zip(*splits, strict=True) if splits else [()] * 4))
    slots = np.full(512, EMPTY, np.uint64)
    fill_merge_slots(lefts, rights, slots)
    row = int32([symbols[character] for character in text])
    n = merge_alone_ranked(slots, products, order, len(text), row, np.zeros(len(text), np.int32))
    names = {symbol: piece for piece, symbol in symbols.items()}
    assert [names[symbol] for symbol in row[:n].tolist()] == splits_twin.merge_alone_ranked(text, ranks)
