"""Ids to matrices, chosen rows, one stream: the kernels against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from numba_nlp.kernels.segment import assemble as kernels
from numba_nlp.reference.segment import assemble as plain

Rows = list[list[int]]
some_rows = st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=9), max_size=9)


def as_arrays(rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Read-only values and offsets; the rows start one place into the values."""
    values = np.array([7, *(value for row in rows for value in row), 8], np.int32)
    offsets = np.cumsum([1, *map(len, rows)], dtype=np.int64)
    values.flags.writeable = offsets.flags.writeable = False
    return values, offsets


@given(some_rows, st.integers(0, 12), st.integers(0, 3), st.booleans(), st.booleans())
def test_pad_rows_agrees_with_its_twin(rows: Rows, limit: int, more: int, pad_left: bool, keep_end: bool) -> None:
    values, offsets = as_arrays(rows)
    results = []
    for module in (kernels, plain):
        ids, mask = (np.full((len(rows), limit + more), -9) for _ in range(2))
        n_cut = module.pad_rows(values, offsets, 5, limit, pad_left, keep_end, ids, mask)
        results.append((int(n_cut), ids.tolist(), mask.tolist()))
    assert results[0] == results[1]


@given(some_rows, st.data())
def test_take_rows_agrees_with_its_twin(rows: Rows, data: st.DataObject) -> None:
    values, offsets = as_arrays(rows)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    indices = np.array(chosen, np.int64)
    out_offsets = np.cumsum([0, *(len(rows[i]) for i in chosen)], dtype=np.int64)
    arrays = values, offsets, indices, out_offsets
    for array in (indices, out_offsets):
        array.flags.writeable = False
    outs = [np.full(out_offsets[-1], -9, np.int32) for _ in range(2)]
    assert kernels.take_rows(*arrays, outs[0]) == plain.take_rows(*arrays, outs[1])
    assert outs[0].tolist() == outs[1].tolist()


@given(st.lists(st.lists(st.integers(0, 65535), max_size=5), max_size=6), st.booleans())
def test_join_rows_agrees_with_its_twin(rows: Rows, separate_first: bool) -> None:
    values, offsets = as_arrays(rows)
    for kind in (np.uint16, np.uint32):
        outs = [np.zeros(sum(map(len, rows)) + len(rows), kind) for _ in range(2)]
        lengths = [
            int(module.join_rows(values, offsets, 3, separate_first, out))
            for module, out in zip((kernels, plain), outs, strict=True)
        ]
        assert lengths[0] == lengths[1]
        assert outs[0].tolist() == outs[1].tolist()
