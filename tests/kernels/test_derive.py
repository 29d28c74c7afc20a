from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numba_nlp.kernels.segment import derive
from numba_nlp.kernels.tables.hashing import EMPTY, fill_merge_slots, find_merge
from numba_nlp.reference.segment import derive as twin
from numba_nlp.reference.segment import merge as merge_twin

WORDS = st.text("abc", min_size=2, max_size=7).map(str.encode)


def table(n_merges):
    return np.full(1 << max(1, (2 * n_merges - 1).bit_length()), EMPTY, np.uint64)


def flat(pieces):
    offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
    return np.frombuffer(b"".join(pieces), np.uint8), offsets


def int32(values):
    return np.array(values, np.int32)


@st.composite
def merge_lists(draw):
    """Distinct pairs over six base symbols and the products of earlier merges; products may repeat."""
    pairs: dict[tuple[int, int], int] = {}
    following = 6
    for _ in range(draw(st.integers(0, 12))):
        pair = draw(st.tuples(st.integers(0, following - 1), st.integers(0, following - 1)))
        if pair not in pairs:
            pairs[pair] = draw(st.integers(6, following))
            following = max(following, pairs[pair] + 1)
    return pairs


@settings(deadline=None)
@given(pairs=merge_lists(), symbols=st.lists(st.integers(0, 5), min_size=1, max_size=24), enough=st.integers(1, 3))
def test_merge_alone(pairs, symbols, enough):
    slots = table(len(pairs))
    fill_merge_slots(int32([left for left, _ in pairs]), int32([right for _, right in pairs]), slots)
    row, numbers = int32(symbols), np.empty(len(symbols), np.int32)
    n = derive.merge_alone(slots, int32(list(pairs.values())), len(symbols), enough, row, numbers)
    merges = {pair: (number, product) for number, (pair, product) in enumerate(pairs.items())}
    assert row[:n].tolist() == twin.merge_alone(symbols, merges, enough)
    if enough == 1:
        assert row[:n].tolist() == merge_twin.merge_bytes(bytes(symbols), merges)


@settings(deadline=None)
@given(words=st.lists(WORDS, unique=True, max_size=30))
def test_derive_merges(words):
    """The kernel goes by length and uses what it found so far; its twin merges with all pieces of any length."""
    pieces = [bytes([byte]) for byte in range(256)] + words
    ranks = {piece: rank for rank, piece in enumerate(pieces)}
    data, offsets = flat(pieces)
    merged = np.arange(256, len(pieces), dtype=np.int32)
    by_length = int32(sorted(merged.tolist(), key=lambda rank: len(pieces[rank])))
    places = int32([*[-1] * 256, *range(len(words))])
    longest = max(map(len, pieces))
    symbols, numbers = np.empty(longest, np.int32), np.empty(longest, np.int32)
    lefts, rights = np.full(len(words), -7, np.int32), np.full(len(words), -7, np.int32)
    byte_ids = np.arange(256, dtype=np.int32)
    found = derive.derive_merges(
        data, offsets, by_length, byte_ids, places, merged, table(len(words)), symbols, numbers, lefts, rights
    )
    expected = twin.derive_merges(ranks)
    assert found == sum(pair is not None for pair in expected.values())
    for piece, left, right in zip(words, lefts.tolist(), rights.tolist(), strict=True):
        pair = expected[piece]
        assert (left, right) == ((-1, -1) if pair is None else (ranks[pair[0]], ranks[pair[1]]))


@settings(deadline=None)
@given(words=st.lists(WORDS, unique=True, min_size=1, max_size=12), data=st.data())
def test_count_unreached(words, data):
    pieces = [bytes([byte]) for byte in range(256)] + words
    # the merges: any way to cut some of the words in two parts that are pieces
    ranks = {piece: rank for rank, piece in enumerate(pieces)}
    cuts = [
        (ranks[word[:i]], ranks[word[i:]], ranks[word])
        for word in words
        for i in range(1, len(word))
        if word[:i] in ranks and word[i:] in ranks
    ]
    merges = data.draw(st.lists(st.sampled_from(cuts), unique=True)) if cuts else []
    slots = table(len(merges))
    fill_merge_slots(int32([left for left, _, _ in merges]), int32([right for _, right, _ in merges]), slots)
    content, offsets = flat(pieces)
    reached = np.full(len(pieces), 9, np.uint8)
    scratch = [np.empty(8, np.int32) for _ in range(2)]
    every = np.arange(len(pieces), dtype=np.int32)
    unreached = derive.count_unreached(
        slots,
        int32([product for *_, product in merges]),
        every[:256],
        every,
        content,
        offsets,
        every,
        *scratch,
        reached,
    )
    known = {(left, right): (number, product) for number, (left, right, product) in enumerate(merges)}
    assert unreached == twin.count_unreached(ranks, known, every.tolist())
    assert unreached == np.count_nonzero(reached == 0)
    assert reached[:256].all()
    for word, flag in zip(words, reached[256:].tolist(), strict=True):
        assert flag == (merge_twin.merge_bytes(word, known) == [ranks[word]])


@pytest.mark.parametrize("symbol", [0, 1, 2**19, 2**20 - 2])
def test_enter_merge(symbol):
    slots = table(3)
    dictionary: dict[tuple[int, int], int] = {}
    for number, pair in enumerate([(symbol, symbol), (symbol, 0 if symbol else 1), (7, symbol)]):
        slot = derive.enter_merge(slots, *pair, number)
        twin.enter_merge(dictionary, *pair, number)
        assert slots[slot] != EMPTY
    for pair, number in dictionary.items():
        assert find_merge(slots, *pair) == number
    assert find_merge(slots, 5, 6) == -1
