"""Kernels of Unigram training against their twins, which look at every string and every segmentation."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.training import suffix_array, unigram_em, unigram_prune, unigram_seeds, unigram_words
from numba_nlp.reference.training import suffix_array as plain_suffixes
from numba_nlp.reference.training import unigram_em as plain_em
from numba_nlp.reference.training import unigram_lattices as plain_lattices
from numba_nlp.reference.training import unigram_prune as plain_prune
from numba_nlp.reference.training import unigram_seeds as plain_seeds
from numba_nlp.reference.training import unigram_words as plain_words
from vocab_tools.compiler.charsmap import symbol_units
from vocab_tools.training.counts import WordCounts
from vocab_tools.training.unigram_options import TrainingOptions
from vocab_tools.training.unigram_seeding import alphabet_of, number_words, seed_pieces, sort_suffixes
from vocab_tools.training.unigram_steps import UnigramSteps, unknown_score

MARK = "\u2581"
words = st.dictionaries(st.text("ab1\u2581é", min_size=1, max_size=7), st.integers(1, 5), min_size=1, max_size=6)


def prepared(counts, limit=4, **options):
    """The first pieces of some words, and what they were made from."""
    made = WordCounts.from_items(counts)
    chosen = TrainingOptions(
        vocab_size=1000, max_sentencepiece_length=limit, character_coverage=1.0, num_threads=1, **options
    )
    alphabet = alphabet_of(made, chosen)
    corpus = number_words(made, alphabet)
    pieces = seed_pieces(corpus, alphabet, chosen)
    return SimpleNamespace(
        alphabet=alphabet, corpus=corpus, pieces=pieces, options=chosen,
        words=[(word.decode(), count) for word, count in made.items()],
    )  # fmt: skip


def texts_of(state):
    """Pieces as text, by number."""
    characters = "\0" + state.alphabet.characters
    places, lengths = state.pieces.places.tolist(), state.pieces.piece_lengths.tolist()
    codes = state.corpus.codes.tolist()
    return [
        "".join(characters[code] for code in codes[place : place + length])
        for place, length in zip(places, lengths, strict=True)
    ]


codes_of_words = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=8), min_size=1, max_size=5)


@given(codes_of_words, st.sampled_from([3, 2**20]), st.integers(1, 9))
def test_suffixes_are_sorted(parts, n_codes, limit):
    """With a large alphabet three characters fill a key, so that keys are doubled."""
    listed = [code for part in parts for code in [*part, 0]]
    codes = np.array(listed, np.int32)
    lengths = np.empty(codes.size, np.int32)
    n = int(suffix_array.measure_suffixes(codes, limit, lengths))
    assert lengths.tolist() == [
        0 if code == 0 else len(plain_suffixes.suffix(listed, place, limit)) for place, code in enumerate(listed)
    ]
    order = sort_suffixes(codes, lengths, n, n_codes, limit)
    common = np.empty(n + 1, np.int32)
    suffix_array.common_prefixes(codes, lengths, order, common)

    def beginnings(places):
        return [plain_suffixes.suffix(listed, place, limit) for place in places]

    expected = plain_suffixes.suffixes_in_order(listed, limit)
    # what is behind the limit may decide among those that are equal up to it
    assert beginnings(order.tolist()) == beginnings(expected)
    assert sorted(order.tolist()) == sorted(expected)
    assert common.tolist() == plain_suffixes.common_prefixes(listed, order.tolist(), limit)


@given(words, st.integers(1, 5), st.booleans())
def test_candidates_and_their_lattices(counts, limit, suffix):
    """All strings that several continuations follow, with their counts, and where each stands."""
    rules = {"split_by_whitespace": suffix, "treat_whitespace_as_suffix": suffix, "allow_whitespace_only_pieces": True}
    state = prepared(counts, limit, split_by_unicode_script=False, **rules)
    texts = texts_of(state)
    expected = {
        text: count * len(text)
        for text, count in plain_seeds.candidates(state.words, limit, ends_vary=suffix).items()
        if len(text) > 1 and plain_seeds.is_piece(text, lambda _: None, **rules)
    }
    assert len(set(texts)) == len(texts)
    assert {text for text in texts if len(text) > 1} == set(expected)
    assert {text for text in texts if len(text) == 1} == set("".join(counts))
    expected.update(plain_words.count_characters(state.words))
    total = sum(expected.values())
    for text, score in zip(texts, state.pieces.scores.tolist(), strict=True):
        assert score == pytest.approx(math.log(expected[text] / total))

    entries, bounds = state.pieces.entries.tolist(), state.pieces.offsets.tolist()
    found = [[texts[piece] for piece in entries[a:b]] for a, b in pairwise(bounds)]
    assert found == plain_lattices.entries_at([word for word, _ in state.words], texts)
    assert [len(texts[piece]) for piece in entries] == state.pieces.lengths.tolist()


def test_fewer_seeds_are_the_best():
    """Of "ab" (13 times) and "bc" (7 times)."""
    counts = {"abab": 5, "ab": 3, "bcb": 4, "bc": 3}
    assert set(texts_of(prepared(counts, seed_sentencepiece_size=9))) == {"a", "b", "c", "ab", "bc"}
    assert set(texts_of(prepared(counts, seed_sentencepiece_size=4))) == {"a", "b", "c", "ab"}
    assert set(texts_of(prepared(counts, seed_sentencepiece_size=1))) == {"a", "b", "c"}


SCRIPTS = {"a": "Latin", "б": "Cyrillic", "\u0301": "Inherited", "1": None, MARK: None, "あ": "Han"}
RULE_NAMES = {
    "split_by_whitespace": unigram_seeds.SPLIT_WHITESPACE,
    "treat_whitespace_as_suffix": unigram_seeds.SPACE_IS_SUFFIX,
    "allow_whitespace_only_pieces": unigram_seeds.SPACES_ALONE,
    "split_digits": unigram_seeds.SPLIT_DIGITS,
    "split_by_unicode_script": unigram_seeds.SPLIT_SCRIPTS,
}


@given(
    st.text(list(SCRIPTS), min_size=1, max_size=4), st.fixed_dictionaries({name: st.booleans() for name in RULE_NAMES})
)
def test_which_strings_may_be_pieces(text, rules):
    characters = list(SCRIPTS)
    names = ["Latin", "Cyrillic", "Han"]
    numbers = {None: unigram_seeds.ANY_SCRIPT, "Inherited": unigram_seeds.INHERITED}
    scripts = np.array([numbers[s] if s in numbers else names.index(s) for s in SCRIPTS.values()], np.int32)
    marks = np.array([1 if c == MARK else 2 if c == "1" else 0 for c in characters], np.uint8)
    codes = np.array([characters.index(character) for character in text], np.int32)
    number = sum(RULE_NAMES[name] for name, on in rules.items() if on)
    found = bool(unigram_seeds.is_piece(codes, 0, codes.size, scripts, marks, number))
    assert found == plain_seeds.is_piece(text, SCRIPTS.get, **rules)


def with_scores(state, seed):
    """Random scores, and pieces that are gone."""
    random = np.random.default_rng(seed)
    state.pieces.scores = random.uniform(-9, -1, state.pieces.scores.size)
    state.scores = dict(zip(texts_of(state), state.pieces.scores.tolist(), strict=True))
    state.steps = UnigramSteps(state.corpus, state.pieces, ThreadPoolExecutor(1))
    return state


def without(state, seed):
    """Take pieces away, characters too."""
    numbers = np.full(state.pieces.scores.size, -1, np.int32)
    kept = np.flatnonzero(np.random.default_rng(seed).random(numbers.size) < 0.7)
    kept = kept if kept.size else np.zeros(1, np.int64)
    numbers[kept] = np.arange(kept.size)
    before = texts_of(state)
    bounds, entries = state.pieces.offsets.tolist(), state.pieces.entries.tolist()
    expected = plain_lattices.keep_entries(numbers.tolist(), [entries[a:b] for a, b in pairwise(bounds)])
    state.steps._keep(numbers)
    assert texts_of(state) == [before[i] for i in kept.tolist()]
    bounds, entries = state.pieces.offsets.tolist(), state.pieces.entries.tolist()
    assert [entries[a:b] for a, b in pairwise(bounds)] == expected
    state.scores = dict(zip(texts_of(state), state.pieces.scores.tolist(), strict=True))
    return state


@given(words, st.integers(0, 2**32))
def test_expectation_and_maximisation(counts, seed):
    state = without(with_scores(prepared(counts), seed), seed)
    uses, total = plain_em.expected(state.words, state.scores, unknown_score(state.pieces.scores))
    step = state.steps.improve()
    assert step.objective == pytest.approx(-total / sum(counts.values()))
    expected = plain_em.maximise(uses, 0.5)
    if expected:
        assert dict(zip(texts_of(state), state.pieces.scores.tolist(), strict=True)) == pytest.approx(expected)


@given(words, st.integers(0, 2**32), st.booleans())
def test_sums_out_of_range_are_done_with_logarithms(counts, seed, zero):
    state = without(with_scores(prepared(counts), seed), seed)
    pieces, corpus = state.pieces, state.corpus
    unknown = unknown_score(pieces.scores)
    uses, total = plain_em.expected(state.words, state.scores, unknown)
    weights = np.full(pieces.scores.size + 1, 0.0 if zero else 1e300)
    found = np.zeros(pieces.scores.size)
    with np.errstate(over="ignore", invalid="ignore"):  # the scalars of NumPy, without the JIT
        log_total = unigram_em.add_expected(
            corpus.codes, corpus.starts, corpus.counts, 0, corpus.counts.size, pieces.character_pieces, pieces.offsets,
            pieces.entries, pieces.lengths, pieces.scores, unknown, weights, np.empty(9), np.empty(9), found,
        )  # fmt: skip
    assert log_total == pytest.approx(total)
    assert dict(zip(texts_of(state), found.tolist(), strict=True)) == pytest.approx(uses)


@given(words, st.integers(0, 2**32))
def test_losses(counts, seed):
    state = without(with_scores(prepared(counts), seed), seed)
    unknown = unknown_score(state.pieces.scores)
    expected = plain_prune.losses(state.words, state.scores, unknown)
    texts = texts_of(state)
    tables = state.steps._tables(unknown)
    uses, losses = np.zeros(len(texts), np.int64), np.empty(len(texts))
    scratch = np.empty(40), np.empty(40, np.int32), np.empty(40, np.int32)
    corpus = state.corpus
    n = unigram_prune.add_uses(
        corpus.codes, corpus.starts, corpus.counts, 0, corpus.counts.size, *tables, *scratch, uses
    )
    assert dict(zip(texts, uses.tolist(), strict=True)) == plain_prune.uses(state.words, state.scores, unknown)
    assert n >= uses.sum()
    n_uses, n_words = float(uses.sum()), float(corpus.counts.sum())
    unigram_prune.find_losses(
        corpus.codes, state.pieces.places, state.pieces.piece_lengths, 0, len(texts), *tables, uses, n_uses, n_words,
        *scratch, losses,
    )  # fmt: skip
    assert dict(zip(texts, losses.tolist(), strict=True)) == pytest.approx(expected)

    state.steps.prune(3)
    must = [text for text in texts if expected[text] == np.inf]
    best = sorted((text for text in texts if expected[text] > -np.inf), key=lambda text: -expected[text])
    assert set(texts_of(state)) == set(best[: max(3, len(must))])


@pytest.mark.parametrize(
    ("x", "expected"),
    [(1, -0.5772156649015329), (0.5, -1.9635100260214235), (2, 0.4227843350984671), (100, 4.600161852738087)],
)
def test_digamma(x, expected):
    """Values of Abramowitz and Stegun, 6.3.2, 6.3.3, 6.3.5 and table 6.1."""
    assert unigram_em.digamma(float(x)) == pytest.approx(expected, rel=1e-13)


@given(st.floats(0.01, 1e6))
def test_digamma_against_its_twin(x):
    assert unigram_em.digamma(x) == pytest.approx(plain_em.digamma(x), rel=1e-10, abs=1e-10)


rows = st.lists(st.text(f"a{MARK}b😀", max_size=8), min_size=1, max_size=4)
symbols = st.lists(st.text(f"a{MARK}b", min_size=1, max_size=3), max_size=2, unique=True)


@given(rows, st.booleans(), st.booleans(), st.booleans(), symbols)
def test_words_are_cut_and_counted(rows, split, suffix, alone, symbols):
    encoded = [row.encode() for row in rows]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)
    rules = unigram_words.SPLIT * split + unigram_words.SUFFIX * suffix + unigram_words.ALONE * alone
    starts, ends = np.empty(text.size + 1, np.int64), np.empty(text.size + 1, np.int64)
    units = symbol_units([symbol.encode() for symbol in symbols])
    n = int(unigram_words.cut_rows(text, offsets, rules, units, starts, ends))
    found = [text[a:b].tobytes().decode() for a, b in zip(starts[:n].tolist(), ends[:n].tolist(), strict=True)]
    expected = [word for row in rows for word in plain_words.cut_row(row, split, suffix, alone, symbols)]
    assert found == expected

    # a table with room for two words: what does not fit is not counted
    sizes, table, hashes = np.zeros(1, np.int64), np.full(4, -1, np.int32), np.empty(2, np.uint64)
    bounds, content, counts = np.zeros(3, np.int64), np.empty(64, np.uint8), np.empty(2, np.int64)
    done = int(unigram_words.count_words(text, starts[:n], ends[:n], 0, sizes, table, hashes, bounds, content, counts))
    assert done == n or len(set(expected[: done + 1])) == 3
    n_words = int(sizes[0])
    made = [content[bounds[i] : bounds[i + 1]].tobytes().decode() for i in range(n_words)]
    assert dict(zip(made, counts[:n_words].tolist(), strict=True)) == plain_words.count_words(expected[:done])


@given(words, st.sets(st.sampled_from("ab1"), min_size=1))
def test_words_become_numbers(counts, letters):
    made = WordCounts.from_items(counts)
    listed = [(word.decode(), count) for word, count in made.items()]
    found = np.zeros(0x110000, np.int64)
    n = int(unigram_words.count_characters(made.data, made.offsets, made.counts, found))
    assert n == sum(map(len, counts))
    places = np.flatnonzero(found)
    expected = plain_words.count_characters(listed)
    assert {chr(place): int(found[place]) for place in places} == expected

    alphabet = sorted(letters)
    numbers = np.zeros(0x110000, np.int32)
    for number, letter in enumerate(alphabet, 1):
        numbers[ord(letter)] = number
    codes, starts, part_counts = np.empty(2 * n, np.int32), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    n_codes, n_parts = map(
        int, unigram_words.fill_codes(made.data, made.offsets, made.counts, numbers, codes, starts, part_counts)
    )
    parts = [
        ("".join(alphabet[code - 1] for code in codes[starts[i] : starts[i + 1] - 1].tolist()), int(part_counts[i]))
        for i in range(n_parts)
    ]
    assert parts == plain_words.cut_to_alphabet(listed, set(alphabet))
    assert n_codes == starts[n_parts]
    assert not codes[starts[1 : n_parts + 1] - 1].any()
