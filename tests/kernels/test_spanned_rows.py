"""Ids and spans at once: what the cache keeps, and rows of WordPiece as the plain twin places them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import spanned_rows as kernels
from numba_nlp.kernels.segment.spanned_families import encode_spanned_wordpiece
from numba_nlp.kernels.segment.spanned_rows_memory import MARK, MOST_IDS, new_span_memory
from numba_nlp.kernels.segment.spans import UNIT_BYTE, UNIT_CHAR
from numba_nlp.kernels.segment.wordpiece_memory import new_scratch
from numba_nlp.kernels.tables.word_cache import SHORT_IDS, SHORT_LIMIT, SPARE_IDS, new_word_cache
from numba_nlp.reference.segment import spanned_rows as plain
from numba_nlp.reference.segment import word_spans
from tests.kernels.test_word_cache import key_of
from tests.wordpiece_cases import ALL_OPTIONS, ALPHABET, pieces_of, tables_of, toy

TABLES = [tables_of(toy(options)) for options in ALL_OPTIONS[::5]]
texts = st.lists(st.one_of(st.sampled_from(ALPHABET), st.text("abz019", min_size=1, max_size=9)), max_size=12).map(
    "".join
)
#: Text, or an id for a stretch of it, or an id of the template.
parts = st.lists(st.tuples(texts, st.sampled_from((-1, 7, 900)), st.booleans()), max_size=4)


def frozen(array):
    array.flags.writeable = False
    return array


@st.composite
def chunks(draw):
    """A chunk and its tokens, of which the first may be a mark."""
    chunk = draw(st.binary(min_size=1, max_size=SHORT_LIMIT) | st.binary(min_size=16, max_size=40))
    numbers = draw(st.lists(st.integers(0, MOST_IDS - 1) | st.sampled_from((0, MOST_IDS - 1)), max_size=SHORT_IDS))
    tokens = []
    for number in numbers:
        start = draw(st.integers(0, len(chunk)))
        tokens.append((number, start, draw(st.integers(start, len(chunk)))))
    if tokens and draw(st.booleans()):
        tokens[0] = (MARK | draw(st.integers(0, MARK - 1)), 0, 0)
    return chunk, tokens


@given(st.lists(chunks(), min_size=1, max_size=12), st.integers(0, 2**40))
def test_what_is_kept_of_a_chunk(given_chunks, base):
    cache, memory = new_word_cache(bits=8, arena=1 << 10), new_span_memory(64)
    kept = {}
    for chunk, tokens in given_chunks:
        columns = np.array(tokens, np.int64).reshape(-1, 3)
        memory.starts[: len(tokens)], memory.ends[: len(tokens)] = columns[:, 1], columns[:, 2]
        data = np.frombuffer(b"<" + chunk + b">", np.uint8)
        ids = np.append(columns[:, 0], 0).astype(np.int32)
        kernels.enter_spans(cache, data, 1, len(chunk), *key_of(cache, chunk), ids, len(tokens), memory)
        plain.enter_spans(kept, chunk, tokens)
    for chunk, _ in given_chunks:
        ids = np.full(SHORT_IDS + SPARE_IDS + 2, -7, np.int32)
        starts, ends = np.full(ids.size, -7), np.full(ids.size, -7)
        data = np.frombuffer(b"<" + chunk + b">", np.uint8)
        n = kernels.recall_spans(cache, data, 1, len(chunk), *key_of(cache, chunk), base, ids, starts, ends, 2)
        if n >= 0:
            found = list(zip(*(array[2 : 2 + n].tolist() for array in (ids, starts, ends)), strict=True))
            assert found == plain.recall_spans(kept, chunk, base)
    # the chunk that was entered last is there
    assert n >= 0


@given(st.text("a\u00e9\u3042\U0001f600", max_size=9), st.lists(st.integers(0, 40), max_size=8))
def test_places_in_characters(text, places):
    chunk = text.encode()
    wanted = [min(place, len(chunk)) for place in places]
    found = np.array([*wanted, 77], np.int64)
    kernels.to_characters(np.frombuffer(b"\xc3\xa9" + chunk, np.uint8), 2, len(wanted), found)
    assert found.tolist() == [*plain.to_characters(chunk, wanted), 77]


@given(st.lists(st.lists(st.text("a\u00e9\U0001f600", max_size=5) | st.none(), max_size=4), max_size=3), st.booleans())
def test_places_of_segments(rows, in_characters):
    data, row_starts, first, starts, expected = b"\xe2\x96\x81", [], [0], [], []
    for row in rows:
        content, own = "", []
        for part in row:
            own.append(-1 if part is None else len(content.encode()))
            content += part or ""
        row_starts.append(len(data))
        starts += [place if place < 0 else len(data) + place for place in own]
        first.append(len(starts))
        expected += plain.place_segments(content.encode(), own, in_characters)
        data += content.encode()
    places = np.full(len(starts), -9)
    kernels.place_segments(
        np.frombuffer(data, np.uint8), np.array(row_starts, np.int64), np.array(starts, np.int64),
        np.array(first, np.int64), UNIT_CHAR if in_characters else UNIT_BYTE, places,
    )  # fmt: skip
    assert places.tolist() == expected


def encode(tables, cache, rows, segments, unit, capacity=4096):
    """Tokens of rows, cut into the segments of ``segments``."""
    contents = [row.encode() for row in rows]
    flat, places, data = [], [], b"".join(contents)
    origin = 0
    for content, row in zip(contents, segments, strict=True):
        places += plain.place_segments(content, [start for start, _, _ in row], unit == UNIT_CHAR)
        flat += [(start + origin, end + origin, fixed) if start >= 0 else (-1, -1, fixed) for start, end, fixed in row]
        origin += len(content)
    columns = np.array(flat, np.int64).reshape(-1, 3)
    n = len(flat)
    room = len(data) + n + SPARE_IDS
    ids, starts, ends = np.full(room, -9, np.int32), np.full(room, -9), np.full(room, -9)
    offsets, left = np.zeros(n + 1, np.int64), np.zeros(n, np.uint8)
    row = out = 0
    while True:
        scratch = new_scratch(capacity)
        end = encode_spanned_wordpiece(
            tables, cache, np.frombuffer(data, np.uint8), frozen(columns[:, 0].copy()), frozen(columns[:, 1].copy()),
            frozen(columns[:, 2].astype(np.int32)), np.array(places, np.int64), row, n, unit, scratch,
            new_span_memory(max(scratch.text.size, 64)), ids, offsets, starts, ends, left, out,
        )  # fmt: skip
        if end >= 0:
            break
        row, out = scratch.progress[:2].tolist()
        capacity = max(-end, 2 * capacity)
    assert not left.any()
    assert (ids[:end] >= 0).all()
    tokens = list(zip(*(array[:end].tolist() for array in (ids, starts, ends)), strict=True))
    bounds = [0, *np.cumsum([len(row) for row in segments]).tolist()]
    return [tokens[offsets[a] : offsets[b]] for a, b in pairwise(bounds)]


@given(st.sampled_from(TABLES), st.lists(parts, min_size=1, max_size=4), st.booleans(), st.sampled_from((8, 4096)))
def test_rows_of_wordpiece(tables, rows, in_characters, capacity):
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
        word_spans.fill_word_spans(tables, pieces, text, row, in_characters)
        for text, row in zip(texts_of_rows, segments, strict=True)
    ]
    cache = new_word_cache(bits=8, arena=1 << 10)
    unit = UNIT_CHAR if in_characters else UNIT_BYTE
    for _ in range(2):  # the second time from the cache
        assert encode(tables, cache, texts_of_rows, segments, unit, capacity) == expected
