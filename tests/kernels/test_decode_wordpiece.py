"""Which form of a token stands where: as the twin says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.decode_wordpiece import choose_forms
from numba_nlp.reference.segment import decode_wordpiece as plain


@given(
    st.lists(st.sampled_from([0, 2, 3, 255]), max_size=5),
    st.lists(st.lists(st.integers(-2, 6), max_size=6), max_size=5),
    st.integers(0, 2),
    st.sampled_from([0, 1]),
)
def test_agrees_with_the_twin(kinds, rows, skipped, skip_special):
    piece_kinds = np.array(kinds, np.uint8)
    ids = np.array([99] * skipped + [piece for row in rows for piece in row], np.int32)
    offsets = np.cumsum([skipped] + [len(row) for row in rows], dtype=np.int64)
    forms, expected = np.full(ids.size, -7, np.int32), np.full(ids.size, -7, np.int32)
    assert choose_forms(piece_kinds, ids, offsets, skip_special, forms) == len(rows)
    plain.choose_forms(piece_kinds, ids, offsets, skip_special, expected)
    assert forms.tolist() == expected.tolist()


def test_first_token_that_is_kept():
    kinds = np.array([0, 2, 0], np.uint8)
    ids, offsets = np.array([1, 0, 2, 2, 9], np.int32), np.array([0, 3, 3, 5])
    forms = np.zeros(5, np.int32)
    choose_forms(kinds, ids, offsets, 0, forms)
    assert forms.tolist() == [4, 0, 2, 5, -1]
    choose_forms(kinds, ids, offsets, 1, forms)
    assert forms.tolist() == [1, 3, 2, 5, -1]
