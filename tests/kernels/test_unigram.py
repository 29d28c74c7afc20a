"""Unigram segmentation: ids and ends of the plain twin, in every tie, with every kind of piece."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.unigram import segment
from numba_nlp.kernels.segment.unigram_memory import LARGEST, UNKNOWN_SCORE, new_scratch, new_tables
from numba_nlp.reference.segment import unigram as plain
from tests.unigram_cases import NORMAL, UNKNOWN, Piece, make_case, random_case, random_text
from vocab_tools.compiler.double_array import build_double_array

cases = st.integers(0, 99).map(random_case)
texts = st.integers(0, 2**32).map(random_text)


def tokens(tables, text: str, *, before: bytes = b"", capacity: int | None = None) -> list[tuple[int, int]]:
    """Ids and ends by the kernel."""
    data = np.frombuffer(before + text.encode() + b"\xe2\x96", np.uint8)
    start, stop = len(before), len(before) + len(text.encode())
    ids, ends = np.full(stop - start + 3, -7, np.int32), np.full(stop - start + 3, -7, np.int64)
    scratch = new_scratch(tables, stop - start if capacity is None else capacity)
    for array in scratch[:4]:
        # what an earlier text has left
        array[:] = 77
    n = int(segment(tables, data, start, stop, scratch, ids, ends, 1))
    assert ids[0] == ends[0] == -7
    if n < 0:
        return [(n, n)]
    assert (ids[n:] == -7).all()
    without_ends = ids.copy()
    assert segment(tables, data, start, stop, scratch, without_ends, np.empty(0, np.int64), 1) == n
    assert (without_ends == ids).all()
    return [(int(i), int(end) - start) for i, end in zip(ids[1:n], ends[1:n], strict=True)]


@given(case=cases, text=texts, before=st.sampled_from([b"", b"a", b"\xe2"]))
def test_tokens_are_those_of_the_twin(case, text, before):
    assert tokens(case.tables, text, before=before) == plain.segment(case.model, text.encode())


@given(case=cases, text=st.text(max_size=12))
def test_any_text(case, text):
    assert tokens(case.tables, text) == plain.segment(case.model, text.encode())


@given(case=cases, data=st.binary(max_size=20))
def test_bytes_that_are_no_text_are_cut_all_the_same(case, data):
    """Nothing sensible is promised, but whole tokens and no access outside."""
    array = np.frombuffer(data, np.uint8)
    ids, ends = np.empty(len(data) + 1, np.int32), np.empty(len(data) + 1, np.int64)
    n = int(segment(case.tables, array, 0, len(data), new_scratch(case.tables, len(data)), ids, ends, 0))
    assert [(int(i), int(e)) for i, e in zip(ids[:n], ends[:n], strict=True)] == plain.segment(case.model, data)


def test_the_running_score_starts_again():
    """A sum below -100,000 is taken off: without that, ties of large sums are decided otherwise."""
    pieces = [Piece("<unk>", 0, UNKNOWN), Piece("a", -900.7, NORMAL), Piece("b", -900.1, NORMAL)]
    case = make_case([*pieces, Piece("ab", -1800.81, NORMAL), Piece("bab", -2700.95, NORMAL)])
    text = "ab" * 150 + "bab" * 50
    expected = plain.segment(case.model, text.encode())
    assert tokens(case.tables, text) == expected
    endless = case.model._replace(reset=float("inf"))
    assert plain.segment(endless, text.encode()) != expected


def test_positive_scores_start_again_too():
    case = make_case([Piece("<unk>", 0, UNKNOWN), Piece("a", 30000.5, NORMAL), Piece("aa", 60001.25, NORMAL)])
    for n in range(12):
        assert tokens(case.tables, "a" * n) == plain.segment(case.model, b"a" * n)


def test_longest_last_piece_wins_among_equals():
    case = make_case([Piece("<unk>", 0, UNKNOWN), Piece("a", -1, NORMAL), Piece("aa", -2, NORMAL)])
    assert tokens(case.tables, "aaa") == [(1, 1), (2, 3)]


def test_unknown_characters():
    pieces = [Piece("<unk>", 0, UNKNOWN), Piece("a", -1, NORMAL)]
    assert tokens(make_case(pieces).tables, "xa\u00e9\U0001f600a") == [(0, 1), (1, 2), (0, 8), (1, 9)]
    as_bytes = [Piece(f"<0x{byte:02X}>", 0, 5) for byte in range(256)]
    case = make_case([*pieces, *as_bytes], byte_fallback=True)
    assert tokens(case.tables, "\u00e9a") == [(2 + 0xC3, 1), (2 + 0xA9, 2), (1, 3)]


def test_unknown_score_is_below_the_lowest_normal_piece():
    case = make_case([Piece("<unk>", -50, UNKNOWN), Piece("a", -1.5, NORMAL), Piece("b", -3.25, NORMAL)])
    assert float(case.tables.scores[UNKNOWN_SCORE]) == -13.25
    assert float(case.tables.scores[LARGEST]) == 13.25


def test_no_normal_piece_at_all():
    with pytest.raises(ValueError, match="no normal piece"):
        make_case([Piece("<unk>", 0, UNKNOWN), Piece("ab", 0, 3)])


def test_empty_text_and_too_small_scratch():
    case = random_case(0)
    assert tokens(case.tables, "") == []
    assert tokens(case.tables, "ab" * 10, capacity=19) == [(-20, -20)]
    assert tokens(case.tables, "ab" * 10, capacity=20) == plain.segment(case.model, b"ab" * 10)


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -float("inf"), 1e31, -3e38])
def test_scores_that_cannot_be_added_up(score):
    units = build_double_array([b"a"], [1])
    with pytest.raises(ValueError, match="piece 1 has score"):
        new_tables(units, [5, 1], [0.0, score], [1, 0], unknown_id=0)


def test_negative_zero_is_zero():
    case = make_case([Piece("<unk>", 0, UNKNOWN), Piece("a", -0.0, NORMAL), Piece("aa", 0.0, NORMAL)])
    assert not np.signbit(case.tables.piece_scores).any()
    assert tokens(case.tables, "aaa") == plain.segment(case.model, b"aaa")
