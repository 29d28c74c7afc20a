"""WordPiece: words, texts and rows as the plain twin encodes them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment.wordpiece import encode_rows_wordpiece, encode_words, next_word, segment
from numba_nlp.kernels.segment.wordpiece_memory import new_scratch
from numba_nlp.kernels.tables.word_cache import MISSES, SPARE_IDS, new_word_cache
from numba_nlp.reference.segment import wordpiece as plain
from tests.wordpiece_cases import (
    ALL_OPTIONS,
    ALPHABET,
    CASED,
    PIECES,
    UNCASED,
    Case,
    byte_array,
    encode_rows,
    encode_spans,
    pieces_of,
    tables_of,
    toy,
)

TABLES = [tables_of(toy(options, limit)) for options, limit in zip(ALL_OPTIONS, (100, 0, 1, 3) * 4, strict=True)]
UNKNOWN = PIECES.index("[UNK]")
words = st.text("abz019AB\u4e2d\u3042e\u0301", min_size=1, max_size=12)
texts = st.lists(st.one_of(st.sampled_from(ALPHABET), words), max_size=20).map("".join)


@given(st.sampled_from(TABLES), words, st.booleans())
def test_one_word(tables, word, with_ends):
    data = byte_array(f"x{word}x")
    ids = np.full(len(word) + 3, -7, np.int32)
    ends = np.full(ids.size if with_ends else 0, -7, np.int32)
    out = segment(tables, data, 1, data.size - 1, len(word), ids, ends, 2)
    expected = plain.segment(pieces_of(tables), word.encode())
    assert ids[:out].tolist() == [-7, -7, *(token.id for token in expected)]
    if with_ends:
        assert ends[:out].tolist() == [-7, -7, *(token.end + 1 for token in expected)]


@given(st.sampled_from(TABLES), texts)
def test_texts_and_spans(tables, text):
    content = text.encode()
    expected = plain.encode_words(tables, pieces_of(tables), content, 0, len(content))
    places = [len(content[:at].decode(errors="ignore")) for at in range(len(content) + 1)]
    assert encode_spans(tables, text) == [(token.id, places[token.start], places[token.end]) for token in expected]


@given(st.sampled_from(TABLES), st.lists(texts, max_size=6))
def test_rows_through_the_cache(tables, rows):
    expected = plain.encode_rows_wordpiece(tables, pieces_of(tables), rows)
    cache = new_word_cache(8, 1 << 12)
    assert encode_rows(tables, rows, cache) == expected
    assert encode_rows(tables, rows, cache) == expected


def test_chunks_without_ids_and_long_ones():
    """Deleted characters only, a chunk of more than 512 bytes, more ids than a cache entry holds."""
    tables = tables_of(toy())
    rows = ["\x00", "\x00" * 20, "a" * 100, "a" * 101, "." * 600, "abz" * 40, "a.,'-#[]$", " " * 200, "a \x7f b"]
    cache = new_word_cache(8, 1 << 12)
    expected = plain.encode_rows_wordpiece(tables, pieces_of(tables), rows)
    for _ in range(3):
        assert encode_rows(tables, rows, cache) == expected
    assert expected[:2] == [[], []]
    assert expected[3] == expected[5] == [UNKNOWN]
    assert cache.fill[MISSES] > 0


def test_rows_with_ids_in_place_of_text():
    tables = tables_of(toy())
    data = byte_array("abz a")
    data_starts, data_ends = np.array([0, 0, 4]), np.array([3, 0, 5])
    fixed = np.array([-1, 77, -1], np.int32)
    ids, offsets = np.zeros(4 + SPARE_IDS, np.int32), np.zeros(4, np.int64)
    cache, scratch = new_word_cache(8, 1 << 12), new_scratch()
    for array in (data_starts, data_ends, fixed):
        array.flags.writeable = False
    n = encode_rows_wordpiece(tables, cache, data, data_starts, data_ends, fixed, 0, 3, scratch, ids, offsets, 0)
    assert ids[:n].tolist() == [PIECES.index("abz"), 77, PIECES.index("a")]
    assert offsets.tolist() == [0, 1, 2, 3]


def test_words_longer_than_the_scratch():
    """Only a vocabulary that allows very long words needs more memory; the answer says how much."""
    text = "ab " + "ab" * 30 + " ab"
    endless = tables_of(toy(max_characters=10**12))
    data = byte_array(text)
    ids, none = np.zeros(data.size, np.int32), np.zeros(0, np.int64)
    assert encode_words(endless, data, 0, data.size, new_scratch(8), ids, none, none, 0) == -data.size
    assert encode_spans(endless, text, new_scratch(data.size)) == encode_spans(tables_of(toy()), text)
    # a word is unknown by its first characters
    assert [token[0] for token in encode_spans(tables_of(toy(max_characters=8)), text, new_scratch(8))][1] == UNKNOWN

    starts, ends = np.array([0]), np.array([data.size])
    fixed, offsets = np.zeros(0, np.int32), np.zeros(2, np.int64)
    for array in (starts, ends, fixed):
        array.flags.writeable = False
    ids, scratch = np.zeros(data.size + SPARE_IDS, np.int32), new_scratch(8)
    n = encode_rows_wordpiece(
        endless, new_word_cache(8, 1 << 12), data, starts, ends, fixed, 0, 1, scratch, ids, offsets, 0
    )
    assert n == -60
    assert scratch.progress[:2].tolist() == [0, 0]


def test_spans_of_an_unknown_word_with_too_many_characters():
    tables = tables_of(toy(max_characters=3))
    assert encode_spans(tables, " \u00e9abab, z") == [(UNKNOWN, 1, 6), (PIECES.index(","), 6, 7), (7, 8, 9)]


def test_reordered_marks_keep_their_places():
    """A token's span holds all characters that it came from, also when marks changed places."""
    tables = tables_of(toy(UNCASED))
    text = "x\u302e\u1b44"
    assert encode_spans(tables, text) == [(UNKNOWN, 0, 3)]
    data = byte_array(text)
    out, starts, ends = np.zeros(20, np.uint8), np.zeros(20, np.int32), np.zeros(20, np.int32)
    position, n, n_characters = next_word(tables, data, 0, data.size, 0, out, starts, ends)
    assert (position, n_characters) == (data.size, 3)
    assert out[:n].tobytes().decode() == "x\u1b44\u302e"
    assert starts[:n].tolist() == [0, 4, 4, 4, 1, 1, 1]
    assert ends[:n].tolist() == [1, 7, 7, 7, 4, 4, 4]


def test_other_prefixes():
    """An empty prefix, one that text can hold, and pieces that are just the prefix."""
    for prefix in ("", "@", "\u2581\u2581"):
        vocabulary = {"[UNK]": 0, "a": 1, f"{prefix}b": 2, prefix or "c": 3, f"{prefix}bc": 4}
        tables = tables_of(Case(vocabulary, CASED, prefix=prefix))
        assert [token[0] for token in encode_spans(tables, "ab abc abb")] == [1, 2, 1, 4, 1, 2, 2]
        assert pieces_of(tables).further[b"bc"] == 4
        assert b"" not in pieces_of(tables).further
