"""Hashes and hash tables: the same as Python's integers and dictionaries, in tables as full as they may be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import hashing
from numba_nlp.reference.tables import hashing as plain

short_bytes = st.one_of(st.binary(max_size=40), st.text("ab", max_size=20).map(str.encode))


def as_data(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8)


@given(before=short_bytes, text=short_bytes, after=short_bytes)
def test_hash_of_bytes_anywhere_in_the_data(before, text, after):
    data, start = as_data(before + text + after), len(before)
    assert int(hashing.hash_bytes(data, start, start + len(text))) == plain.hash_bytes(text)


@pytest.mark.parametrize("byte", [0, 1, 0x7F, 0x80, 0xFF])
def test_hash_of_every_length(byte):
    hashes = []
    for n in range(70):
        text = bytes([byte]) * n
        hashes.append(int(hashing.hash_bytes(as_data(text), 0, n)))
        assert hashes[-1] == plain.hash_bytes(text)
    assert len(set(hashes)) == len(hashes), "the length counts, also of zero bytes"


def test_hash_does_not_depend_on_what_follows_in_the_word():
    found = {int(hashing.hash_bytes(as_data(b"xabc" + tail), 1, 4)) for tail in (b"", b"d", b"\xff" * 8)}
    assert found == {plain.hash_bytes(b"abc")}


@given(left=short_bytes, right=short_bytes, before=short_bytes)
def test_equal_bytes(left, right, before):
    n = min(len(left), len(right))
    for other in (right, left):
        found = hashing.equal_bytes(as_data(before + left), len(before), as_data(other), 0, n)
        assert bool(found) is plain.equal_bytes(left[:n], other[:n])


def test_equal_bytes_sees_each_byte():
    for n in range(1, 20):
        text = bytes(range(n))
        for i in range(n):
            changed = text[:i] + b"\xff" + text[i + 1 :]
            assert not hashing.equal_bytes(as_data(text), 0, as_data(changed), 0, n)
        assert hashing.equal_bytes(as_data(text), 0, as_data(text + b"x"), 0, n)


def enter_pieces(pieces: list[bytes], ids: list[int], size: int):
    offsets = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    data = as_data(b"".join(pieces))
    lookup = np.full(size, -1, np.int32)
    assert hashing.fill_piece_lookup(data, offsets, np.array(ids, np.int32), lookup) == len(ids)
    return lookup, data, offsets


@given(
    pieces=st.lists(short_bytes, unique=True, max_size=40), others=st.lists(short_bytes, max_size=8), draws=st.data()
)
def test_pieces_in_a_table_that_is_half_full(pieces, others, draws):
    # a power of two of pieces fills half of the smallest table exactly
    ids = draws.draw(st.lists(st.integers(0, len(pieces) - 1), unique=True)) if pieces else []
    size = max(2, 1 << (2 * len(ids) - 1).bit_length())
    tables = enter_pieces(pieces, ids, size)
    expected = plain.fill_piece_lookup(pieces, ids)
    assert sorted(tables[0][tables[0] >= 0].tolist()) == sorted(ids)
    for text in (*pieces, *others):
        data = as_data(b"xx" + text + b"y")
        assert hashing.find_piece(*tables, data, 2, 2 + len(text)) == plain.find_piece(expected, text)


@pytest.mark.parametrize("n", [1, 2, 64, 256])
def test_pieces_at_exactly_half_load(n):
    pieces = [b"piece %d" % i for i in range(n)]
    tables = enter_pieces(pieces, list(range(n)), 2 * n)
    for number, piece in enumerate(pieces):
        assert hashing.find_piece(*tables, as_data(piece), 0, len(piece)) == number
        assert hashing.find_piece(*tables, as_data(piece + b"x"), 0, len(piece) + 1) == -1


def test_pieces_whose_places_walk_around_the_end():
    pieces = [b"%d" % i for i in range(2000)]
    # those that belong into the last slot of 16: all but one of them stand at the beginning
    last = [piece for piece in pieces if plain.hash_bytes(piece) >> 60 == 15][:8]
    tables = enter_pieces(last, list(range(8)), 16)
    assert np.flatnonzero(tables[0] >= 0).tolist() == [*range(7), 15]
    for number, piece in enumerate(last):
        assert hashing.find_piece(*tables, as_data(piece), 0, len(piece)) == number
    absent = next(piece for piece in pieces if plain.hash_bytes(piece) >> 60 == 15 and piece not in last)
    assert hashing.find_piece(*tables, as_data(absent), 0, len(absent)) == -1


TOP_SYMBOL = 2**20 - 2
symbols = st.one_of(st.integers(0, 12), st.sampled_from((0, 1, 2**19, TOP_SYMBOL - 1, TOP_SYMBOL)))
pairs = st.tuples(symbols, symbols)


@given(known=st.lists(pairs, unique=True, max_size=64), others=st.lists(pairs, max_size=8))
def test_merges_in_a_table_that_is_half_full(known, others):
    lefts, rights = ([pair[side] for pair in known] for side in (0, 1))
    slots = np.full(max(2, 1 << (2 * len(known) - 1).bit_length()), hashing.EMPTY, np.uint64)
    entered = hashing.fill_merge_slots(np.array(lefts, np.int32), np.array(rights, np.int32), slots)
    expected = plain.fill_merge_slots(lefts, rights)
    assert entered == len(known) == np.count_nonzero(slots != hashing.EMPTY)
    for left, right in (*known, *others):
        assert hashing.find_merge(slots, left, right) == plain.find_merge(expected, left, right)
        assert hashing.find_merge(slots, np.int32(left), np.int32(right)) == plain.find_merge(expected, left, right)


@pytest.mark.parametrize("n", [1, 2, 256, 1024])
def test_merges_at_exactly_half_load(n):
    lefts, rights = np.arange(n, dtype=np.int32), np.full(n, TOP_SYMBOL, np.int32)
    slots = np.full(2 * n, hashing.EMPTY, np.uint64)
    hashing.fill_merge_slots(lefts, rights, slots)
    found = [int(hashing.find_merge(slots, left, TOP_SYMBOL)) for left in range(n + 1)]
    assert found == [*range(n), -1]


@pytest.mark.parametrize("bits", [0, 1, 2, 31, 32, 33, 62])
def test_table_bits(bits):
    assert hashing.table_bits(1 << bits) == plain.table_bits(1 << bits) == bits


def test_multipliers_are_those_of_the_twin():
    assert int(hashing.MERGE_MULTIPLIER) == plain.MERGE_MULTIPLIER
    assert int(hashing.BYTES_MULTIPLIER) == plain.BYTES_MULTIPLIER
