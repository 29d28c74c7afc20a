"""SentencePiece's normaliser: the kernel agrees with its twin, and a row may be cut where the summary says so."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import normalize_charsmap as kernels
from numba_nlp.reference.segment import normalize_charsmap as plain
from tests.sentencepiece_cases import rules, run_normalize, spec_of, symbols, tables_of, texts
from vocab_tools.compiler.charsmap import summarize

flags = st.integers(0, 15)


@given(rules, symbols, flags, texts, st.integers(0, 3))
def test_agrees_with_the_twin(rules, symbols, flags, text, edges):
    tables = tables_of(rules, symbols, flags)
    text = text.encode()
    expected = run_normalize(plain, tables, text, edges=edges)
    assert not isinstance(expected, int)
    assert run_normalize(kernels, tables, text, edges=edges, before=b"xy ", behind="é".encode()) == expected
    assert run_normalize(kernels, tables, text, edges=edges, aligned=False)[0] == expected[0]
    expected[0].decode()


@given(rules, symbols, flags, texts, st.integers(0, 40))
def test_says_when_the_room_does_not_do(rules, symbols, flags, text, room):
    tables = tables_of(rules, symbols, flags)
    expected = run_normalize(plain, tables, text.encode(), room=room)
    assert run_normalize(kernels, tables, text.encode(), room=room) == expected
    if isinstance(expected, int):
        assert expected == STATUS_OUTPUT_FULL
        assert room < kernels.normalized_room(tables, len(text.encode()))


@given(rules, symbols, flags, st.lists(texts, max_size=4))
def test_rows(rules, symbols, flags, rows):
    tables = tables_of(rules, symbols, flags)
    encoded = [row.encode() for row in rows]
    data = np.frombuffer(b"?".join(encoded), np.uint8)
    starts = np.cumsum([0] + [len(row) + 1 for row in encoded], dtype=np.int64)[:-1]
    ends = starts + np.array([len(row) for row in encoded], np.int64)
    room = sum(int(kernels.normalized_room(tables, len(row))) for row in encoded)
    for module in (kernels, plain):
        out, offsets = np.zeros(room, np.uint8), np.full(len(rows) + 1, -1, np.int64)
        n = module.normalize_rows(tables, data, starts, ends, out, offsets)
        made = [out[i:j].tobytes() for i, j in pairwise(offsets)]
        assert made == [run_normalize(plain, tables, row)[0] for row in encoded]
        assert n == offsets[-1]


#: Few characters, and rules that leave spaces open: what a wrong cut needs to be noticed.
spaced_rules = st.dictionaries(
    st.sampled_from(["\n", "\x7f", "\u00a0", "é", "e\u0301"]),
    st.sampled_from(["", " ", "a ", " a", "\u2581"]),
    max_size=4,
)
spaced_texts = st.lists(st.sampled_from("a  \n\x7f\u00a0ée\u0301\u2581"), max_size=10).map("".join)


@given(spaced_rules, st.one_of(st.just([]), symbols), flags, spaced_texts)
@example({}, [], 6, "a\u2581 ")
@example({"\u00a0": " "}, [], 6, "a\u00a0 b")
@example({"\x7f": ""}, [], 6, "a \x7f b")
@example({"é": "\u2581"}, [], 6, "aé ")
@example({}, ["b\u2581"], 6, "b\u2581 ")
def test_stretches_between_solid_bytes_and_spaces_are_independent(rules, symbols, flags, text):
    encoded = [symbol.encode() for symbol in symbols]
    summary = summarize(spec_of(rules, flags), encoded)
    if summary.spans_space:
        return
    tables = tables_of(rules, symbols, flags)
    text = text.encode()
    cuts = [i for i in range(1, len(text)) if text[i] == 0x20 and summary.solid[text[i - 1]]]
    bounds = [0, *cuts, len(text)]
    made = b""
    for i, (first, last) in enumerate(pairwise(bounds)):
        edges = kernels.ROW_STARTS * (i == 0) | kernels.ROW_ENDS * (last == len(text))
        made += run_normalize(kernels, tables, text[first:last], edges=edges)[0]
    assert made == run_normalize(kernels, tables, text)[0]


SPM = 1 | 2 | 4


@pytest.mark.parametrize("module", [kernels, plain])
def test_named_cases(module):
    def text(string, flags=SPM, rules=None, symbols=()):
        return run_normalize(module, tables_of(rules or {}, list(symbols), flags), string.encode())[0].decode()

    assert text("") == ""
    assert text("   ") == ""
    assert text("   ", flags=1 | 4) == "▁▁▁▁"
    assert text("hello  world ") == "▁hello▁world"
    assert text("hello  world ", flags=1 | 4) == "▁hello▁▁world▁"
    assert text("a b", flags=1 | 2 | 8 | 4) == "a▁b▁"
    assert text(" a b ", flags=2) == "a b"
    # U+2581 in the text is not told from a space that was written as one, except at the beginning.
    assert text("▁") == ""
    assert text("▁a▁ ") == "▁▁a"
    # The longest rule counts; a symbol stands before rules, and is not replaced even in part.
    assert text("eé", rules={"e": "1", "é": "2", "eé": "3"}) == "▁3"
    assert text("eé", rules={"e": "1", "é": "2", "eé": "3"}, symbols=["e"]) == "▁e2"
    # What goes leaves a space before it open; a character that becomes spaces opens one.
    assert text("a \x7f b", rules={"\x7f": ""}) == "▁a▁b"
    assert text("a\u00a0 b", rules={"\u00a0": " "}) == "▁a▁b"
    assert text("a\ufdfab", rules={"\ufdfa": "x y "}) == "▁ax▁y▁b"


@pytest.mark.parametrize("module", [kernels, plain])
def test_alignment(module):
    def ranges(string, flags=SPM, rules=None):
        made = run_normalize(module, tables_of(rules or {}, [], flags), string.encode())
        return made[0].decode(), list(zip(made[1], made[2], strict=True))

    assert ranges("ab") == ("▁ab", [(0, 0)] * 3 + [(0, 1), (1, 2)])
    # The added space stands at the first character that stays, an escaped one where the space is.
    assert ranges("  a  é") == ("▁a▁é", [(2, 2)] * 3 + [(2, 3)] + [(3, 4)] * 3 + [(5, 7)] * 2)
    assert ranges("a ", flags=2 | 4 | 8 | 1) == ("a▁", [(0, 1)] + [(1, 1)] * 3)
    assert ranges("aé", flags=0, rules={"aé": "xyz"}) == ("xyz", [(0, 3)] * 3)


def test_long_ascii_goes_through_the_fast_loop_up_to_the_last_byte():
    tables = tables_of({"e\u0301": "é", "\n": " "}, [], SPM)
    text = ("one  two three\nfour " * 40 + "e").encode()
    for tail in (b"", "\u0301".encode(), b"  "):
        expected = run_normalize(plain, tables, text + tail)
        assert run_normalize(kernels, tables, text + tail) == expected
        assert run_normalize(kernels, tables, text + tail, aligned=False)[0] == expected[0]
