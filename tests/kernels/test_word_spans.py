"""Spans of WordPiece: rows, segments and template ids as the plain twin places them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_NOT_TILING, STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR
from numba_nlp.kernels.segment.word_spans import fill_word_spans
from numba_nlp.kernels.segment.wordpiece_memory import new_scratch
from numba_nlp.reference.segment import word_spans as plain
from tests.wordpiece_cases import ALL_OPTIONS, ALPHABET, pieces_of, tables_of, toy

TABLES = [tables_of(toy(options)) for options in ALL_OPTIONS[::5]]
ENDLESS = tables_of(toy(max_characters=10**9))
texts = st.lists(st.one_of(st.sampled_from(ALPHABET), st.text("abz019", min_size=1, max_size=9)), max_size=12).map(
    "".join
)
#: Text, or an id for a stretch of it, or an id of the template.
parts = st.lists(st.tuples(texts, st.sampled_from((-1, 7, 900)), st.booleans()), max_size=4)


def frozen(array):
    array.flags.writeable = False
    return array


def spans(tables, rows, segments, expected_ids, unit, capacity=4096):
    """Status and spans of rows; ``segments`` is None or one list of parts a row."""
    contents = [row.encode() for row in rows]
    row_ends = np.cumsum([len(content) for content in contents], dtype=np.int64)
    row_starts = row_ends - np.array([len(content) for content in contents], np.int64)
    flat = np.zeros((0, 3), np.int64)
    first = np.zeros(0, np.int64)
    if segments is not None:
        moved = [
            (start + (origin if start >= 0 else 0), stop + (origin if start >= 0 else 0), fixed)
            for origin, row in zip(row_starts.tolist(), segments, strict=True)
            for start, stop, fixed in row
        ]
        flat = np.array(moved, np.int64).reshape(-1, 3)
        first = np.cumsum([0, *map(len, segments)], dtype=np.int64)
    ids = np.array([number for row in expected_ids for number in row], np.int32)
    offsets = np.cumsum([0, *map(len, expected_ids)], dtype=np.int64)
    starts, ends, where = np.full(ids.size, -9), np.full(ids.size, -9), np.zeros(2, np.int64)
    scratch = new_scratch(capacity)
    status = fill_word_spans(
        tables, np.frombuffer(b"".join(contents), np.uint8), frozen(row_starts), frozen(row_ends),
        frozen(flat[:, 0].copy()), frozen(flat[:, 1].copy()), frozen(flat[:, 2].astype(np.int32)), frozen(first),
        ids, offsets, unit, scratch, np.zeros(scratch.text.size, np.int32), starts, ends, where,
    )  # fmt: skip
    return status, list(zip(ids.tolist(), starts.tolist(), ends.tolist(), strict=True)), where.tolist()


@given(st.sampled_from(TABLES), st.lists(texts, min_size=1, max_size=4), st.booleans())
def test_rows_that_are_one_text(tables, rows, in_characters):
    pieces = pieces_of(tables)
    expected = [plain.fill_word_spans(tables, pieces, row, None, in_characters) for row in rows]
    ids = [[token[0] for token in row] for row in expected]
    status, found, _ = spans(tables, rows, None, ids, UNIT_CHAR if in_characters else UNIT_BYTE)
    assert status == len(found)
    assert found == [token for row in expected for token in row]


@given(st.sampled_from(TABLES), st.lists(parts, min_size=1, max_size=3), st.booleans())
def test_rows_of_segments(tables, rows, in_characters):
    pieces = pieces_of(tables)
    texts_of_rows, segments = [], []
    for row in rows:
        text, row_segments = "", []
        for part, fixed, of_template in row:
            if fixed >= 0 and of_template:
                row_segments.append((-1, -1, fixed))
                continue
            start = len(text.encode())
            text += part
            row_segments.append((start, len(text.encode()), fixed))
        texts_of_rows.append(text)
        segments.append(row_segments)
    expected = [
        plain.fill_word_spans(tables, pieces, text, row, in_characters)
        for text, row in zip(texts_of_rows, segments, strict=True)
    ]
    ids = [[token[0] for token in row] for row in expected]
    unit = UNIT_CHAR if in_characters else UNIT_BYTE
    status, found, _ = spans(tables, texts_of_rows, segments, ids, unit)
    assert status == len(found)
    assert found == [token for row in expected for token in row]


def test_ids_of_another_text():
    tables = TABLES[0]
    right = [token[0] for token in plain.fill_word_spans(tables, pieces_of(tables), "a b", None, True)]
    assert spans(tables, ["a b"], None, [right], UNIT_CHAR)[0] == 2
    for ids in ([], right[:1], [*right, 5], right[::-1]):
        status, _, where = spans(tables, ["z", "a b"], None, [[7], ids], UNIT_CHAR)
        assert (status, where[0]) == (STATUS_NOT_TILING, 1)
    for ids in ([], [8]):
        assert spans(tables, ["ab"], [[(0, 2, 7)]], [ids], UNIT_CHAR)[0] == STATUS_NOT_TILING


def test_a_word_longer_than_the_scratch():
    text = "z " + "ab" * 40
    expected = plain.fill_word_spans(ENDLESS, pieces_of(ENDLESS), text, None, False)
    ids = [[token[0] for token in expected]]
    status, _, where = spans(ENDLESS, [text], None, ids, UNIT_BYTE, capacity=8)
    assert (status, where) == (STATUS_OUTPUT_FULL, [0, len(text) - 2])
    assert spans(ENDLESS, [text], None, ids, UNIT_BYTE, capacity=where[1])[1] == expected
