"""BPE over characters: the ids and ends of the plain twin, for any vocabulary and text."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.merge_list import join_by_heap, start_list
from numba_nlp.kernels.segment.sentencepiece_bpe import emit_symbol, fill_symbols, segment_long
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import OVERLAP, STRETCH, UNKNOWN_BYTES, new_scratch
from numba_nlp.reference.segment import sentencepiece_bpe as twin
from tests.sentencepiece_models import CHARACTERS, CONTROL, UNUSED, USER_DEFINED, model_of, random_model, tokens

models = st.integers(0, 119).map(random_model)
texts = st.one_of(
    st.text(CHARACTERS, max_size=80),
    st.builds(lambda part, n: part * n, st.text(CHARACTERS, min_size=1, max_size=4), st.integers(1, 30)),
)


@given(model=models, text=texts, before=st.integers(0, 20))
def test_segment(model, text, before):
    expected = twin.segment(text, model.texts, model.unknown, model.byte_ids)
    assert tokens(model.tables(), text, before=before) == expected


@given(model=models, text=st.text(CHARACTERS + "  ", max_size=60), prefix=st.booleans())
def test_segment_raw(model, text, prefix):
    tables = model.tables(escape_whitespaces=True, add_dummy_prefix=prefix)
    known = "\u2581" in model.texts and model.texts["\u2581"].kind == 0
    if not known or any("\u2581" in piece for piece, about in model.texts.items() if about.kind == USER_DEFINED):
        # raw text cannot be read directly
        assert tables.flags[4] == -1
        return
    expected = twin.segment_raw(text, model.texts, model.unknown, model.byte_ids, prefix)
    assert tokens(tables, text, raw=True) == expected


def test_models_are_of_every_kind():
    made = [random_model(seed) for seed in range(120)]
    tables = [model.tables() for model in made]
    assert {USER_DEFINED, UNUSED, CONTROL} <= {kind for model in made for kind in model.kinds}
    assert {table.merge_ranks.size > 0 for table in tables} == {True, False}
    assert {table.unused_offsets.size > 1 for table in tables} == {True, False}
    assert {bool(table.flags[1] == UNKNOWN_BYTES) for table in tables} == {True, False}
    # characters that are no piece but merge
    assert any(len(piece) > 1 and any(c not in model.texts for c in piece) for model in made for piece in model.texts)


def by_hand(model, text):
    return tokens(model.tables(), text)


def test_equal_scores_go_leftmost_first():
    letters = [(c, -9.0, 0) for c in "abc"]
    model = model_of([*letters, ("aa", -1, 0), ("aab", -2, 0), ("aba", -2, 0), ("ba", -1, 0)])
    number = model.pieces.index
    assert by_hand(model, "ababa") == [(number("aba"), 3), (number("ba"), 5)]
    assert by_hand(model, "aabab") == [(number("aa"), 2), (number("ba"), 4), (number("b"), 5)]


def test_runs_of_spaces_of_one_score():
    """As in Mistral's vocabulary: pieces of 2 to 14 and of 16 spaces share one score, so they grow from the left."""
    runs = [("\u2581" * n, -1e9, 0) for n in (2, 4, 8, 5, 16, 6, 12, 13, 10, 14, 3, 9, 7, 11)]
    model = model_of([("\u2581", -30000.0, 0), *runs])
    number = model.pieces.index
    for n, expected in ((13, [13]), (15, [14, 1]), (16, [16]), (17, [16, 1]), (31, [16, 14, 1]), (33, [16, 16, 1])):
        ids = [got for got, _ in by_hand(model, "\u2581" * n)]
        assert ids == [number("\u2581" * length) for length in expected]


def test_user_defined_symbols_are_matched_first_and_never_merge():
    model = model_of(
        [(c, -1.0, 0) for c in "abc"]
        + [("ab", 0.0, USER_DEFINED), ("abc", 0.0, USER_DEFINED), ("ca", -1.0, 0), ("cab", -1.0, 0), ("bc", -1.0, 0)]
    )
    number = model.pieces.index
    assert by_hand(model, "abcab") == [(number("abc"), 3), (number("ab"), 5)]
    assert by_hand(model, "cab") == [(number("c"), 1), (number("ab"), 3)]
    assert by_hand(model, "bcabc") == [(number("bc"), 2), (number("abc"), 5)]


def test_unused_pieces_are_taken_apart():
    model = model_of(
        [
            ("a", -1.0, 0),
            ("b", -1.0, UNUSED),
            ("c", -1.0, 0),
            ("ab", -1.0, UNUSED),
            ("abc", -2.0, UNUSED),
            ("cc", -3, 0),
        ]
    )
    number = model.pieces.index
    # a single unused character is unknown
    assert by_hand(model, "abcc") == [(number("a"), 1), (0, 2), (number("c"), 3), (number("c"), 4)]
    assert by_hand(model, "bb") == [(0, 2)]


def test_characters_that_are_no_pieces_may_merge():
    model = model_of([("xy", -1.0, 0), ("a", -1.0, 0)])
    number = model.pieces.index
    assert by_hand(model, "xyxxya") == [(number("xy"), 2), (0, 3), (number("xy"), 5), (number("a"), 6)]


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_runs_of_unknown_characters(byte_fallback):
    model = model_of([("a", -1.0, 0)], byte_fallback)
    got = by_hand(model, "a\u00e9\u65e5ba\U0001f600")
    if byte_fallback:
        assert [number for number, _ in got[1:6]] == [3 + byte for byte in "\u00e9\u65e5".encode()]
        assert [end for _, end in got] == list(range(1, 13))
    else:
        assert got == [(3, 1), (0, 7), (3, 8), (0, 12)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [65, 127, 300])
def test_long_chunks(seed, n):
    rng = random.Random(seed)
    model = random_model(seed)
    for text in ("".join(rng.choices(CHARACTERS, k=n)), ("".join(rng.choices(CHARACTERS, k=3)) * n)[:n]):
        data = np.frombuffer(text.encode(), np.uint8)
        ids, ends = np.zeros(data.size, np.int32), np.zeros(data.size, np.int64)
        last = segment_long(model.tables(), data, 0, data.size, -1, new_scratch(), ids, ends, 0)
        expected = twin.segment(text, model.texts, model.unknown, model.byte_ids)
        assert list(zip(ids[:last].tolist(), ends[:last].tolist(), strict=True)) == expected


def long_chunk(tables, text, scratch):
    data = np.frombuffer(text.encode(), np.uint8)
    ids, ends = np.full(data.size, -7, np.int32), np.zeros(data.size, np.int64)
    last = segment_long(tables, data, 0, data.size, -1, scratch, ids, ends, 0)
    return last if last < 0 else ids[:last].tolist()


def test_too_short_lists_say_how_long_they_must_be():
    model = model_of([("a", -1.0, 0), ("aa", -2.0, 0)])
    assert long_chunk(model.tables(), "a" * 100, new_scratch(99)) == -101
    assert long_chunk(model.tables(), "a" * 101, new_scratch(101)) == [4] * 50 + [3]


@pytest.mark.slow
def test_a_piece_longer_than_the_overlap_takes_the_whole_chunk_at_once():
    model = model_of([("a" * 2**k, -float(k), 0) for k in range(12)])
    n = STRETCH + 3 * OVERLAP + 5
    assert long_chunk(model.tables(), "a" * n, new_scratch()) == -(n + 1)
    number = model.pieces.index
    expected = [number("a" * 2048)] * 2 + [number("a" * size) for size in (1024, 512, 4, 1)]
    assert long_chunk(model.tables(), "a" * n, new_scratch(n + 1)) == expected


def test_a_prefix_before_a_long_chunk():
    model = model_of([("\u2581", -1.0, 0), ("a", -1.0, 0), ("aa", -2.0, 0), ("\u2581aa", -3.0, 0)])
    tables = model.tables(escape_whitespaces=True, add_dummy_prefix=True)
    assert tokens(tables, "a" * 101, raw=True) == twin.segment_raw("a" * 101, model.texts, 0, None, True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_chunks_longer_than_a_stretch(seed):
    """One stretch after the other gives what all at once gives, which the other tests compare with the twin."""
    rng = random.Random(seed)
    model = random_model(seed)
    tables = model.tables()
    for n in (STRETCH - 1, STRETCH, STRETCH + 1, STRETCH + OVERLAP, 3 * STRETCH):
        text = "".join(rng.choices(CHARACTERS, k=n)) if seed % 2 else ("".join(rng.choices(CHARACTERS, k=5)) * n)[:n]
        data = np.frombuffer(text.encode(), np.uint8)
        found = []
        for limit in (STRETCH, n):
            ids, ends = np.zeros(data.size, np.int32), np.zeros(data.size, np.int64)
            if limit == n:
                last = whole(tables, data, new_scratch(n), ids, ends)
            else:
                last = segment_long(tables, data, 0, data.size, -1, new_scratch(), ids, ends, 0)
            found.append((ids[:last].tolist(), ends[:last].tolist()))
        assert found[0] == found[1]


def whole(tables, data, scratch, ids, ends):
    """A text as one list of symbols."""

    n, _ = _fill(tables, data, 0, data.size, scratch.list_symbols.size, scratch.list_symbols, scratch.list_starts, 0)
    lists = (scratch.list_symbols, scratch.list_following, scratch.list_previous, scratch.list_merges)
    start_list(tables.merge_table, tables.merge_pairs, n, *lists)
    join_by_heap(
        tables.merge_table, tables.merge_pairs, tables.merge_symbols, tables.merge_ranks, n, *lists, scratch.heap
    )
    return _emit(tables, data, n, scratch, ids, ends)


@kernel
def _fill(tables, text, position, stop, limit, symbols, starts, n):
    return fill_symbols(tables, text, position, stop, limit, symbols, starts, n)


@kernel
def _emit(tables, data, n, scratch, ids, ends):
    from_here = np.int64(0)
    out = np.int64(0)
    was_unknown = False
    while from_here < n:
        after = np.int64(scratch.list_following[from_here])
        out, was_unknown = emit_symbol(
            tables, data, np.int64(scratch.list_symbols[from_here]), scratch.list_starts[from_here],
            scratch.list_starts[after], was_unknown, ids, ends, out,
        )  # fmt: skip
        from_here = after
    return out
