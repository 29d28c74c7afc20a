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
LONGEST = 12
#: The piece of each id; tests add what they need.
PIECES: list[bytes] = []
EMPTY = np.zeros(0, np.int64)
EMPTY_IDS = np.zeros(0, np.int32)


def piece_id(piece: bytes) -> int:
    if piece not in PIECES:
        PIECES.append(piece)
    return PIECES.index(piece)


def cut(text: bytes, draw) -> list[int]:
    """Ids of pieces that tile a text."""
    ids = []
    while text:
        size = draw(st.integers(1, min(len(text), LONGEST)))
        ids.append(piece_id(text[:size]))
        text = text[size:]
    return ids


def run(module, data, rows, segments, row_first, ids, id_offsets, unit=0, prefix=0, trim=0):
    """Status, spans and failure place of one call; failed calls have no spans."""
    starts, ends = np.full((2, ids.size), -7, np.int64)
    where = np.full(2, -7, np.int64)
    offsets = np.cumsum([0, *map(len, PIECES)], dtype=np.int64)
    shapes = spans.piece_shapes(np.frombuffer(b"".join(PIECES), np.uint8), offsets)
    status = module.fill_spans(
        shapes, offsets, data, rows[:-1], rows[1:], *segments, row_first, ids,
        id_offsets, unit, prefix, trim, starts, ends, where,
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
                segments.append((-1, -1, 0))
                ids.append(0)
                continue
            text = draw(st.text(LETTERS, min_size=1, max_size=20)).encode()
            start = len(data)
            data += text
            segments.append((start, len(data), -1 if kind == "text" else 0))
            if kind == "special":
                ids.append(0)
                continue
            ids += cut(b" " * (prefix and text[0] != 0x20) + text, draw)
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
    at = draws.draw(st.integers(0, ids.size - 1))
    # a piece of another length, or none: what the piece of a right length holds does not matter
    others = [n for n, piece in enumerate(PIECES) if len(piece) != len(PIECES[ids[at]])]
    ids[at] = draws.draw(st.sampled_from([-2, -1, *others[:9], len(PIECES), len(PIECES) + 1]))
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
        ids += cut(text, draws.draw)
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
    ids = np.array([0, 0, *map(piece_id, ("é".encode()[:1], "é😀".encode()[1:4], "😀".encode()[2:]))], np.int32)
    ids.flags.writeable = False
    got = run(spans, data, rows, (EMPTY, EMPTY, EMPTY_IDS), EMPTY, ids, np.array([2, 5]), spans.UNIT_CHAR)
    assert got == (3, [(-7, -7), (-7, -7), (0, 1), (0, 2), (1, 2)])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([b"four"], spans.STATUS_NOT_TILING),
        ([b"ab"], spans.STATUS_NOT_TILING),
        ([b"ab", b"c", b"d"], spans.STATUS_NOT_TILING),
        ([b"ab", 1 << 20], STATUS_UNKNOWN_ID),
        ([-1, b"bc"], STATUS_UNKNOWN_ID),
        ([], spans.STATUS_NOT_TILING),
    ],
)
@pytest.mark.parametrize("text", ["abc", "aé"])
@pytest.mark.parametrize("trim", [0, 2])
def test_statuses(ids, expected, text, trim):
    ids = [piece_id(piece) if isinstance(piece, bytes) else piece for piece in ids]
    data = np.frombuffer(text.encode(), np.uint8)
    args = (
        data, np.array([0, 3]), (EMPTY, EMPTY, EMPTY_IDS), EMPTY, np.array(ids, np.int32), np.array([0, len(ids)]),
        spans.UNIT_CHAR, 0, trim,
    )  # fmt: skip
    got = run(spans, *args)
    assert got == run(plain, *args)
    assert got[0] == expected


@given(st.lists(st.binary(max_size=300), max_size=6))
def test_shapes_of_pieces(pieces):
    shapes = spans.piece_shapes(
        np.frombuffer(b"".join(pieces), np.uint8), np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    )
    for piece, shape in zip(pieces, shapes.tolist(), strict=True):
        starts = sum(byte & 0xC0 != 0x80 for byte in piece)
        inside = bool(piece) and piece[0] & 0xC0 == 0x80
        assert (shape & 127, shape >> 7 & 127, shape >> 14) == (min(len(piece), 127), min(starts, 127), inside)


@given(st.text("aé😀", min_size=60, max_size=150), st.sampled_from([0, 1]))
def test_long_pieces(text, unit):
    raw = text.encode()
    args = (
        np.frombuffer(raw, np.uint8), np.array([0, len(raw)]), (EMPTY, EMPTY, EMPTY_IDS), EMPTY,
        np.array([piece_id(raw[:-50]), piece_id(raw[-50:])], np.int32), np.array([0, 2]), unit,
    )  # fmt: skip
    assert run(spans, *args) == run(plain, *args)


@given(st.text(), st.integers(0, 9))
def test_counts_of_characters(text, skip):
    data = np.frombuffer(b"x" * skip + text.encode(), np.uint8)
    assert spans.count_chars(data, skip, data.size) == len(text)
    high = [i for i, byte in enumerate(text.encode()) if byte > 127]
    assert spans.ascii_end(data, skip, data.size) == skip + (high[0] if high else len(text))


@given(st.text(), st.integers(0, 9), st.data())
def test_places_in_characters(text, known, draw):
    """From any place to any other one, before it or behind it."""
    data = np.frombuffer(text.encode(), np.uint8)
    edges = [len(text[:i].encode()) for i in range(len(text) + 1)]
    first, second = (draw.draw(st.integers(0, len(text))) for _ in range(2))
    args = (data, edges[first], known + first, edges[second])
    assert spans.count_to(*args) == plain.count_to(*args) == (edges[second], known + second)
