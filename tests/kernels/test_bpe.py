"""Encoding of rows: the ids of the plain twin, whatever the cache holds and however the work is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.segment import bpe
from numba_nlp.kernels.segment.cached_loops import BLOCK
from numba_nlp.kernels.segment.merge_long import CHUNK
from numba_nlp.kernels.tables.word_cache import BITS, LONG_LIMIT, MISSES, SHORT_LIMIT, WIPES, new_word_cache
from numba_nlp.reference.segment import bpe as bpe_twin
from tests.bpe_cases import N_CASES, PATTERNS, as_rows, case, cases, encode, merged_texts, rows, texts

#: At and around every limit on the length of a pre-token.
LENGTHS = (
    *range(1, 19),
    *(31, 32, 33, 47, 48, 49, 63, 64, 65, 66, 127, 128, 129),
    *(LONG_LIMIT - 1, LONG_LIMIT, LONG_LIMIT + 1, 2 * LONG_LIMIT),
)


def tiny_cache():
    """So small that entries leave all the time; the arena just holds the longest pre-token that is cached."""
    cache = new_word_cache(bits=6, arena=LONG_LIMIT + 8)
    cache.fill[BITS] = 2
    return cache


@pytest.mark.parametrize("pattern", PATTERNS)
@given(case=cases, rows=rows)
def test_ids_are_those_of_the_twin(pattern, case, rows):
    cache, scratch = new_word_cache(bits=8, arena=1 << 12), case.scratch()
    expected = case.expected(pattern, rows.texts)
    for _ in range(2):
        assert encode(case, pattern, rows, cache, scratch) == expected
    assert scratch.queue_pending.sum() == 0


@given(case=cases, rows=rows, draws=st.data(), pattern=st.sampled_from(PATTERNS), out=st.integers(0, 5))
def test_some_of_the_rows(case, rows, draws, pattern, out):
    first = draws.draw(st.integers(0, len(rows.texts)))
    last = draws.draw(st.integers(first, len(rows.texts)))
    found = encode(case, pattern, rows, new_word_cache(8, 1 << 12), case.scratch(), first, last, out)
    assert found == case.expected(pattern, rows.texts[first:last])


@given(case=cases, batches=st.lists(rows, max_size=6), pattern=st.sampled_from(PATTERNS))
def test_a_cache_that_forgets_changes_nothing(case, batches, pattern):
    cache, scratch = tiny_cache(), case.scratch()
    for batch in (*batches, *batches):
        assert encode(case, pattern, batch, cache, scratch) == case.expected(pattern, batch.texts)


@given(case=cases, rows=rows, pattern=st.sampled_from(PATTERNS), capacity=st.integers(1, 40))
def test_work_goes_on_with_longer_lists(case, rows, pattern, capacity):
    cache = new_word_cache(bits=4, arena=LONG_LIMIT + 8)
    assert encode(case, pattern, rows, cache, case.scratch(capacity)) == case.expected(pattern, rows.texts)


@pytest.mark.parametrize("number", range(N_CASES))
def test_lengths_at_the_limits(number):
    vocabulary = case(number)
    for unit in ("t", "the", "an", "\u00e9", "\u65e5a", "ethand's1"):
        parts = []
        for length in LENGTHS:
            text = (unit * length).encode()[:length].decode(errors="ignore")
            parts.append((text, ""))
            parts.append((text[:-1] + "s", "\n"))
        batch = as_rows(parts)
        cache, scratch = new_word_cache(bits=10, arena=1 << 15), vocabulary.scratch()
        expected = vocabulary.expected("whole", batch.texts)
        for _ in range(2):
            assert encode(vocabulary, "whole", batch, cache, scratch) == expected


def test_vocabularies_are_of_every_kind():
    every = [case(number) for number in range(N_CASES)]
    assert {vocabulary.ordered for vocabulary in every} == {True, False}
    assert {bool(vocabulary.tables.flags[0]) for vocabulary in every} == {True, False}
    assert {bool(vocabulary.vocabulary.metadata["unique_products"]) for vocabulary in every} == {True, False}
    assert {bool(vocabulary.whole_pieces) for vocabulary in every} == {True, False}
    assert not every[0].merges


@given(case=cases, text=merged_texts)
def test_more_spans_than_a_block(case, text):
    batch = as_rows([(text + "e t\n" * BLOCK + text, ""), (text, ""), ("e" * 5, "")] + [("n", "")] * (2 * BLOCK))
    assert encode(case, "gpt2", batch, tiny_cache(), case.scratch()) == case.expected("gpt2", batch.texts)


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_a_row_that_ends_with_its_block(extra):
    vocabulary = case(4)
    batch = as_rows(
        [(" e" * (BLOCK + extra), ""), (" t", ""), ("", ""), (7, ""), (8, ""), (" t" * BLOCK, ""), ("", "")]
    )
    found = encode(vocabulary, "gpt2", batch, tiny_cache(), vocabulary.scratch())
    assert found == vocabulary.expected("gpt2", batch.texts)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nothing_to_do(pattern):
    vocabulary = case(3)
    for batch in (as_rows([]), as_rows([("", "")] * 3), as_rows([("", "the"), (5, ""), ("", "")])):
        cache = tiny_cache()
        found = encode(vocabulary, pattern, batch, cache, vocabulary.scratch())
        assert found == vocabulary.expected(pattern, batch.texts)
        assert cache.fill[MISSES] == 0


@given(case=cases, text=texts.filter(bool))
def test_what_was_seen_is_not_merged_again(case, text):
    # lists of this length never have to grow, so that no row is begun again
    cache, scratch = new_word_cache(bits=13, arena=1 << 14), case.scratch(CHUNK)
    batch = as_rows([(text, "")])
    pieces = plain_pieces(case, text)
    cached = {piece for piece in pieces if len(piece) <= LONG_LIMIT}
    n_too_long = sum(len(piece) > LONG_LIMIT for piece in pieces)
    for turn in (1, 2):
        encode(case, "gpt2", batch, cache, scratch)
        assert cache.fill[MISSES] == len(cached) + turn * n_too_long
    assert cache.fill[WIPES] == 0


def plain_pieces(case, text):
    return [piece.encode() for piece in bpe_twin._pre_tokens("gpt2", *case.tables[:2], text)]


def test_the_longest_short_chunk_and_the_shortest_long_one():
    vocabulary = case(2)
    for length, in_short in ((SHORT_LIMIT, True), (SHORT_LIMIT + 1, False)):
        cache = new_word_cache(bits=4, arena=1 << 10)
        encode(vocabulary, "whole", as_rows([("t" * length, "")]), cache, vocabulary.scratch())
        assert cache.entries[1::4].any()
        assert bool(cache.arena_bytes.any()) is not in_short


def test_largest_ids_pass_through_the_packed_entries():
    vocabulary = case(5)
    top = 2**28 - 1
    symbol_ids = top - np.arange(vocabulary.tables.symbol_ids.size, dtype=np.int32)
    symbol_ids.flags.writeable = False
    # the twin numbers its symbols in the same order: bytes, then products by their first merge
    changed = vocabulary._replace(
        tables=vocabulary.tables._replace(symbol_ids=symbol_ids),
        symbol_ids={symbol: int(symbol_ids[symbol]) for symbol in vocabulary.symbol_ids},
    )
    batch = as_rows([("the and\n" * 3 + "".join(chr(i) for i in range(1, 128)), ""), ("\u65e5" * 20, "")])
    expected = changed.expected("cl100k", batch.texts)
    assert max(map(max, expected)) == top - 1
    cache = tiny_cache()
    for _ in range(3):
        assert encode(changed, "cl100k", batch, cache, changed.scratch()) == expected


def test_every_pattern_is_there():
    assert set(bpe.FILLS) == set(bpe.ENCODE_ROWS) == set(PATTERNS)
    assert len(PATTERNS) == 8
