"""BERT's normaliser: equal to its twin for every choice of options, with alignment, in the room that it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.normalize_bert import normalize, normalized_room
from numba_nlp.reference.segment import normalize_bert as plain
from tests.wordpiece_cases import ALL_OPTIONS, ALPHABET, CASED, UNCASED, byte_array, named, tables_of, toy

TABLES = [tables_of(toy(options)) for options in ALL_OPTIONS]
STRIPPED = tables_of(toy(UNCASED))
#: Marks that stay when accents are stripped, of several combining classes; and marks that go.
KEPT = "\u302e\u1b44\ua953\u08d4\U0001d165\U0001d16d\U0001e94a"
GONE = "\u0301\u0327\u0334\u0345\u093c\u0344\u0f73\u0e31\u20dd"
UNWRITTEN = 0x7F


def run(tables, text: str, aligned: bool = True, padding: int = 3):
    """Normalised text and alignment by the kernel, of a text with something on both sides."""
    content = text.encode()
    data = np.frombuffer(b"!" * padding + content + b"!" * padding, np.uint8)
    room = normalized_room(len(content))
    out = np.full(room + 1, UNWRITTEN, np.uint8)
    starts, ends = (np.zeros(room if aligned else 0, np.int32) for _ in range(2))
    n = normalize(tables, data, padding, padding + len(content), out, starts, ends)
    assert n <= room
    assert (out[n:] == UNWRITTEN).all()
    return out[:n].tobytes(), starts[:n].tolist(), ends[:n].tolist()


texts = st.one_of(
    st.text(st.sampled_from(ALPHABET), max_size=20),
    st.text(st.sampled_from(KEPT + GONE + "ae\x00 "), max_size=12),
)


@given(st.sampled_from(TABLES), st.one_of(texts, st.text(max_size=12)))
def test_agrees_with_the_twin(tables, text):
    found = run(tables, text)
    assert found == plain.normalize(tables, byte_array(text), 0, byte_array(text).size)
    assert run(tables, text, aligned=False)[0] == found[0]


def test_what_the_options_do():
    cased, uncased = tables_of(toy(CASED)), STRIPPED
    assert run(uncased, "H\u00e9llo\x00\tWORLD\u0301")[0].decode() == "hello world"
    assert run(cased, "H\u00e9llo\x00\tWORLD\u0301")[0].decode() == "H\u00e9llo WORLD\u0301"
    assert run(cased, "a\u4e2db")[0].decode() == "a \u4e2d b"
    # vertical tab and form feed are deleted, so the words around them join
    assert run(uncased, "a\x0bb\x0cc")[0] == b"abc"
    # Hangul stays decomposed
    assert run(uncased, "\ud55c")[0].decode() == "\u1112\u1161\u11ab"
    # the accent on the dotted capital I comes from lower-casing, which is after stripping
    lower_only = tables_of(toy({**CASED, "lowercase": True}))
    assert run(uncased, "\u0130")[0].decode() == "i"
    assert run(lower_only, "\u0130")[0].decode() == "i\u0307"


def test_alignment_is_that_of_characters():
    text, starts, ends = run(STRIPPED, "\u00c9\u4e2d\ud55c")
    assert text.decode() == "e \u4e2d \u1112\u1161\u11ab"
    assert list(zip(starts, ends, strict=True)) == [(0, 2)] + [(2, 5)] * 5 + [(5, 8)] * 9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # classes 224, 9 and 7: the lowest comes first
        ("x\u302e\u1b44\U0001e94a", "x\U0001e94a\u1b44\u302e"),
        # marks of one class keep their order
        ("x\u1b44\ua953\u1b44", "x\u1b44\ua953\u1b44"),
        # a letter parts runs
        ("x\u302ey\u1b44", "x\u302ey\u1b44"),
        # so does a mark of class 0 though it is stripped
        ("x\u302e\u0e31\u1b44", "x\u302e\u0e31\u1b44".replace("\u0e31", "")),
        # a stripped mark of another class, a character that decomposes into such marks, and a control do not
        ("x\u302e\u0301\u1b44", "x\u1b44\u302e"),
        ("x\u302e\u0344\u1b44", "x\u1b44\u302e"),
        ("x\u302e\x00\u1b44", "x\u1b44\u302e"),
        # parts of a decomposition belong to the run behind them
        ("\U0001d15e\ua953", "\U0001d157\ua953\U0001d165"),
    ],
)
def test_marks_that_stay_are_put_into_canonical_order(text, expected):
    assert run(STRIPPED, text)[0].decode() == expected


@pytest.mark.parametrize("options", ALL_OPTIONS[5::5], ids=named)
def test_no_code_point_needs_more_room(options):
    """Bytes that each code point becomes, from the table."""
    tables = tables_of(toy(options))
    points = np.arange(0x110000)
    units = tables.normal_blocks.reshape(-1, 128)[tables.normal_index].reshape(-1)
    kinds, images, counts = units & 7, (units >> 3) & 0x1FFFFF, units >> 24

    def size(code_points):
        return 1 + (code_points >= 0x80) + (code_points >= 0x800) + (code_points >= 0x10000)

    written = size(np.where(images == plain.ITSELF, points, images)) + 2 * (kinds == plain.CHINESE_WORD)
    written[kinds == plain.DELETED] = 0
    parts = np.concatenate([[0], np.cumsum(size((tables.normal_several >> 3) & 0x1FFFFF))])
    several = kinds == plain.SEVERAL
    written[several] = parts[images[several] + counts[several]] - parts[images[several]]
    for factor in np.unique(size(points)).tolist():
        assert written[size(points) == factor].max() <= normalized_room(factor)


def test_a_long_run_of_marks_in_the_wrong_order():
    text = "x" + "\u302e\u1b44" * 200
    assert run(STRIPPED, text)[0].decode() == "x" + "\u1b44" * 200 + "\u302e" * 200
