"""The space before a text: the kernel against its twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.prefix import prefix_spaces
from numba_nlp.reference.segment import prefix as plain

stretches = st.one_of(st.text(" \ta\u00e9", max_size=6), st.text(max_size=8).filter(str.isprintable)).map(str.encode)
UNWRITTEN = 7


@given(
    rows=st.lists(st.tuples(stretches, st.one_of(st.none(), st.integers(0, 2**28 - 1)), stretches), max_size=8),
    with_ids=st.booleans(),
    before=stretches,
)
def test_texts_with_spaces_before_them(rows, with_ids, before):
    data, starts, ends = bytearray(before), [], []
    for text, _, gap in rows:
        starts.append(len(data))
        data += text
        ends.append(len(data))
        data += gap
    fixed = [-1 if number is None else number for _, number, _ in rows] if with_ids else []
    texts = [b"" if with_ids and number is not None else text for text, number, _ in rows]
    expected = plain.prefix_spaces(texts)

    out = np.full(sum(map(len, texts)) + len(texts) + 3, UNWRITTEN, np.uint8)
    out_starts, out_ends = np.full(len(rows), -1), np.full(len(rows), -1)
    n = prefix_spaces(
        np.frombuffer(bytes(data), np.uint8), np.array(starts, np.int64), np.array(ends, np.int64),
        np.array(fixed, np.int32), out, out_starts, out_ends,
    )  # fmt: skip
    assert [out[start:end].tobytes() for start, end in zip(out_starts, out_ends, strict=True)] == expected
    assert out[:n].tobytes() == b"".join(expected)
    assert np.all(out[n:] == UNWRITTEN)


def test_a_space_that_is_there_stays_one():
    assert plain.prefix_spaces([b"a", b" a", b"\ta", b"", b" "]) == [b" a", b" a", b" \ta", b"", b" "]
