"""Chunks: the window scanner, the scalar scanner and the twin agree, and chunks encode as the whole text does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import fill_words, window_words
from numba_nlp.kernels.segment.normalize_bert import CHINESE_WORD, PUNCTUATION_WORD, SPACE
from numba_nlp.reference.segment import fill_words as plain
from numba_nlp.reference.segment.wordpiece import encode_words
from tests.wordpiece_cases import ALL_OPTIONS, ALPHABET, CASED, UNCASED, named, pieces_of, tables_of, toy

CASES = [tables_of(toy(options)) for options in (UNCASED, CASED, {**CASED, "handle_chinese_chars": False})]
CASES += [tables_of(toy(dict.fromkeys(UNCASED, False)))]
SLACK = 80
UNWRITTEN = -7
RUNS = (
    *("a", "ab", "Word", "0", "\u00e9", "\u0416", "\u4e2d", "\uac00", "\u0915", "\u3042", "\U0001f600", "\x00", "\x0b"),
    *(" ", "  ", "\n", "\t ", "\u00a0", "\u3000", " \u3000", ".", ",", "'", "''", "(", '"', "\u2014", "\uff01"),
    *("\u0964", "\u00b7", "\u3001"),
    *("don't", " 'a", "a' ", "' ", " .", " . ", "\n(", "  (", "x=(", ")\n\n", "a\u0301", "\u302e", "--", "\u00b7"),
)
texts = st.lists(st.one_of(st.sampled_from(RUNS), st.sampled_from(ALPHABET)), max_size=60).map("".join)


def chunks(module, tables, text: str, before: int = 0, after: int = 0, limit: int = 5) -> list[tuple[int, int]]:
    """All chunks of a text, taken a few at a time; the text stands between other bytes."""
    content = text.encode()
    data = np.frombuffer(b"x" * before + content + b"." * after, np.uint8)
    stop = before + len(content)
    found: list[tuple[int, int]] = []
    position = before
    while position < stop:
        starts, ends = (np.full(limit + SLACK, UNWRITTEN, np.int64) for _ in range(2))
        n, position = module.fill_chunks(tables, data, position, stop, starts, ends, 0, limit)
        assert position == stop or n >= limit
        found += zip((starts[:n] - before).tolist(), (ends[:n] - before).tolist(), strict=True)
    assert position == stop
    return found


@given(st.sampled_from(CASES), texts, st.integers(0, 70), st.integers(0, 70))
def test_scanners_agree(tables, text, before, after):
    found = chunks(fill_words, tables, text, before, after)
    assert found == chunks(plain, tables, text)
    assert found == chunks(window_words, tables, text, before, after)


@given(st.sampled_from(RUNS), st.sampled_from(RUNS), st.sampled_from(RUNS), st.integers(0, 66))
def test_scanners_agree_where_a_window_ends(first, second, third, length):
    text = first * (length // len(first.encode()) + 1) + second + third
    for tables in CASES:
        found = chunks(fill_words, tables, text)
        assert found == chunks(window_words, tables, text)
        assert found == chunks(window_words, tables, text, after=70)
        assert found == chunks(plain, tables, text)


@given(st.sampled_from(CASES), texts)
def test_chunks_cover_all_but_white_space(tables, text):
    content = text.encode()
    place = 0
    for start, end in chunks(window_words, tables, text):
        assert place <= start < end
        assert not kinds_of(tables, content[place:start].decode()) - {SPACE}
        content[start:end].decode()
        place = end
    assert not kinds_of(tables, content[place:].decode()) - {SPACE}


def kinds_of(tables, text: str) -> set[int]:
    """What the characters are to the pre-tokeniser."""
    return {plain.unit_of(tables.normal_index, tables.normal_blocks, ord(character)) & 7 for character in text}


@given(st.sampled_from(CASES), texts)
def test_chunks_do_not_influence_each_other(tables, text):
    """Cut at chunks, or not at all: the same tokens at the same places."""
    pieces, content = pieces_of(tables), text.encode()
    together = [tuple(token) for token in encode_words(tables, pieces, content, 0, len(content))]
    apart = [
        (token.id, start + token.start, start + token.end)
        for start, end in chunks(window_words, tables, text)
        for token in encode_words(tables, pieces, content, start, end)
    ]
    assert apart == together


def test_what_a_chunk_is():
    def of(text: str) -> list[str]:
        return [text.encode()[start:end].decode() for start, end in chunks(window_words, CASES[0], text)]

    assert of("Hello , world.  ") == ["Hello ,", "world."]
    assert of('"Yes," he said.') == ['"Yes,"', "he", "said."]
    assert of("don't o'clock's 'tis ''") == ["don't", "o'clock's '", "tis ''"]
    assert of("if x:\n    (a.b)\n") == ["if", "x:", "(a.", "b)"]
    assert of("\u4e2d\u6587\u3002a\u4e2d") == ["\u4e2d", "\u6587\u3002", "a", "\u4e2d"]
    assert of("  \u3000 ") == of("") == []


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=named)
def test_first_bytes_say_what_the_scanner_takes_them_for(options):
    tables = tables_of(toy(options))
    points = np.arange(0x80, 0x110000)
    units = tables.normal_blocks.reshape(-1, 128)[tables.normal_index].reshape(-1)[0x80:]
    leads = np.select(
        [points < 0x800, points < 0x10000], [0xC0 | points >> 6, 0xE0 | points >> 12], 0xF0 | points >> 18
    )
    kinds = units & 7
    for low, high in window_words.SURE_LETTERS:
        here = kinds[(low <= leads) & (leads <= high)]
        assert not np.isin(here, [SPACE, PUNCTUATION_WORD, CHINESE_WORD]).any()
    for low, high in window_words.SURE_CHINESE:
        here = kinds[(low <= leads) & (leads <= high)]
        assert (here == CHINESE_WORD).all() == options["handle_chinese_chars"]
        assert not np.isin(here, [SPACE, PUNCTUATION_WORD]).any()
        assert options["handle_chinese_chars"] or not (here == CHINESE_WORD).any()
    # and for ASCII
    kinds = tables.normal_blocks[:128] & 7
    punctuation = set(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
    assert set(np.flatnonzero(kinds == PUNCTUATION_WORD).tolist()) == punctuation
    assert {9, 10, 13, 32} <= set(np.flatnonzero(kinds == SPACE).tolist())
