"""Special tokens in text: the kernels agree with their plain twins, and the matcher is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numba_nlp.errors import STATUS_OUTPUT_FULL
from numba_nlp.kernels.segment import code_points, special
from numba_nlp.kernels.segment.special_matcher import (
    FLAG_LSTRIP,
    FLAG_NORMALIZED,
    FLAG_RSTRIP,
    FLAG_SINGLE_WORD,
    FLAG_SPECIAL,
    build_special_matcher,
)
from numba_nlp.kernels.segment.word_characters import word_bits
from numba_nlp.reference.segment import code_points as plain_code_points
from numba_nlp.reference.segment import special as plain

#: Few letters, so that tokens and texts meet: one that starts tokens, words, white space of 1 to 3 bytes, 4 bytes.
LETTERS = "<a|>_ \n\u00a0\u3000é\u200d😀"


def pack(items: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Join byte strings into (data, offsets)."""
    offsets = np.zeros(len(items) + 1, np.int64)
    offsets[1:] = np.cumsum([len(item) for item in items])
    return np.frombuffer(b"".join(items), np.uint8), offsets


def matcher_of(tokens: dict[str, int], active: list[bool] | None = None):
    """Matcher of tokens given as content -> flags, in the vocabulary's order (by bytes)."""
    ordered = sorted(tokens, key=str.encode)
    data, offsets = pack([token.encode() for token in ordered])
    return build_special_matcher(data, offsets, np.array([tokens[t] for t in ordered], np.uint8), active)


def find(module, matcher, data, starts, ends, capacity=None):
    """Records of all matches, as tuples (row, start, end, token)."""
    empty = np.zeros(0, np.int64)
    n = module.find_specials(matcher, data, starts, ends, empty, empty, empty, np.zeros(0, np.int32))
    size = n if capacity is None else capacity
    rows, first, last = np.full((3, size), -7, np.int64)
    tokens = np.full(size, -7, np.int32)
    assert module.find_specials(matcher, data, starts, ends, rows, first, last, tokens) == n
    return list(zip(rows.tolist(), first.tolist(), last.tolist(), tokens.tolist(), strict=True))


def found_texts(tokens: dict[str, int], text: str, active=None) -> list[str]:
    """The texts that matches cover in one row."""
    raw = text.encode()
    data = np.frombuffer(raw, np.uint8)
    records = find(special, matcher_of(tokens, active), data, np.array([0]), np.array([len(raw)]))
    return [raw[a:b].decode() for _, a, b, _ in records]


token_sets = st.dictionaries(st.text(LETTERS, min_size=1, max_size=4), st.integers(0, 31), min_size=0, max_size=6)
rows_of_text = st.lists(st.text(LETTERS, max_size=24), max_size=6)


@settings(deadline=None)
@given(token_sets, rows_of_text, st.data())
def test_find_and_split_agree_with_their_twins(tokens, texts, draws):
    active = draws.draw(st.none() | st.lists(st.booleans(), min_size=len(tokens), max_size=len(tokens)))
    matcher = matcher_of(tokens, active)
    data, offsets = pack([text.encode() for text in texts])
    order = draws.draw(st.permutations(range(len(texts))))
    starts, ends = offsets[:-1][order], offsets[1:][order]
    records = find(special, matcher, data, starts, ends)
    assert records == find(plain, matcher, data, starts, ends)

    template = np.array(draws.draw(st.sampled_from([[], [-1], [900, -1, 901], [902, 903, -1]])), np.int32)
    columns = [np.array([record[i] for record in records], np.int64) for i in range(3)]
    columns.append(np.array([record[3] for record in records], np.int32))
    ids = np.arange(500, 500 + len(tokens), dtype=np.int32)
    size = len(texts) * (template.size + 1) + 2 * len(records)
    outputs = []
    for module in (special, plain):
        seg_starts, seg_ends = np.full((2, size), -7, np.int64)
        seg_fixed = np.full(size, -7, np.int32)
        first = np.full(len(texts) + 1, -7, np.int64)
        n = module.split_rows(
            *columns, len(records), ids, template, starts, ends, seg_starts, seg_ends, seg_fixed, first
        )
        assert first[-1] == n
        outputs.append((n, seg_starts.tolist(), seg_ends.tolist(), seg_fixed.tolist(), first.tolist()))
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        pytest.param({"<|a|>": 1}, "<|a|>", ["<|a|>"], id="whole text"),
        pytest.param({"<|a|>": 1}, "<|a|><|a", ["<|a|>"], id="nested start"),
        pytest.param({"<|a|>": 1}, "<|a<|a|>", ["<|a|>"], id="restart inside"),
        pytest.param({"<|a|>": 1}, "<|a|><|a|>x<|a|>", ["<|a|>"] * 3, id="adjacent"),
        pytest.param({"<a>": 1, "<a><b": 1}, "<a><b>", ["<a><b"], id="longest"),
        pytest.param({"<a>": 1, "a>xyz": 1}, "<a>xyz", ["<a>"], id="leftmost"),
        pytest.param({"<a>": 1, "<a>b": 17}, "<a>b", ["<a>"], id="first search goes first"),
        pytest.param({"m": FLAG_LSTRIP}, "x \u3000\nm", [" \u3000\nm"], id="lstrip"),
        pytest.param({"m": FLAG_RSTRIP}, "m\r\n\u2029 x", ["m\r\n\u2029 "], id="rstrip"),
        pytest.param({"m": FLAG_RSTRIP, "n": FLAG_LSTRIP}, "m  n", ["m  ", "n"], id="rstrip took it"),
        pytest.param({"m": FLAG_RSTRIP, " ": 0}, "m  x", ["m  ", " ", " "], id="white space matched again"),
        pytest.param({"m": FLAG_RSTRIP, "\t": FLAG_LSTRIP}, "m\t\tx", ["m\t\t"], id="nothing left"),
        pytest.param({"m": FLAG_SINGLE_WORD}, "am m_ m. m\u200d .m", ["m", "m"], id="single word"),
        pytest.param({"aa": FLAG_SINGLE_WORD, "a": 0}, "aab aa a", ["aa", "a"], id="refused text is passed over"),
        pytest.param({"a": 0, "b": FLAG_SINGLE_WORD | FLAG_NORMALIZED}, "abac", ["a", "b", "a"], id="stretch ends"),
        pytest.param({"x": 1}, "", [], id="empty row"),
        pytest.param({}, "x", [], id="no tokens"),
    ],
)
def test_named_cases(tokens, text, expected):
    assert found_texts(tokens, text) == expected


def test_a_token_left_out_is_plain_text():
    tokens = {"<a>": FLAG_SPECIAL, "<a>b": FLAG_SPECIAL}
    assert found_texts(tokens, "<a>b", [True, False]) == ["<a>"]
    assert found_texts(tokens, "<a>b", [False, False]) == []


@pytest.mark.parametrize("first_letters", ["<", "<[", "<[{(", "<[{(#"])
def test_hits_are_found_at_every_place_of_long_rows(first_letters):
    """Block search for one, two and four first bytes, and the table for more."""
    matcher = matcher_of({letter + "x": 1 for letter in first_letters})
    for length in (63, 64, 65, 200):
        for place in range(length - 1):
            raw = bytearray(b"." * length)
            raw[place : place + 2] = (first_letters[place % len(first_letters)] + "x").encode()
            if place < length - 2:
                raw[-1:] = b"<"  # a hit without a token, at the very end
            data = np.frombuffer(bytes(raw), np.uint8)
            records = find(special, matcher, data, np.array([0]), np.array([data.size]))
            assert [record[:3] for record in records] == [(0, place, place + 2)]


def test_rows_that_do_not_ascend_and_rows_far_apart():
    data = np.frombuffer(b"ab<x>" + b"<x>" * 100 + b"<x>cd", np.uint8)
    matcher = matcher_of({"<x>": 1})
    far = find(special, matcher, data, np.array([0, 305]), np.array([5, 310]))
    assert [record[:3] for record in far] == [(0, 2, 5), (1, 305, 308)]
    back = find(special, matcher, data, np.array([305, 0]), np.array([310, 5]))
    assert [record[:3] for record in back] == [(0, 305, 308), (1, 2, 5)]
    cut = find(special, matcher, data, np.array([0, 4, 6]), np.array([4, 6, 8]))
    assert cut == []


def test_records_beyond_the_capacity_are_counted_not_written():
    data = np.frombuffer(b"<x>" * 5, np.uint8)
    matcher = matcher_of({"<x>": 1})
    records = find(special, matcher, data, np.array([0]), np.array([15]), capacity=2)
    assert records == [(0, 0, 3, 0), (0, 3, 6, 0)]


def test_split_rows_reports_a_full_output():
    for module in (special, plain):
        small = np.zeros(1, np.int64)
        status = module.split_rows(
            np.array([0]),
            np.array([1]),
            np.array([2]),
            np.zeros(1, np.int32),
            1,
            np.array([9], np.int32),
            np.zeros(0, np.int32),
            np.array([0]),
            np.array([3]),
            small,
            small.copy(),
            np.zeros(1, np.int32),
            np.zeros(2, np.int64),
        )
        assert status == STATUS_OUTPUT_FULL


def test_matcher_arrays_are_read_only_and_word_bits_only_where_needed():
    matcher = matcher_of({"<x>": 1, "y": FLAG_SINGLE_WORD}, [True, False])
    assert not any(array.flags.writeable for array in matcher)
    assert matcher.word_bits.size == 0
    assert matcher_of({"y": FLAG_SINGLE_WORD}).word_bits.size == 0x110000 >> 3


@pytest.mark.parametrize(
    ("tokens", "flags", "message"),
    [
        ([b"a", b""], [1, 1], "special token 1 is empty"),
        ([b"a", b"a"], [1, 1], "b'a' occurs twice"),
        ([b"a", b"b"], [1], "names 2 tokens, but special_flags has 1"),
    ],
)
def test_damaged_token_lists_are_refused(tokens, flags, message):
    data, offsets = pack(tokens)
    with pytest.raises(ValueError, match=message):
        build_special_matcher(data, offsets, np.array(flags, np.uint8))


@given(st.text(min_size=1, max_size=3))
def test_characters_agree_with_their_twins(text):
    data = np.frombuffer(text.encode(), np.uint8)
    code_point = ord(text[0])
    assert code_points.code_point_at(data, 0) == plain_code_points.code_point_at(data, 0) == code_point
    assert code_points.code_point_before(data, data.size) == ord(text[-1])
    assert plain_code_points.code_point_before(data, data.size) == ord(text[-1])
    assert code_points.encoded_length(code_point) == plain_code_points.encoded_length(code_point)
    bits = word_bits()
    assert code_points.is_word(bits, code_point) == plain_code_points.is_word(bits, code_point)


def test_white_space_of_every_code_point():
    wrong = [c for c in range(0x110000) if code_points.is_white_space(c) != plain_code_points.is_white_space(c)]
    assert wrong == []
