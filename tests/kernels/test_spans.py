"""Spans of ids: the kernel agrees with its plain twin on made-up segmentations, and says what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment import spans
from numba_nlp.reference.segment import spans as plain

#: Spaces, other white space, characters of 1 to 4 bytes, a combining mark, a zero-width joiner, U+0120.
LETTERS = "ab \n\r\u00a0\u3000é\u0301\u0120\u200d日😀"
#: The piece of id ``n`` has ``n + 1`` bytes: spans depend on lengths only.
N_PIECES = 12
PIECE_OFFSETS = np.cumsum(np.arange(N_PIECES + 1, dtype=np.int64))
EMPTY = np.zeros(0, np.int64)
EMPTY_IDS = np.zeros(0, np.int32)


def run(module, data, rows, segments, row_first, ids, id_offsets, unit=0, prefix=0, trim=0):
    """Status, spans and failure place of one call; failed calls have no spans."""
    starts, ends = np.full((2, ids.size), -7, np.int64)
    where = np.full(2, -7, np.int64)
    status = module.fill_spans(
        PIECE_OFFSETS, data, rows[:-1], rows[1:], *segments, row_first, ids, id_offsets, unit, prefix, trim,
        starts, ends, where,
    )  # fmt: skip
    if status < 0:
        return status, where.tolist()
    return status, list(zip(starts.tolist(), ends.tolist(), strict=True))


@st.composite
def batches(draw):
    """Rows cut into texts, special tokens and template tokens, with ids whose pieces tile the texts."""
    prefix = draw(st.integers(0, 1))
    data = b""
    rows, segments, row_first, ids, id_offsets = [0], [], [0], [], [0]
    for _ in range(draw(st.integers(0, 4))):
        for kind in draw(st.lists(st.sampled_from(["text", "special", "template"]), max_size=5)):
            if kind == "template":
                segments.append((-1, -1, 3))
                ids.append(3)
                continue
            text = draw(st.text(LETTERS, min_size=1, max_size=20)).encode()
            start = len(data)
            data += text
            segments.append((start, len(data), -1 if kind == "text" else 5))
            if kind == "special":
                ids.append(5)
                continue
            left = len(text) + (prefix and text[0] != 0x20)
            while left:
                size = draw(st.integers(1, min(left, N_PIECES)))
                ids.append(size - 1)
                left -= size
        rows.append(len(data))
        row_first.append(len(segments))
        id_offsets.append(len(ids))
    columns = np.array(segments, np.int64).reshape(-1, 3).T
    return (
        np.frombuffer(data, np.uint8),
        np.array(rows, np.int64),
        (columns[0].copy(), columns[1].copy(), columns[2].astype(np.int32)),
        np.array(row_first, np.int64),
        np.array(ids, np.int32),
        np.array(id_offsets, np.int64),
        prefix,
    )


@settings(deadline=None)
@given(batches(), st.sampled_from([0, 1]), st.sampled_from([0, 1, 2]))
def test_spans_agree_with_the_twin(batch, unit, trim):
    *arrays, prefix = batch
    got = run(spans, *arrays, unit, prefix, trim)
    assert got == run(plain, *arrays, unit, prefix, trim)
    assert got[0] == arrays[4].size


@settings(deadline=None)
@given(batches(), st.sampled_from([0, 1]), st.data())
def test_ids_that_do_not_fit_are_reported_alike(batch, unit, draws):
    data, rows, segments, row_first, ids, id_offsets, prefix = batch
    if ids.size == 0:
        return
    ids = ids.copy()
    ids[draws.draw(st.integers(0, ids.size - 1))] = draws.draw(st.integers(-2, N_PIECES + 1))
    args = (data, rows, segments, row_first, ids, id_offsets, unit, prefix, 0)
    assert run(spans, *args) == run(plain, *args)


@settings(deadline=None)
@given(st.lists(st.text(LETTERS, max_size=30), max_size=4), st.sampled_from([0, 1]), st.data())
def test_rows_without_segments_are_whole_texts(texts, unit, draws):
    raw = [text.encode() for text in texts]
    rows = np.cumsum([0] + [len(text) for text in raw], dtype=np.int64)
    ids: list[int] = []
    id_offsets = [0]
    for text in raw:
        left = len(text)
        while left:
            size = draws.draw(st.integers(1, min(left, N_PIECES)))
            ids.append(size - 1)
            left -= size
        id_offsets.append(len(ids))
    data = np.frombuffer(b"".join(raw), np.uint8)
    columns = (np.array(ids, np.int32), np.array(id_offsets, np.int64), unit)
    nothing = (EMPTY, EMPTY, EMPTY_IDS)
    whole = [row for row in range(len(raw)) if raw[row]]
    written = (
        rows[:-1][whole],
        rows[1:][whole],
        np.full(len(whole), -1, np.int32),
    )
    row_first = np.cumsum([0] + [len(text) > 0 for text in raw], dtype=np.int64)
    expected = run(plain, data, rows, written, row_first, *columns)
    assert run(spans, data, rows, written, row_first, *columns) == expected
    assert run(spans, data, rows, nothing, EMPTY, *columns) == expected
    assert run(plain, data, rows, nothing, EMPTY, *columns) == expected


def test_offsets_need_not_start_at_zero_and_inputs_may_be_read_only():
    data = np.frombuffer("xxé😀".encode(), np.uint8)
    rows = np.array([2, 8], np.int64)
    ids = np.array([9, 9, 0, 2, 1], np.int32)
    ids.flags.writeable = False
    got = run(spans, data, rows, (EMPTY, EMPTY, EMPTY_IDS), EMPTY, ids, np.array([2, 5]), spans.UNIT_CHAR)
    assert got == (3, [(-7, -7), (-7, -7), (0, 1), (0, 2), (1, 2)])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([2], spans.STATUS_NOT_TILING),
        ([1], spans.STATUS_NOT_TILING),
        ([1, 0, 0], spans.STATUS_NOT_TILING),
        ([1, 12], STATUS_UNKNOWN_ID),
        ([-1, 1], STATUS_UNKNOWN_ID),
        ([], spans.STATUS_NOT_TILING),
    ],
)
@pytest.mark.parametrize("text", ["abc", "aé"])
@pytest.mark.parametrize("trim", [0, 2])
def test_statuses(ids, expected, text, trim):
    if ids == [2]:
        ids = [3]
    data = np.frombuffer(text.encode(), np.uint8)
    args = (
        data, np.array([0, 3]), (EMPTY, EMPTY, EMPTY_IDS), EMPTY, np.array(ids, np.int32), np.array([0, len(ids)]),
        spans.UNIT_CHAR, 0, trim,
    )  # fmt: skip
    got = run(spans, *args)
    assert got == run(plain, *args)
    assert got[0] == expected


@given(st.text(), st.integers(0, 9))
def test_counts_of_characters(text, skip):
    data = np.frombuffer(b"x" * skip + text.encode(), np.uint8)
    assert spans.count_chars(data, skip, data.size) == len(text)
    assert spans.is_ascii(data, skip, data.size) == text.isascii()
