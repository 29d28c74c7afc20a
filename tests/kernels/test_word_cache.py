"""The word cache: it may forget, but never knows anything else than the dictionary that is its twin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.bpe_memory import key_masks
from numba_nlp.kernels.tables import word_cache as kernels
from numba_nlp.kernels.tables.hashing import hash_bytes
from numba_nlp.kernels.tables.word_cache import (
    BITS,
    FILLED,
    FIRST_BITS,
    LONG_FLAG,
    LONG_LIMIT,
    SHORT_IDS,
    SHORT_LIMIT,
    SPARE_IDS,
    USED_BYTES,
    USED_IDS,
    WIPES,
    new_word_cache,
)
from numba_nlp.reference.tables import word_cache as plain

TOP_ID = 2**31 - 1
ids_of_pieces = st.integers(0, TOP_ID) | st.sampled_from((0, 1, 2**27, TOP_ID - 1, TOP_ID))


class Key(NamedTuple):
    low: np.uint64
    high: np.uint64
    home: int


def key_of(cache, piece: bytes) -> Key:
    """Key words by their definition, and the home at the present size."""
    if len(piece) > SHORT_LIMIT:
        data = np.frombuffer(piece, np.uint8)
        low, high = np.uint64(hash_bytes(data, 0, data.size)), LONG_FLAG | np.uint64(len(piece))
    else:
        padded = piece.ljust(15, b"\0") + bytes([len(piece)])
        low, high = (np.uint64(int.from_bytes(half, "little")) for half in (padded[:8], padded[8:]))
    return Key(low, high, int(kernels.home_of(low, high, 64 - int(cache.fill[BITS]))))


def keep(cache, piece: bytes, ids: list[int]) -> None:
    array = np.array([-7, *ids, -7], np.int32)
    key = key_of(cache, piece)
    if len(piece) <= SHORT_LIMIT:
        assert kernels.keep_short(cache, *key, array, 1, len(ids)) == 0
    else:
        data = np.frombuffer(b"<" + piece + b">", np.uint8)
        assert kernels.keep_long(cache, *key, data, 1, len(piece), array, 1, len(ids)) == 0


def look_up(cache, piece: bytes) -> list[int] | None:
    """What the cache knows of a chunk."""
    key = key_of(cache, piece)
    if not kernels.bring_home(cache, *key):
        return None
    entry = cache.entries[4 * key.home : 4 * key.home + 4]
    assert (entry[0], entry[1] & kernels.KEY_BITS) == (key.low, key.high)
    out = np.full(600, -7, np.int32)
    if len(piece) <= SHORT_LIMIT:
        n = int(kernels.copy_ids(cache, key.home, out, 2))
        assert np.all(np.delete(out, np.s_[2 : 2 + n + SPARE_IDS]) == -7)
    else:
        data = np.frombuffer(b"<" + piece, np.uint8)
        n = int(kernels.copy_long(cache, key.home, data, 1, len(piece), out, 2))
        if n < 0:
            return None
    return out[2 : 2 + n].tolist()


def twin_look_up(twin: plain.WordCache, piece: bytes) -> list[int] | None:
    copy = plain.copy_ids if len(piece) <= SHORT_LIMIT else plain.copy_long
    return copy(twin, piece) if plain.bring_home(twin, piece) else None


def twin_keep(twin: plain.WordCache, piece: bytes, ids: list[int]) -> None:
    (plain.keep_short if len(piece) <= SHORT_LIMIT else plain.keep_long)(twin, piece, ids)


def new_cache(bits: int, arena: int, first_bits: int = 2):
    """A cache that begins with 2^first_bits entries, so that it grows early."""
    cache = new_word_cache(bits, arena)
    cache.fill[BITS] = min(first_bits, bits)
    return cache


def check_counts(cache) -> None:
    """The numbers in ``fill`` are those of the arrays."""
    in_use = 4 << int(cache.fill[BITS])
    assert in_use <= cache.entries.size
    assert cache.fill[FILLED] == np.count_nonzero(cache.entries[1::4])
    assert not cache.entries[in_use:].any()
    assert 0 <= cache.fill[USED_BYTES] <= cache.arena_bytes.size - 8
    assert 0 <= cache.fill[USED_IDS] <= cache.arena_ids.size


@st.composite
def learnt(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    """A pre-token and its ids, at most one a byte."""
    piece = draw(
        st.one_of(
            st.binary(min_size=1, max_size=SHORT_LIMIT),
            st.text("ab", min_size=1, max_size=22).map(str.encode),
            st.binary(min_size=1, max_size=40),
            st.integers(1, 60).map(lambda n: b"x" * n),
        )
    )
    ids = draw(st.lists(ids_of_pieces, max_size=len(piece)))
    return piece, ids


sizes = st.sampled_from(((2, 64), (3, 64), (3, 200), (6, 64), (7, 100)))


@given(size=sizes, pieces=st.lists(learnt(), max_size=60), draws=st.data())
def test_it_never_knows_anything_else_than_the_dictionary(size, pieces, draws):
    cache, twin = new_cache(*size), plain.new_word_cache()
    wipes = 0
    for piece, ids in pieces:
        known = look_up(cache, piece)
        assert known in (None, twin_look_up(twin, piece))
        if known is None:
            keep(cache, piece, ids)
            if cache.fill[WIPES] > wipes:
                wipes = int(cache.fill[WIPES])
                plain.wipe(twin)
            twin_keep(twin, piece, ids)
            # a piece that is longer than the arena is not kept; everything else is, as long as nothing else comes
            assert look_up(cache, piece) == (None if len(piece) > size[1] else ids)
        if draws.draw(st.booleans()):
            kernels.grow_if_full(cache)
            plain.grow_if_full(twin)
        check_counts(cache)
    for piece, _ in pieces:
        assert look_up(cache, piece) in (None, twin_look_up(twin, piece))


@given(pieces=st.lists(learnt(), max_size=120))
def test_nothing_is_forgotten_while_groups_have_room(pieces):
    cache, twin = new_cache(9, 1 << 13), plain.new_word_cache()
    for piece, ids in pieces:
        if look_up(cache, piece) is not None:
            continue
        groups = [key_of(cache, known).home >> 2 for known in twin]
        if groups.count(key_of(cache, piece).home >> 2) == 4:
            continue
        keep(cache, piece, ids)
        twin_keep(twin, piece, ids)
        kernels.grow_if_full(cache)
        # growing splits a group in two, so nothing is lost by it
        assert cache.fill[FILLED] == len(twin)
        check_counts(cache)
    assert {piece: look_up(cache, piece) for piece in twin} == twin


def pieces_of_one_group(cache, n: int) -> list[bytes]:
    wanted = key_of(cache, b"0").home >> 2
    every = (b"%d" % i for i in range(100_000))
    found = []
    while len(found) < n:
        piece = next(every)
        if key_of(cache, piece).home >> 2 == wanted:
            found.append(piece)
    return found


def test_a_group_holds_four_and_the_fifth_takes_a_place():
    cache = new_cache(6, 64, first_bits=6)
    five = pieces_of_one_group(cache, 5)
    for number, piece in enumerate(five[:4]):
        keep(cache, piece, [number])
        assert cache.fill[FILLED] == number + 1
    # each look-up brings its piece home and moves another away
    for _ in range(3):
        for number, piece in enumerate(five[:4]):
            assert look_up(cache, piece) == [number]
    keep(cache, five[4], [4])
    assert cache.fill[FILLED] == 4
    known = [look_up(cache, piece) for piece in five]
    assert known[4] == [4]
    assert known.count(None) == 1
    check_counts(cache)


def test_growing_from_the_first_size_to_the_last():
    cache = new_word_cache(bits=FIRST_BITS + 2, arena=1 << 14)
    assert cache.fill[BITS] == FIRST_BITS
    kept = []
    for i in range(4 << FIRST_BITS):
        piece = b"%x" % i
        key = key_of(cache, piece)
        keep(cache, piece, [i])
        assert kernels.bring_home(cache, *key)
        kept.append(piece)
        if i % 128 == 0:
            before = int(cache.fill[FILLED])
            kernels.grow_if_full(cache)
            assert cache.fill[FILLED] == before
        if cache.fill[BITS] == FIRST_BITS + 2 and 4 * i > 5 << FIRST_BITS:
            break
    assert cache.fill[BITS] == FIRST_BITS + 2
    check_counts(cache)
    known = [look_up(cache, piece) for piece in kept]
    assert all(found in (None, [i]) for i, found in enumerate(known))
    assert known.count(None) < len(kept) // 20
    # the largest size is the end, however full it is
    cache.fill[FILLED] = 1 << (FIRST_BITS + 2)
    kernels.grow_if_full(cache)
    assert cache.fill[BITS] == FIRST_BITS + 2


@pytest.mark.parametrize("n_ids", range(SHORT_IDS + 1))
def test_every_number_of_ids_of_a_short_piece(n_ids):
    cache = new_cache(4, 64)
    for piece in (b"0123456789abcde", b"0"):
        for ids in ([TOP_ID] * n_ids, [0] * n_ids, list(range(TOP_ID - n_ids, TOP_ID)), [0, TOP_ID] * 8):
            keep(cache, piece, ids[:n_ids])
            assert look_up(cache, piece) == ids[:n_ids]


def test_pieces_that_differ_in_length_or_in_one_byte_only():
    cache = new_cache(10, 1 << 13, first_bits=10)
    pieces = [b"\0" * n for n in range(1, 33)]
    pieces += [b"a" * i + b"b" + b"a" * (n - i - 1) for n in (8, 9, 15, 16, 24) for i in range(n)]
    for number, piece in enumerate(pieces):
        assert look_up(cache, piece) is None
        keep(cache, piece, [number])
        assert look_up(cache, piece) == [number]


def test_a_key_is_what_the_masks_make_of_sixteen_bytes():
    cache = new_cache(4, 64)
    masks = key_masks().reshape(-1, 4)
    around = np.frombuffer(b"\xff" * 16, "<u8")
    for n in range(1, SHORT_LIMIT + 1):
        key = key_of(cache, b"\xff" * n)
        assert around[0] & masks[n, 0] | masks[n, 1] == key.low
        assert around[1] & masks[n, 2] | masks[n, 3] == key.high


def test_a_full_arena_of_ids_wipes_everything():
    cache = new_cache(6, 32, first_bits=6)
    keep(cache, b"a", [1])
    keep(cache, b"long" * 5, [2, 3])
    for i in range(3):
        keep(cache, b"piece%d" % i, [9] * 10)
    assert cache.fill[WIPES] == 0
    keep(cache, b"piece3", [8] * 6)
    assert cache.fill[WIPES] == 1
    assert [look_up(cache, piece) for piece in (b"a", b"long" * 5, b"piece0")] == [None] * 3
    assert look_up(cache, b"piece3") == [8] * 6
    assert (cache.fill[FILLED], cache.fill[USED_IDS], cache.fill[USED_BYTES]) == (1, 6, 0)


def test_a_full_arena_of_bytes_wipes_everything():
    cache = new_cache(6, 64)
    keep(cache, b"a", [1])
    keep(cache, b"x" * 40, [2])
    keep(cache, b"y" * 30, [3])
    assert cache.fill[WIPES] == 1
    assert [look_up(cache, piece) for piece in (b"a", b"x" * 40, b"y" * 30)] == [None, None, [3]]


@pytest.mark.parametrize("known", [b"a" * 20, b"b" * 20])
def test_long_chunks_with_one_hash_are_told_apart(known):
    cache = new_cache(4, 1 << 10)
    keep(cache, known, [1])
    key = key_of(cache, known)
    data = np.frombuffer(b"a" * 20, np.uint8)
    out = np.full(9, -7, np.int32)
    n = kernels.copy_long(cache, key.home, data, 0, 20, out, 0)
    assert (int(n), int(out[0])) == ((1, 1) if known == b"a" * 20 else (-1, -7))


@pytest.mark.parametrize("n", [SHORT_LIMIT + 1, 63, 64, 65, 100, LONG_LIMIT])
def test_what_the_arena_cannot_hold_is_not_kept(n):
    cache = new_cache(4, 64)
    keep(cache, b"a" * 20, [1])
    keep(cache, b"b" * n, [2] * n)
    assert look_up(cache, b"b" * n) == ([2] * n if n <= 64 else None)
    if n > 64:
        assert look_up(cache, b"a" * 20) == [1], "nothing is wiped in vain"
    check_counts(cache)


def test_entries_begin_at_a_cache_line():
    for bits in (2, 5, 13):
        cache = new_word_cache(bits, 64)
        assert cache.entries.ctypes.data % 128 == 0
        assert cache.entries.size == 4 << bits


@pytest.mark.parametrize("sizes", [(1, 64), (2, SHORT_LIMIT - 1)])
def test_sizes_that_are_too_small(sizes):
    with pytest.raises(ValueError, match=r"bits >= 2 and arena >= 15; got"):
        new_word_cache(*sizes)
    assert look_up(new_word_cache(2, SHORT_LIMIT), b"a") is None
