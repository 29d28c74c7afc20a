"""Rows of SentencePiece BPE: chunks against the twin, keys of chunks that begin a row, whole rows against the twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment import fill_bridged as kernels
from numba_nlp.kernels.segment.bridge import cut_mask
from numba_nlp.kernels.segment.row_firsts import is_first_of_row
from numba_nlp.kernels.tables.word_cache import FIRST_SHORT, LONG_LIMIT
from numba_nlp.reference.segment import fill_bridged as twin
from numba_nlp.reference.segment import row_firsts as twin_firsts
from numba_nlp.reference.segment import sentencepiece_bpe_rows as twin_rows
from numba_nlp.reference.segment.sentencepiece_bpe import Piece
from tests.random_sentencepiece import Model, random_model, random_texts
from vocab_tools.formats.sentencepiece_model import parse

BRIDGED = [
    seed for seed in range(0, 60, 3) if random_model(seed, "bpe", usual=True).ours.describe()["pattern"] == "bridged"
][:10]
texts = st.lists(
    st.sampled_from(["a", "b", "ab", "x", " ", "  ", "\n", "\t", "\u2581", "\u00e9", "\U0001f600", "abababababababab"]),
    max_size=60,
).map("".join)


@kernel
def _chunks(tables, data, start, stop, limit, starts, ends):
    position, total = start, 0
    while position < stop:
        n, position = kernels.fill_bridged(tables, data, position, stop, starts[total:], ends[total:], 0, limit)
        total += n
    return total


@kernel
def _is_cut(tables, data, place):
    return cut_mask(tables.bridge, data, place, np.int64(1)) != 0 and kernels.is_cut(tables, data, place)


def chunks_of(tables, row: bytes, limit: int, behind: bytes) -> list[bytes]:
    data = np.frombuffer(b"a" + row + behind, np.uint8)
    starts, ends = np.zeros(len(row) + 80, np.int64), np.zeros(len(row) + 80, np.int64)
    n = int(_chunks(tables, data, 1, 1 + len(row), limit, starts, ends))
    assert starts[0] == 1 or not row
    assert (starts[1:n] == ends[: max(n - 1, 0)]).all()
    return [data[start:end].tobytes() for start, end in zip(starts[:n], ends[:n], strict=True)]


@given(st.sampled_from(BRIDGED), texts, st.sampled_from([1, 7, 128]), st.sampled_from([b"", b" a" * 64]))
def test_chunks_are_those_of_the_twin(seed, text, limit, behind):
    tables, row = random_model(seed, "bpe", usual=True).ours._encoder.tables, text.encode()
    data = np.frombuffer(row + b" ", np.uint8)
    cuts = [place for place in range(1, len(row)) if _is_cut(tables, data, place)]
    white = (b" " if tables.white[0] else b"") + (b"\t\n" if tables.white[1] else b"")
    found = chunks_of(tables, row, limit, behind)
    assert found == twin.fill_bridged(row, white, cuts)
    # ends that white space gives are places where the row may be cut, or the next chunk would depend on this one
    assert {sum(map(len, found[:n])) for n in range(1, len(found))} <= set(cuts)


def test_some_models_cut_at_white_space():
    kinds = {tuple(random_model(seed, "bpe", usual=True).ours._encoder.tables.white != 0) for seed in range(0, 60, 3)}
    assert (True, True) in kinds
    assert (True, False) in kinds


@pytest.mark.parametrize("n", [1, 2, 8, 14, 15, 16, 17, 511, LONG_LIMIT, LONG_LIMIT + 1, 3000])
def test_first_chunks_have_keys_of_their_own(n):
    """The same bytes begin a row and follow a cut; both are kept and told apart, warm as well."""
    model = random_model(BRIDGED[0], "bpe", usual=True)
    rows = ["a" * n, "\n" + "a" * n, "a" * n, " " + "a" * n]
    expected = model.reference.encode(rows)
    for _ in range(2):
        assert model.ours.encode_batch(rows, num_threads=1).to_list() == expected
        assert [model.ours.encode(row).tolist() for row in rows] == expected


@kernel
def _is_first(low, high, n):
    return is_first_of_row(low, high, n)


def test_keys_of_first_chunks():
    long, short = np.uint64(1 << 55), np.uint64(3 << 56)
    assert short >= FIRST_SHORT
    assert not _is_first(np.uint64(0), short, 3)
    assert _is_first(np.uint64(0), short | np.uint64(0xFF << 48), 3)
    assert not _is_first(np.uint64(1), long | np.uint64(20), 20)
    assert _is_first(np.uint64(1), long | np.uint64(20 | 1 << 54), 20)
    assert _is_first(np.uint64(0), np.uint64(2**64 - 1), LONG_LIMIT + 1)
    assert not _is_first(np.uint64(2**64 - 1), np.uint64(2**64 - 1), LONG_LIMIT + 1)
    keys = twin_firsts.keys([[b"a", b"a"], [b"a"]])
    assert [twin_firsts.is_first_of_row(key) for key in keys] == [True, False, True]


def twin_ids(model: Model, text: str) -> list[int]:
    source = parse(model.content, name="made")
    pieces = {
        piece.decode(): Piece(number, float(source.scores[number]), int(source.kinds[number]))
        for number, piece in enumerate(source.pieces)
        if source.kinds[number] in (0, 3, 4)
    }
    names = {piece: number for number, piece in enumerate(source.pieces)}
    byte_ids = [names[b"<0x%02X>" % byte] for byte in range(256)] if source.byte_fallback else None
    return twin_rows.row_ids(model.reference.normalize(text).encode(), pieces, source.unk_id, byte_ids)


@given(st.integers(0, 60), st.booleans(), st.integers(0, 2**20))
def test_rows_are_those_of_the_twin(seed, usual, number):
    model = random_model(seed, "bpe", usual=usual)
    rows = random_texts(number, 4)
    assert model.ours.encode_batch(rows, num_threads=1).to_list() == [twin_ids(model, row) for row in rows]
