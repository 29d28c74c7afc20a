"""Operations on 64-bit words: compiled and plain forms give what Python's integers give, at every edge of the types."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from numba_nlp.kernels import words
from numba_nlp.kernels.words import PAGE, VECTOR, prefetch, raw_store64
from numba_nlp.reference import words as plain

TOP = 2**64 - 1
EDGES = sorted({e + d for e in (0, 2**31, 2**32, 2**53, 2**63, 2**64) for d in (-2, -1, 0, 1) if 0 <= e + d <= TOP})
numbers = st.one_of(st.sampled_from(EDGES), st.integers(0, TOP), st.integers(0, 63).map(lambda bit: 1 << bit))
BINARY = "multiply", "add"
UNARY = "all_ones_if_nonzero", "trailing_zeros", "leading_zeros", "popcount"
SHIFTS = "shift_left", "shift_right"


# What is an intrinsic in the compiled form can be called from compiled code only.
@njit
def call_peek(array, position):
    return words.peek(array, position)


@njit
def call_poke(array, position, value):
    words.poke(array, position, value)


@njit
def call_raw_load64(data, position):
    return words.raw_load64(data, position)


@njit
def call_raw_store64(ids, position, word):
    raw_store64(ids, position, word)


@njit
def call_smallest_of_16(keys, position):
    return words.smallest_of_16(keys, position)


@njit
def call_prefetch(array, position):
    prefetch(array, position)
    return array[position]


def same_word(found, expected: int) -> None:
    """The value, and unsigned: a result that wrapped around to int64 or became float64 would show later only."""
    assert int(found) == expected
    assert not isinstance(found, float)


@pytest.mark.parametrize("name", BINARY)
@given(a=numbers, b=numbers)
def test_arithmetic_wraps(name, a, b):
    same_word(getattr(words, name)(np.uint64(a), np.uint64(b)), getattr(plain, name)(a, b))


@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_at_every_pair_of_edges(name):
    for a in EDGES:
        for b in EDGES:
            same_word(getattr(words, name)(np.uint64(a), np.uint64(b)), getattr(plain, name)(a, b))


@pytest.mark.parametrize("name", UNARY)
@given(a=numbers)
def test_bits_are_counted(name, a):
    same_word(getattr(words, name)(np.uint64(a)), getattr(plain, name)(a))


@pytest.mark.parametrize("name", UNARY)
def test_bits_of_every_edge(name):
    for a in (*EDGES, *(1 << bit for bit in range(64))):
        same_word(getattr(words, name)(np.uint64(a)), getattr(plain, name)(a))


@pytest.mark.parametrize("name", SHIFTS)
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_every_shift_of_every_edge(name, kind):
    for a in EDGES:
        for n in range(64):
            same_word(getattr(words, name)(np.uint64(a), kind(n)), getattr(plain, name)(a, n))


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts_take_signed_words_that_are_not_negative(name):
    for a in (0, 1, 2**31, 2**32, 2**63 - 1):
        for n in (0, 1, 31, 32, 63):
            same_word(getattr(words, name)(np.int64(a), n), getattr(plain, name)(a, n))


@given(data=st.binary(min_size=1, max_size=24), draws=st.data())
def test_load_word(data, draws):
    array = np.frombuffer(data, np.uint8)
    position = draws.draw(st.integers(0, len(data) - 1))
    n = draws.draw(st.integers(0, min(8, len(data) - position)))
    same_word(words.load_word(array, position, n), plain.load_word(data, position, n))
    if len(data) >= position + 8:
        same_word(call_raw_load64(array, position), plain.raw_load64(data, position))


def test_load_word_of_all_ones():
    array = np.full(8, 255, np.uint8)
    for n in range(9):
        same_word(words.load_word(array, 0, n), 256**n - 1)


@given(size=st.integers(1, 40), position=st.integers(0, 39), n=st.integers(1, 16))
def test_is_readable(size, position, n):
    array = np.zeros(size, np.uint8)
    position = min(position, size - 1)
    found = bool(words.is_readable(array, position, n))
    if plain.is_readable(array, position, n):
        assert found
    elif VECTOR:
        assert found is ((array.ctypes.data + position) % PAGE + n <= PAGE)
    else:
        assert not found


@pytest.mark.skipif(not VECTOR, reason="the plain form never reads beyond an array")
def test_is_readable_at_the_end_of_a_page():
    raw = np.zeros(3 * PAGE, np.uint8)
    first = -raw.ctypes.data % PAGE
    page = raw[first : first + PAGE]
    for before in range(20):
        short = page[: PAGE - before]
        for position in range(short.size - 20, short.size):
            assert bool(words.is_readable(short, position, 16)) is (position + 16 <= PAGE)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32])
def test_peek_and_poke(dtype):
    limits = np.iinfo(dtype)
    array = np.array([limits.min, 0, 1, limits.max - 1, limits.max], dtype)
    found = [call_peek(array, position) for position in range(array.size)]
    assert [int(value) for value in found] == array.tolist()
    target = np.zeros_like(array)
    for position, value in enumerate(array):
        call_poke(target, position, value)
        assert call_prefetch(target, position) == value
    assert np.array_equal(target, array)


@given(low=st.integers(0, 2**31 - 1), high=st.integers(0, 2**31 - 1))
def test_raw_store64(low, high):
    ids = np.full(4, -7, np.int32)
    call_raw_store64(ids, 1, np.uint64(low | high << 32))
    assert ids.tolist() == [-7, low, high, -7]


@given(keys=st.lists(st.integers(0, 2**32 - 1), min_size=16, max_size=40), draws=st.data())
def test_smallest_of_16(keys, draws):
    position = draws.draw(st.integers(0, len(keys) - 16))
    same_word(call_smallest_of_16(np.array(keys, np.uint32), position), plain.smallest_of_16(keys, position))


CLASSES = (((0x61, 0x7A),), ((0x00, 0x00), (0x80, 0xFF)), ((0x20, 0x20), (0x09, 0x0D), (0x30, 0x39)), ((0xFF, 0xFF),))

if VECTOR:
    masks_of_classes = words.window_masks(*CLASSES)

    @njit
    def call_masks(data, position):
        return masks_of_classes(data, position)


@pytest.mark.skipif(not VECTOR, reason="the plain forms have no windows")
@given(data=st.binary(min_size=64, max_size=80), draws=st.data())
def test_window_masks(data, draws):
    position = draws.draw(st.integers(0, len(data) - 64))
    found = call_masks(np.frombuffer(data, np.uint8), position)
    assert [int(mask) for mask in found] == plain.window_masks(data, position, *CLASSES)


@pytest.mark.skipif(not VECTOR, reason="the plain forms have no windows")
def test_window_masks_of_every_byte():
    for first in range(0, 256, 64):
        data = np.arange(first, first + 64).astype(np.uint8)
        assert [int(mask) for mask in call_masks(data, 0)] == plain.window_masks(data, 0, *CLASSES)
