"""Spans through alignment: the kernel against its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_NOT_TILING, STATUS_UNKNOWN_ID
from numba_nlp.kernels.segment.normalize_text import Aligned
from numba_nlp.kernels.segment.normalized_spans import fill_normalized_spans
from numba_nlp.kernels.segment.spans import TRIM_ALL, TRIM_KEEP_FIRST, TRIM_NONE, UNIT_BYTE, UNIT_CHAR
from numba_nlp.reference.segment.normalize_forms import normal_form
from numba_nlp.reference.segment.normalize_text import load_aligned
from numba_nlp.reference.segment.normalized_spans import Match, Token, span_of_match, span_of_token
from tests.normalizer_cases import form_rules, frozen

#: Ids below 16 are pieces of as many bytes; the last one is a special token, whose length nothing asks for.
PIECE_OFFSETS = frozen(np.concatenate(([0], np.cumsum(np.arange(16)), [200])))
SPECIAL = 15
UNITS = {"byte": UNIT_BYTE, "char": UNIT_CHAR}

texts = st.text(st.sampled_from("a  \u00e9\ufb01\u0301\u3000\u00a8\U0001f600"), max_size=8)
matches = st.sampled_from(["<s>", " <s> ", "  <s>", "\u0120x", "\u3000<s>\u3000"])
segments = st.lists(st.one_of(texts, matches.map(lambda text: (text,)), st.none()), max_size=4)


def layout(rows, add_prefix_space, sizes):
    """Arrays of rows of segments (texts, special tokens, template tokens), and the tokens that a twin takes."""
    data, row_starts, row_ends, segs, firsts = b"", [], [], [], [0]
    source, ids, id_offsets, tokens = [], [], [0], []
    for row in rows:
        row_starts.append(len(data))
        for segment in row:
            if segment is None:
                segs.append((-1, -1, SPECIAL, 0, 0))
                ids.append(SPECIAL)
                tokens.append(None)
                continue
            text = segment if isinstance(segment, str) else segment[0]
            start = len(data)
            data += text.encode()
            if not isinstance(segment, str):
                segs.append((start, len(data), SPECIAL, 0, 0))
                ids.append(SPECIAL)
                tokens.append(Match(start - row_starts[-1], len(data) - row_starts[-1]))
                continue
            characters = normal_form(form_rules(), "NFKC", load_aligned(text))
            own = [(byte, (c.start, c.end)) for c in characters for byte in c.text.encode()]
            segs.append((start, len(data), -1, len(source), len(source) + len(own)))
            source += own
            base = start - row_starts[-1]
            moved = [(byte, (a + base, b + base)) for byte, (a, b) in own]
            added = bool(add_prefix_space and own and own[0][0] != ord(" "))
            if added:
                moved.insert(0, (ord(" "), moved[0][1]))
            while moved:
                n = min(next(sizes), len(moved))
                ids.append(n)
                tokens.append(Token(bytes(byte for byte, _ in moved[:n]), [r for _, r in moved[:n]], added))
                moved, added = moved[n:], False
        row_ends.append(len(data))
        firsts.append(len(segs))
        id_offsets.append(len(ids))
    columns = list(zip(*segs, strict=True)) or [()] * 5
    arrays = [np.frombuffer(data + b"#", np.uint8), *(np.array(a, np.int64) for a in (row_starts, row_ends))]
    arrays += [np.array(columns[0], np.int64), np.array(columns[1], np.int64), np.array(columns[2], np.int32)]
    arrays += [np.array(firsts, np.int64)]
    arrays += [
        Aligned(
            frozen(np.array([byte for byte, _ in source] + [0], np.uint8)),
            frozen(np.array([a for _, (a, _) in source] + [0], np.int32)),
            frozen(np.array([b for _, (_, b) in source] + [0], np.int32)),
        )
    ]
    arrays += [np.array(columns[3], np.int64), np.array(columns[4], np.int64)]
    arrays += [np.array(ids, np.int32), np.array(id_offsets, np.int64)]
    return [a if isinstance(a, tuple) else frozen(a) for a in arrays], tokens


@given(
    rows=st.lists(segments, max_size=3),
    prefix=st.booleans(),
    unit=st.sampled_from(list(UNITS)),
    trim=st.sampled_from([TRIM_NONE, TRIM_ALL, TRIM_KEEP_FIRST]),
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6),
)
@example([["\u00a8 ", ("  <s>",), " "]], True, "char", TRIM_KEEP_FIRST, [1])
@example([["  \ufb01 ", None, "a"]], True, "byte", TRIM_ALL, [3, 1])
def test_spans(rows, prefix, unit, trim, sizes):
    def cycle():
        while True:
            yield from sizes

    arrays, tokens = layout(rows, prefix, cycle())
    data, row_starts, row_ends, ids, id_offsets = *arrays[:3], *arrays[-2:]
    expected = []
    for row in range(len(rows)):
        text = data[row_starts[row] : row_ends[row]].tobytes()
        is_first = True
        for token in tokens[id_offsets[row] : id_offsets[row + 1]]:
            if token is None:
                expected.append((-1, -1))
                continue
            span = span_of_token if isinstance(token, Token) else span_of_match
            expected.append(span(text, token, unit, trim != TRIM_NONE, trim == TRIM_KEEP_FIRST, is_first))
            is_first = False
    starts, ends, where = np.full(ids.size, 99), np.full(ids.size, 99), np.zeros(2, np.int64)
    n = fill_normalized_spans(PIECE_OFFSETS, *arrays, UNITS[unit], int(prefix), trim, starts, ends, where)
    assert n == ids.size
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("change", "status", "at"),
    [
        (lambda ids: ids[:-1], STATUS_NOT_TILING, 1),
        (lambda ids: [*ids, 1], STATUS_NOT_TILING, 2),
        (lambda ids: [ids[0], 9], STATUS_NOT_TILING, 1),
        (lambda ids: [ids[0], -1], STATUS_UNKNOWN_ID, 1),
        (lambda ids: [17, ids[1]], STATUS_UNKNOWN_ID, 0),
        (lambda ids: [ids[0], 0], STATUS_NOT_TILING, 1),
    ],
)
def test_foreign_ids_are_said(change, status, at):
    arrays, _ = layout([["ab"]], False, iter([1, 1]))
    ids = np.array(change(arrays[-2].tolist()), np.int32)
    arrays[-2:] = [frozen(ids), frozen(np.array([0, ids.size], np.int64))]
    starts, ends, where = np.zeros(9, np.int64), np.zeros(9, np.int64), np.zeros(2, np.int64)
    assert fill_normalized_spans(PIECE_OFFSETS, *arrays, UNIT_CHAR, 0, TRIM_NONE, starts, ends, where) == status
    assert where.tolist() == [0, at]
