"""Keys and positions, eight or more at a time, against one by one."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels import bit_places
from numba_nlp.kernels.segment.bpe_memory import new_scratch
from numba_nlp.kernels.segment.cached_loops import SPANS, key_by_parts, make_keys
from numba_nlp.kernels.segment.character_bpe_memory import new_scratch as new_character_scratch
from numba_nlp.kernels.segment.staged_memory import new_bpe_scratch, new_unigram_scratch
from numba_nlp.kernels.tables.word_cache import BITS, home_of, new_word_cache
from numba_nlp.reference import bit_places as plain_places

MASKS = st.one_of(
    st.integers(0, 2**64 - 1), st.sets(st.integers(0, 63)).map(lambda bits: sum(1 << bit for bit in bits))
)


@kernel
def _put_places(places, at, base, mask):
    bit_places.put_places(places, at, base, mask)


@kernel
def _put_bounds(starts, ends, n, base, mask):
    bit_places.put_bounds(starts, ends, n, base, mask)


@kernel
def _make_keys(cache, data, n, scratch):
    make_keys(cache, data, n, scratch)


@given(mask=MASKS, at=st.integers(0, 9))
def test_places_of_bits(mask, at):
    n = mask.bit_count()
    expected = np.zeros(at + 64, np.int64)
    plain_places.put_places(expected, at, 5000, mask)
    places, starts, ends = (np.zeros(at + 66, np.int64) for _ in range(3))
    _put_places(places, at, 5000, np.uint64(mask))
    assert places[at : at + n].tolist() == expected[at : at + n].tolist()
    _put_bounds(starts, ends, at, 5000, np.uint64(mask))
    assert ends[at : at + n].tolist() == starts[at + 1 : at + 1 + n].tolist() == expected[at : at + n].tolist()
    # nothing in front of them is touched
    assert not places[:at].any()
    assert not starts[: at + 1].any()
    assert not ends[:at].any()


def keys_one_by_one(cache, data, starts, ends, masks):
    shift = 64 - int(cache.fill[BITS])
    for start, end in zip(starts, ends, strict=True):
        low, high = key_by_parts(data, start, end - start, masks)
        yield int(low), int(high), int(home_of(np.uint64(low), np.uint64(high), shift))


@pytest.mark.parametrize("longest", [15, 16, 40, 600])
def test_keys_of_blocks(longest):
    random = np.random.default_rng(longest)
    cache, scratch = new_word_cache(bits=8, arena=600), new_scratch(0, True)
    # the last byte of the data is the last of a page, what lies behind may not be read
    pages = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    for size in (1, 7, 16, 300, 4095, 2 * mmap.PAGESIZE):
        data = np.frombuffer(pages, np.uint8)[3 * mmap.PAGESIZE - size :]
        data[:] = random.integers(1, 250, size)
        for n in (1, 7, 8, 9, 100, 128, SPANS):
            lengths = random.integers(1, longest + 1, n)
            ends = np.minimum(random.integers(1, size + 1, n), size)
            starts = np.maximum(ends - lengths, 0)
            scratch.starts[:n], scratch.ends[:n] = starts, ends
            _make_keys(cache, data, n, scratch)
            found = zip(*(array[:n].tolist() for array in (scratch.low, scratch.high, scratch.homes)), strict=True)
            assert list(found) == list(keys_one_by_one(cache, data, starts, ends, scratch.masks))


@pytest.mark.parametrize(
    "scratch", [new_scratch(3, True), new_character_scratch(16), new_bpe_scratch(16), new_unigram_scratch(16)]
)
def test_arrays_of_spans_lie_in_one_piece(scratch):
    fields = ("starts", "ends", "low", "high", "homes", "emitted")
    addresses = [getattr(scratch, field).ctypes.data for field in fields]
    assert np.diff(addresses).tolist() == [8 * SPANS] * 5
