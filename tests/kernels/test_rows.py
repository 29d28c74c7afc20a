"""Lines of a buffer, and rows copied together: the kernels against their twins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.tables import rows as kernels
from numba_nlp.reference.tables import rows as plain
from tests.byte_texts import bytes_array

lines_data = st.lists(
    st.one_of(st.binary(max_size=20), st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\r\n"])), max_size=20
).map(b"".join)


@given(lines_data, st.booleans())
def test_find_lines_agrees_with_its_twin(data: bytes, strip: bool) -> None:
    array = bytes_array(data)
    n = kernels.count_lines(array)
    assert n == plain.count_lines(array)
    results = []
    for module in (kernels, plain):
        offsets, ends = np.full(n + 1, -1), np.full(n, -1)
        assert module.find_lines(array, strip, offsets, ends) == n
        results.append((offsets.tolist(), ends.tolist()))
    assert results[0] == results[1]


@given(st.lists(st.tuples(st.binary(max_size=9), st.integers(0, 9)), max_size=9))
def test_copy_rows_agrees_with_its_twin(rows: list[tuple[bytes, int]]) -> None:
    data = bytes_array(b"".join(row for row, _ in rows))
    bounds = np.cumsum([0, *(len(row) for row, _ in rows)], dtype=np.int64)
    ends = np.array([bounds[i] + min(cut, len(row)) for i, (row, cut) in enumerate(rows)], np.int64)
    starts = bounds[:-1]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    for array in (starts, ends, offsets):
        array.flags.writeable = False
    outs = [np.zeros(offsets[-1], np.uint8) for _ in range(2)]
    assert kernels.copy_rows(data, starts, ends, offsets, outs[0]) == len(rows)
    assert plain.copy_rows(data, starts, ends, offsets, outs[1]) == len(rows)
    assert outs[0].tobytes() == outs[1].tobytes()
