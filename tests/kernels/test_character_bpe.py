"""Character BPE against its twin: merging in every way, vocabulary filter, words, spans, decoding, dropout."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.character_text import encode_with_dropout, segment_texts
from numba_nlp.kernels.segment.decode_character import choose_last_forms, finish_rows
from numba_nlp.kernels.segment.join_passes import join_in_passes
from numba_nlp.kernels.segment.merge_list import start_list
from numba_nlp.kernels.tables.merge_table import new_merge_table
from numba_nlp.reference.segment import character_rows as rows_twin
from numba_nlp.reference.segment import character_spans as spans_twin
from numba_nlp.reference.segment import decode_character as decode_twin
from numba_nlp.reference.segment import join_passes as passes_twin
from numba_nlp.reference.segment.character_words import space_words, white_words
from numba_nlp.reference.segment.dropout import Stream
from numba_nlp.vocabulary import Vocabulary
from tests.character_cases import code_lines, plan_of, texts, write_codes
from vocab_tools.compiler.character_bpe import build_arrays
from vocab_tools.formats import subword_codes

VERSIONS = st.sampled_from(("0.1", "0.2"))


@st.composite
def codes(draw):
    """Description of random codes, with a vocabulary filter or without."""
    version = draw(VERSIONS)
    lines = draw(code_lines(version == "0.1"))
    with tempfile.TemporaryDirectory() as folder:
        path = write_codes(Path(folder), lines, version)
        described = subword_codes.read(path)
        if draw(st.booleans()):
            tokens = draw(st.lists(st.sampled_from(sorted(described.vocabulary)), min_size=1, unique=True))
            vocabulary = Path(folder) / "vocab.txt"
            vocabulary.write_text("".join(f"{token} {number}\n" for number, token in enumerate(tokens)))
            described = subword_codes.read(path, vocabulary=vocabulary, vocabulary_threshold=draw(st.integers(0, 2)))
    return described


@given(codes(), st.lists(texts, min_size=1, max_size=4))
def test_codes_as_the_twin(described, rows):
    tokenizer = nlp.Tokenizer(Vocabulary(*build_arrays(described)))
    plan = plan_of(described)
    expected = [spans_twin.encode_text(plan, row, space_words(row)) for row in rows]
    found = tokenizer.encode_batch(rows, spans=True)
    for number, tokens in enumerate(expected):
        part = slice(found.offsets[number], found.offsets[number + 1])
        assert list(zip(found.values[part], found.starts[part], found.ends[part], strict=True)) == tokens
        assert tokenizer.encode(rows[number]).tolist() == [token.id for token in tokens]
    assert segment_texts(tokenizer, rows) == [rows_twin.segment_row(plan, row, "@@") for row in rows]
    without = encode_with_dropout(tokenizer, rows, 0.0)
    assert np.array_equal(without.values, found.values)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(("a", "b", "ab", "ba", "aa")), st.sampled_from(("a", "b", "ab", "b.", "ab."))),
        st.integers(1, 4),
        min_size=1,
    ),
    st.text("aabb \u3000\tx", max_size=20),
)
def test_pairs_with_equal_frequencies_as_the_twin(pairs, text):
    described = subword_codes.describe_pairs(pairs, end_of_word=".")
    tokenizer = nlp.Tokenizer(Vocabulary(*build_arrays(described)))
    tokens = spans_twin.encode_text(plan_of(described), text, white_words(text, False))
    ids, starts, ends = tokenizer.encode(text, spans=True)
    assert list(zip(ids, starts, ends, strict=True)) == tokens


@given(st.integers(60, 300), st.integers(0, 2))
def test_words_longer_than_the_lanes(n, number):
    pairs = [{"a a": 3, "aa aa": 2}, {"a b": 1}, {"b a": 5, "ba ba": 5}][number]
    described = subword_codes.describe_pairs(pairs)
    text = ("ab" if number else "a") * n
    tokens = spans_twin.encode_text(plan_of(described), text, [(0, len(text))])
    tokenizer = nlp.Tokenizer(Vocabulary(*build_arrays(described)))
    assert tokenizer.encode(text).tolist() == [token.id for token in tokens]


def test_words_longer_than_the_scratch():
    tokenizer = nlp.Tokenizer(Vocabulary(*build_arrays(subword_codes.describe_pairs({"a a": 2, "aa aa": 1}))))
    ids, starts, ends = tokenizer.encode("a" * 20_002, spans=True)
    assert ids.size == 5_001
    assert (ends - starts).tolist() == [4] * 5_000 + [2]
    assert encode_with_dropout(tokenizer, ["a" * 9_000], 1.0).values.size == 9_000


def test_line_ends_within_long_rows(tmp_path):
    tokenizer = nlp.load_tokenizer(write_codes(tmp_path, ["a b</w>"], "0.2"))
    # more words than are cut at once: line ends at the ends go, within the row they are words
    words = [" ".join(["ab", "\n", "\r\n"] * 300), "\n " + " ".join(["x\n"] * 300) + " \r\n"]
    expected = [[row[a:b] for a, b in space_words(row)] for row in words]
    assert [text.replace("@@ ", "").split(" ") for text in segment_texts(tokenizer, words)] == expected
    found = tokenizer.encode_batch(words, spans=True)
    assert [row.tolist() for row in found] == [tokenizer.encode(row, spans=True)[0].tolist() for row in words]


@given(st.data(), st.sampled_from((0.0, 0.2, 0.7, 1.0)))
def test_passes_as_the_twin(data, probability):
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    following = 4
    for _ in range(data.draw(st.integers(1, 10))):
        pair = data.draw(st.tuples(st.integers(0, following - 1), st.integers(0, following - 1)))
        if pair not in merges:
            merges[pair] = (0, following)
            following += 1
    order = data.draw(st.permutations(sorted(merges)))
    merges = {pair: (rank, merges[pair][1]) for rank, pair in enumerate(order)}
    symbols = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30))
    seed = data.draw(st.integers(0, 2**64 - 1))
    n = len(symbols)
    table, pairs = new_merge_table(*(np.array(side, np.int32) for side in zip(*merges, strict=True)))
    lists = [np.array(symbols, np.int32), *(np.full(n, -9, np.int32) for _ in range(3))]
    start_list(table, pairs, n, *lists)
    products = np.array([product for _, product in merges.values()], np.int32)
    state = np.array([seed, 3, 0], np.uint64)
    left = join_in_passes(
        table, pairs, products, products[:0], probability, n, state, *lists, np.zeros(3 * n, np.uint64),
        np.zeros(3 * n, np.uint64),
    )  # fmt: skip
    found, i = [], 0
    while i < n:
        found.append(int(lists[0][i]))
        i = int(lists[1][i])
    random = Stream(seed, 3)
    assert found == passes_twin.join_in_passes(symbols, merges, probability, random)
    assert len(found) == left
    assert state[2] == random.drawn


@given(st.lists(st.lists(st.integers(-1, 4), max_size=5), max_size=4), st.integers(0, 1))
def test_last_forms_as_the_twin(rows, skip_special):
    kinds = np.array([0, 2, 3, 2], np.uint8)
    ids = np.array([one for row in rows for one in row], np.int32)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    forms, expected = np.zeros(ids.size, np.int32), np.zeros(ids.size, np.int32)
    assert choose_last_forms(kinds, ids, offsets, skip_special, forms) == len(rows)
    decode_twin.choose_last_forms(kinds, ids, offsets, skip_special, expected)
    assert forms.tolist() == expected.tolist()


@given(
    st.lists(st.text("ab</w> \n\x1c\x85\xa0\u1680\u2003\u3000é日", max_size=12), max_size=4),
    st.sampled_from(("", "</w>")),
    st.booleans(),
)
def test_finishing_as_the_twin(rows, suffix, strips):
    contents = [row.encode() for row in rows]
    data = np.frombuffer(b"".join(contents) + b"  ", np.uint8).copy()
    ends = np.cumsum([0, *map(len, contents)], dtype=np.int64)
    n = finish_rows(data, ends, np.frombuffer(suffix.encode(), np.uint8), int(strips))
    found = [data[a:b].tobytes().decode() for a, b in pairwise(ends.tolist())]
    assert found == [decode_twin.finish_row(row, suffix, strips) for row in rows]
    assert n == ends[-1]


def test_dropout_depends_on_seed_and_place_only():
    tokenizer = nlp.Tokenizer(Vocabulary(*build_arrays(subword_codes.describe_pairs({"a b": 9, "ab ab": 3}))))
    rows = ["abababab abab"] * 40
    first = encode_with_dropout(tokenizer, rows, 0.5, seed=1)
    assert [row.tolist() for row in encode_with_dropout(tokenizer, rows[:7], 0.5, seed=1)] == [
        row.tolist() for row in first[:7]
    ]
    assert first.values.tolist() != encode_with_dropout(tokenizer, rows, 0.5, seed=2).values.tolist()
    assert len({tuple(row.tolist()) for row in first}) > 5
    for wrong in (-0.1, 1.5, True):
        with pytest.raises((TypeError, ValueError), match="`probability` must be a number from 0 to 1"):
            encode_with_dropout(tokenizer, rows, wrong)
    with pytest.raises(ValueError, match="seed"):
        encode_with_dropout(tokenizer, rows, 0.5, seed=-1)
