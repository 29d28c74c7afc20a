from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import heap
from numba_nlp.reference.tables import heap as twin

ranks = st.integers(0, 2**31 - 1)
positions = st.integers(0, 2**32 - 1)


@given(rank=ranks, position=positions)
def test_heap_key(rank, position):
    assert int(heap.heap_key(rank, position)) == twin.heap_key(rank, position)


@given(steps=st.lists(st.one_of(st.none(), st.integers(0, 50), st.integers(0, 2**64 - 1)), max_size=60))
def test_keys_come_out_in_order(steps):
    keys, size, expected = np.zeros(len(steps) + 1, np.uint64), 0, []
    for key in [*steps, *(None for _ in steps)]:
        if key is not None:
            size = heap.push_key(keys, size, np.uint64(key))
            twin.push_key(expected, key)
        elif size:
            smallest = int(keys[0])
            size = heap.pop_key(keys, size)
            assert smallest == twin.pop_key(expected)
        assert size == len(expected)
