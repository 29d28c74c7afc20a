from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.training import count_pairs, merge_memory, merge_queue, pair_table
from numba_nlp.reference.training import count_pairs as pairs_twin
from numba_nlp.reference.training import learn_merges as twin
from numba_nlp.reference.training import merge_queue as queue_twin
from numba_nlp.reference.training import pair_table as table_twin
from vocab_tools.training import _merging

LETTERS = [b"a", b"b", b"c"]
#: Words of three letters: texts are made twice, by different pairs, all the time.
corpora = st.dictionaries(st.lists(st.integers(0, 2), max_size=9).map(tuple), st.integers(1, 4), max_size=10)


def arrays_of(words: list[tuple[int, ...]], counts: list[int]) -> merge_memory.TrainingWords:
    lengths = np.array([len(word) for word in words], np.int32)
    return merge_memory.TrainingWords(
        np.array([symbol for word in words for symbol in word], np.int32),
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])[: len(words)].astype(np.int64),
        lengths,
        np.array(counts, np.int64),
    )


def learn(corpus: dict[tuple[int, ...], int], tokens: list[bytes] = LETTERS, **options):
    given_options = {
        "rule": merge_memory.RULE_COUNTS,
        "most_tokens": None,
        "most_merges": None,
        "min_frequency": 0,
        "max_length": None,
        "prefix": b"",
        "progress": False,
    } | options
    words = arrays_of(list(corpus), list(corpus.values()))
    learned = _merging.learn(tokens, [1] * len(tokens), words, **given_options)
    return learned.tokens, [tuple(merge) for merge in learned.merges.tolist()]


@given(
    corpus=corpora, most=st.integers(0, 40), frequency=st.integers(0, 4), length=st.one_of(st.none(), st.integers(0, 7))
)
def test_merges_are_those_of_tokenizers(corpus, most, frequency, length):
    tokens = list(LETTERS)
    merges = twin.learn_as_tokenizers(
        list(corpus), list(corpus.values()), tokens, most_tokens=most, frequency=frequency, length=length
    )
    assert learn(corpus, most_tokens=most, min_frequency=frequency, max_length=length) == (tokens, merges)


@given(corpus=corpora, most=st.integers(0, 40))
def test_a_prefix_is_taken_off_the_right_part(corpus, most):
    """Also where a token is the prefix itself, so that a merge makes its own left part."""
    begin = [b"#", b"##", b"##a"]
    tokens = list(begin)
    merges = twin.learn_as_tokenizers(list(corpus), list(corpus.values()), tokens, most_tokens=most, prefix=b"##")
    assert learn(corpus, begin, most_tokens=most, prefix=b"##") == (tokens, merges)


@given(corpus=corpora, most=st.integers(0, 30), frequency=st.integers(0, 4))
def test_merges_are_those_of_subword_nmt(corpus, most, frequency):
    tokens = list(LETTERS)
    merges = twin.learn_as_subword_nmt(
        list(corpus), list(corpus.values()), tokens, most_merges=most, frequency=frequency
    )
    found = learn(corpus, rule=merge_memory.RULE_CODES, most_merges=most, min_frequency=frequency)
    assert found == (tokens, merges)


@given(corpus=st.dictionaries(st.lists(st.integers(0, 7), max_size=5).map(tuple), st.integers(1, 9), max_size=8))
def test_counting_anew_gives_the_same_where_no_text_is_made_twice(corpus):
    letters = [bytes([byte]) for byte in b"abcdefgh"]
    tokens = list(letters)
    merges = twin.learn_naively(list(corpus), list(corpus.values()), tokens, 30)
    is_simple = len({new for *_, new in merges}) == len(merges)
    has_runs = any(left == right for left, right, _ in merges)
    if is_simple and not has_runs:
        assert learn(corpus, letters, most_tokens=30) == (tokens, merges)


@given(
    changes=st.lists(
        st.tuples(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 3)), st.integers(-9, 9)), max_size=30
    )
)
def test_pairs_are_counted_in_tables_that_grow(changes):
    slots, none = pair_table.new_pair_slots(6), np.zeros(0, np.int32)
    n = 0
    for (left, right), change in changes:
        n += pair_table.add_to_pair(slots, pair_table.pair_key(left, right), change)
    expected = table_twin.add_pairs(changes)
    larger = pair_table.new_pair_slots(8)
    assert pair_table.move_pairs(slots, none, larger, none) == n == len(expected)
    for table in (slots, larger):
        for (left, right), count in expected.items():
            assert pair_table.pair_count(table, pair_table.pair_key(left, right)) == count
    assert pair_table.pair_count(larger, pair_table.pair_key(5, 4)) == 0


@pytest.mark.parametrize("rule", [merge_memory.RULE_COUNTS, merge_memory.RULE_CODES])
def test_arrays_grow_in_the_middle(rule, monkeypatch):
    """The same merges as with room enough, from arrays that are full at once."""
    rng = np.random.default_rng(5)
    corpus = {tuple(rng.integers(0, 3, size).tolist()): 1 + size % 3 for size in range(1, 60)}
    options = {"rule": rule, "most_merges": 150}
    expected = learn(corpus, **options)
    grown: list[int] = []
    original = _merging._grown
    monkeypatch.setattr(_merging, "_grown", lambda *given: grown.append(given[2]) or original(*given))
    monkeypatch.setattr(_merging, "_FIRST_PAIR_BITS", 1)
    for name in ("_SPARE_ENTRIES", "_SPARE_BYTES", "_FIRST_MERGES"):
        monkeypatch.setattr(_merging, name, 0)
    n_symbols = sum(map(len, corpus))
    monkeypatch.setattr(
        _merging,
        "new_memory",
        lambda bits, entries, positions, merges, **more: merge_memory.new_memory(
            bits, entries, positions - 2 * n_symbols, merges, **more
        ),
    )
    assert learn(corpus, **options) == expected
    assert {
        merge_memory.FULL_BYTES,
        merge_memory.FULL_ENTRIES,
        merge_memory.FULL_MERGES,
        merge_memory.FULL_PAIRS,
        merge_memory.FULL_POSITIONS,
    } == set(grown)


@given(corpus=corpora)
def test_words_of_each_pair(corpus):
    words = arrays_of(list(corpus), list(corpus.values()))
    slots, n_pairs = _merging._count_pairs(words)
    n_slots = slots.size // 2
    last, n_words = np.full(n_slots, -1, np.int32), np.zeros(n_slots, np.int64)
    n_places = count_pairs.count_places(words, slots, last, n_words)
    places = pairs_twin.places_of(list(corpus))
    assert n_places == sum(map(len, places.values()))
    memory = merge_memory.new_memory(1, n_pairs + 1, n_places + 1, 1, keeps_entries=False)._replace(slots=slots)
    state = np.zeros(merge_memory.State.SIZE, np.int64)
    last[:] = -1
    assert count_pairs.fill_places(words, n_words, last, memory, TOKENS, 0, state) == n_pairs
    found = {}
    for entry in range(n_pairs):
        pair = divmod(int(memory.keys[entry]), 2**32)
        found[pair] = memory.positions[memory.firsts[entry] : memory.stops[entry]].tolist()
        assert memory.counts[entry] == pairs_twin.count_pairs(list(corpus), list(corpus.values()))[pair]
    assert found == places


#: Texts by which ties are decided: the second begins as the first does.
TEXTS = [b"ab", b"abc", b"b", b""]
TOKENS = merge_memory.Tokens(
    np.frombuffer(b"".join(TEXTS), np.uint8),
    np.array([0, 2, 5, 6, 6]),
    np.zeros(4, np.int32),
    np.full(8, -1, np.int32),
    np.zeros(0, np.uint8),
)


@given(entries=st.lists(st.tuples(st.integers(0, 40), st.tuples(st.integers(0, 3), st.integers(0, 3))), max_size=30))
@pytest.mark.parametrize("rule", [merge_memory.RULE_COUNTS, merge_memory.RULE_CODES])
def test_entries_come_out_in_order(rule, entries):
    memory = merge_memory.new_memory(1, len(entries) + 1, 1, 1, keeps_entries=False)
    state = np.zeros(merge_memory.State.SIZE, np.int64)
    state[merge_memory.State.THRESHOLD] = 50
    for number, (count, (left, right)) in enumerate(entries):
        memory.counts[number], memory.keys[number] = count, pair_table.pair_key(left, right)
        merge_queue.push_entry(memory, TOKENS, rule, state, number)
    left_over = dict(enumerate(entries))
    while left_over:
        assert merge_queue.refill_queue(memory, TOKENS, rule, state) > 0
        numbers = list(left_over)
        first = queue_twin.first_of(list(left_over.values()), TEXTS if rule == merge_memory.RULE_CODES else None)
        assert merge_queue.pop_entry(memory, TOKENS, rule, state) == numbers[first]
        del left_over[numbers[first]]
    assert merge_queue.refill_queue(memory, TOKENS, rule, state) == 0
