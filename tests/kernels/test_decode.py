"""Ids to bytes: the kernels agree with their plain twins, also on unknown ids and tight outputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_OUTPUT_FULL, STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment import decode
from numba_nlp.reference.segment import decode as plain

KINDS = [0, 2, 3, 5, 255]

vocabularies = st.lists(st.tuples(st.binary(max_size=40), st.sampled_from(KINDS)), max_size=6)


def pack(vocabulary):
    """Arrays of a vocabulary given as (bytes, kind)."""
    offsets = np.cumsum([0] + [len(piece) for piece, _ in vocabulary], dtype=np.int64)
    data = np.frombuffer(b"".join(piece for piece, _ in vocabulary), np.uint8)
    return data, offsets, np.array([kind for _, kind in vocabulary], np.uint8)


@settings(deadline=None)
@given(vocabularies, st.data(), st.sampled_from([0, 1]), st.integers(-3, 20))
def test_rows_agree_with_the_twin(vocabulary, draws, skip, slack):
    piece_bytes, piece_offsets, kinds = pack(vocabulary)
    rows = draws.draw(st.lists(st.lists(st.integers(-1, len(vocabulary)), max_size=8), max_size=4))
    skipped = draws.draw(st.integers(0, 2))
    ids = np.array([99] * skipped + [piece for row in rows for piece in row], np.int32)
    offsets = np.cumsum([skipped] + [len(row) for row in rows], dtype=np.int64)

    results = []
    for module in (decode, plain):
        where = np.full(1, -7, np.int64)
        length = module.decoded_length(piece_offsets, kinds, ids, skipped, ids.size, skip, where)
        results.append((length, where.tolist()))
    assert results[0] == results[1]
    length = results[0][0]

    size = max(0, (200 if length < 0 else length) + slack)
    results = []
    for module in (decode, plain):
        where = np.full(1, -7, np.int64)
        out = np.zeros(size, np.uint8)
        out_offsets = np.full(offsets.size, -7, np.int64)
        n = module.decode_rows(piece_bytes, piece_offsets, kinds, ids, offsets, skip, out, out_offsets, where)
        results.append((n, out[:n].tobytes(), out_offsets.tolist()) if n >= 0 else (n, b"", []))
    assert results[0] == results[1]
    if length >= 0:
        assert results[0][0] == (length if slack >= 0 or size >= length else STATUS_OUTPUT_FULL)


@pytest.mark.parametrize("module", [decode, plain])
def test_named_cases(module):
    piece_bytes, piece_offsets, kinds = pack([(b"ab", 0), (b"<s>", 2), (b"[x]", 3), (b"", 255), (b"y" * 30, 0)])
    where = np.zeros(1, np.int64)

    def text(ids, skip):
        array = np.array(ids, np.int32)
        out = np.zeros(200, np.uint8)
        n = module.decode_ids(piece_bytes, piece_offsets, kinds, array, 0, array.size, skip, 3, out, where)
        return out[3:n].tobytes() if n >= 0 else n

    assert text([], 0) == b""
    assert text([0, 1, 2, 4], 0) == b"ab<s>[x]" + b"y" * 30
    assert text([0, 1, 2, 0], 1) == b"ab[x]ab"
    for bad in (3, -1, 5, 2**31 - 1, -(2**31)):
        assert text([0, 0, bad], 1) == STATUS_UNKNOWN_ID
        assert where[0] == 2
        array = np.array([0, bad], np.int32)
        assert module.decoded_length(piece_offsets, kinds, array, 0, 2, 0, where) == STATUS_UNKNOWN_ID
        assert where[0] == 1
