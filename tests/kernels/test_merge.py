"""Merging of pre-tokens: the symbols of the plain twin, for any merge list, length and place in the data."""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vocab_tools
from numba_nlp._jit import kernel
from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables, new_scratch
from numba_nlp.kernels.segment.merge import MERGE_SHORT_LIMIT, merge_short, new_lanes
from numba_nlp.kernels.segment.merge_long import (
    CHUNK,
    OVERLAP,
    merge_buckets,
    merge_heap,
    merge_long,
    pending_words,
)
from numba_nlp.kernels.tables.hashing import table_bits
from numba_nlp.kernels.tables.merge_table import NO_SYMBOL, _places, new_merge_table, number_bits
from numba_nlp.reference.segment.merge import merge_bytes
from numba_nlp.vocabulary import Vocabulary
from tests.shared_data import shared

BYTES = b"abcd e"


class Merges(NamedTuple):
    """A merge list for the kernels and for the twin."""

    pair_merges: np.ndarray
    merge_table: np.ndarray
    merge_pairs: np.ndarray
    merge_symbols: np.ndarray
    unique: bool
    ordered: bool
    listed: dict[tuple[int, int], tuple[int, int]]

    @property
    def arrays(self):
        return self[:4]


def make_merges(rules: list[tuple[int, int, int]]) -> Merges:
    """From (left, right, product) in order; bytes are symbols 0 to 255."""
    rights = np.array([right for _, right, _ in rules], np.int32)
    lefts = np.array([left for left, _, _ in rules], np.int32)
    products = np.array([product for _, _, product in rules], np.int32)
    pair_merges = np.full(65536, -1, np.int32)
    made_by: dict[int, int] = {}
    for number, (left, right, product) in enumerate(rules):
        if left < 256 and right < 256:
            pair_merges[left << 8 | right] = number
        made_by[product] = number
    ordered = all(
        max(made_by.get(left, -1), made_by.get(right, -1)) < number for number, (left, right, _) in enumerate(rules)
    )
    unique = products.tolist() == list(range(256, 256 + len(rules)))
    listed = {(left, right): (number, product) for number, (left, right, product) in enumerate(rules)}
    return Merges(pair_merges, *new_merge_table(lefts, rights), products, unique, ordered, listed)


@cache
def random_merges(seed: int) -> Merges:
    """Every third list is in random order; of every four, one has products that two merges make."""
    rng = random.Random(seed)
    n_rules = rng.choice((0, 1, 3, 12, 60, 300))
    symbols = list(BYTES)
    rules: dict[tuple[int, int], int] = {}
    following = 256
    for _ in range(n_rules):
        left, right = (symbols[max(rng.randrange(len(symbols)), rng.randrange(len(symbols)))] for _ in range(2))
        if (left, right) in rules:
            continue
        if seed % 4 == 3 and following > 256 and rng.random() < 0.2:
            rules[left, right] = rng.randrange(256, following)
        else:
            rules[left, right] = following
            symbols.append(following)
            following += 1
    listed = [(left, right, product) for (left, right), product in rules.items()]
    if seed % 3 == 1:
        rng.shuffle(listed)
        # products are numbered in the order of their first merge
        numbers = {symbol: symbol for symbol in range(256)}
        for _, _, product in listed:
            numbers.setdefault(product, len(numbers))
        listed = [(numbers[left], numbers[right], numbers[product]) for left, right, product in listed]
    return make_merges(listed)


def doubling(times: int) -> Merges:
    """``a`` to the power of 2, 4, 8 ..."""
    return make_merges([(97, 97, 256), *((255 + k, 255 + k, 256 + k) for k in range(1, times))])


def short(merges: Merges, data, start, n, lanes=None) -> list[int]:
    symbols, keys = new_lanes() if lanes is None else lanes
    alive = int(_short(*merges.arrays, merges.unique, data, start, n, symbols, keys))
    return [int(symbols[i]) for i in range(n) if alive >> i & 1]


@kernel
def _short(pair_merges, merge_table, merge_pairs, merge_symbols, unique, data, start, n, symbols, keys):
    return merge_short(pair_merges, merge_table, merge_pairs, merge_symbols, unique, data, start, n, symbols, keys)


def linked(symbols, following, n: int) -> list[int]:
    found, i = [], 0
    while i < n:
        found.append(int(symbols[i]))
        i = int(following[i])
    return found


def buckets(merges: Merges, data, start, n) -> list[int]:
    lists = [np.full(n, -9, np.int32) for _ in range(4)]
    n_merges = len(merges.listed)
    pending = np.zeros(pending_words(n_merges), np.uint64)
    heads, entries = np.full(n_merges, -9, np.int32), [np.full(3 * n, -9, np.int32) for _ in range(2)]
    left = merge_buckets(*merges.arrays, data, start, n, *lists, heads, pending, *entries)
    assert not pending.any()
    found = linked(*lists[:2], n)
    assert len(found) == left
    return found


def heap(merges: Merges, data, start, n) -> list[int]:
    lists = [np.full(n, -9, np.int32) for _ in range(4)]
    left = merge_heap(*merges.arrays, data, start, n, *lists, np.zeros(3 * n, np.uint64))
    found = linked(*lists[:2], n)
    assert len(found) == left
    return found


def tables_of(merges: Merges, ordered: bool) -> ByteBpeTables:
    """Tables of encoding in which ids are symbols plus one."""
    none = np.zeros(1, np.int32)
    return ByteBpeTables(
        class_index=np.zeros(1, np.uint16),
        class_blocks=np.zeros(1, np.uint8),
        pair_merges=merges.pair_merges,
        merge_table=merges.merge_table,
        merge_pairs=merges.merge_pairs,
        merge_symbols=merges.merge_symbols,
        symbol_ids=np.arange(1, 257 + max((merges.merge_symbols.max(initial=255)), 256), dtype=np.int32),
        piece_lookup=none,
        piece_bytes=np.zeros(1, np.uint8),
        piece_offsets=np.zeros(1, np.int64),
        flags=np.array([0, ordered, merges.unique], np.int64),
    )


@kernel
def _long(tables, data, start, n, scratch, ids, first):
    return merge_long(tables, data, start, n, scratch, ids, first)


def long(merges: Merges, piece: bytes, ordered: bool, capacity: int = CHUNK) -> list[int] | int:
    """Symbols of a piece by :func:`merge_long`, or its negative status."""
    data = np.frombuffer(b"x" + piece + b"a", np.uint8)
    ids = np.full(len(piece) + 3, -7, np.int32)
    scratch = new_scratch(len(merges.listed), ordered, capacity)
    n_ids = int(_long(tables_of(merges, ordered), data, 1, len(piece), scratch, ids, 2))
    assert ids[:2].tolist() == [-7, -7]
    if n_ids < 0:
        return n_ids
    assert (ids[2 + n_ids :] == -7).all()
    return [int(number) - 1 for number in ids[2 : 2 + n_ids]]


pieces = st.one_of(
    st.lists(st.sampled_from(BYTES), min_size=1, max_size=MERGE_SHORT_LIMIT).map(bytes),
    st.builds(
        lambda part, n: (bytes(part) * n)[:n],
        st.lists(st.sampled_from(BYTES), min_size=1, max_size=4),
        st.integers(1, MERGE_SHORT_LIMIT),
    ),
)
merge_lists = st.integers(0, 59).map(random_merges)


@given(merges=merge_lists, piece=pieces, before=st.integers(0, 40), after=st.integers(0, 40))
def test_every_kernel_gives_the_symbols_of_the_twin(merges, piece, before, after):
    data = np.frombuffer(b"a" * before + piece + b"b" * after, np.uint8)
    expected = merge_bytes(piece, merges.listed)
    assert short(merges, data, before, len(piece)) == expected
    assert heap(merges, data, before, len(piece)) == expected
    if merges.ordered:
        assert buckets(merges, data, before, len(piece)) == expected


@given(merges=merge_lists, found=st.lists(pieces, max_size=8))
def test_what_scratch_holds_from_earlier_does_not_matter(merges, found):
    lanes = new_lanes()
    for piece in found:
        assert short(merges, np.frombuffer(piece, np.uint8), 0, len(piece), lanes) == merge_bytes(piece, merges.listed)


def test_lists_are_of_every_kind():
    every = [random_merges(seed) for seed in range(60)]
    kinds = {(merges.ordered, merges.unique) for merges in every}
    assert kinds == {(True, True), (True, False), (False, True), (False, False)}
    assert {len(merges.listed) for merges in every} >= {0, 1}


@pytest.mark.parametrize("n", range(1, MERGE_SHORT_LIMIT + 1))
def test_runs_of_one_byte(n):
    merges = doubling(5)
    piece = b"a" * n
    expected = merge_bytes(piece, merges.listed)
    for place in (0, 4096 - n, 4096 - 3, 4096 - 17):
        # to the last byte of the data, at the end of a page and before
        data = np.frombuffer(b"b" * place + piece, np.uint8)
        assert short(merges, data, place, n) == expected
        assert buckets(merges, data, place, n) == expected
        assert heap(merges, data, place, n) == expected


@pytest.mark.parametrize("seed", range(12))
def test_wrong_guesses_are_found_out(seed):
    """Empty slots hold entries that pass the check of pairs that are not listed."""
    merges = random_merges(seed)
    if not merges.listed:
        return
    rng = random.Random(seed)
    symbols = sorted({*BYTES, *merges.merge_symbols.tolist(), NO_SYMBOL})
    size_bits, bits = table_bits(merges.merge_table.size), number_bits(len(merges.listed))
    table = merges.merge_table.copy()
    n_wrong = 0
    for _ in range(2000):
        left, right = rng.choices(symbols, k=2)
        slot, _, check = _places(np.uint64(left << 20 | right), size_bits, bits)
        if table[slot] == 0:
            table[slot] = check | rng.randrange(len(merges.listed))
            n_wrong += 1
    assert n_wrong > 0
    deceived = merges._replace(merge_table=table)
    for _ in range(20):
        piece = bytes(rng.choices(BYTES, k=rng.randint(1, MERGE_SHORT_LIMIT)))
        data = np.frombuffer(piece, np.uint8)
        expected = merge_bytes(piece, merges.listed)
        assert short(deceived, data, 0, len(piece)) == expected
        assert heap(deceived, data, 0, len(piece)) == expected


@given(merges=merge_lists, seed=st.integers(0, 2**32), n=st.sampled_from((65, 127, 128, 129, 300, 1000)))
def test_long_pieces(merges, seed, n):
    rng = random.Random(seed)
    piece = bytes(rng.choices(BYTES, k=n)) if seed % 2 else (bytes(rng.choices(BYTES, k=7)) * n)[:n]
    expected = merge_bytes(piece, merges.listed)
    assert long(merges, piece, False) == expected
    if merges.ordered:
        assert long(merges, piece, True) == expected


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("n", [CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + OVERLAP, 2 * CHUNK - OVERLAP, 3 * CHUNK])
def test_pieces_longer_than_a_stretch(n, ordered):
    rng = random.Random(n)
    for merges in (random_merges(5), random_merges(8), doubling(4)):
        for piece in (bytes(rng.choices(BYTES, k=n)), b"a" * n, (b"abc" * n)[:n]):
            # in one go, which the other tests compare with the twin
            data = np.frombuffer(piece, np.uint8)
            assert long(merges, piece, ordered) == heap(merges, data, 0, n)


def test_a_symbol_longer_than_the_overlap_takes_the_whole_piece_at_once():
    merges = doubling(11)
    n = CHUNK + 3 * OVERLAP + 5
    piece = b"a" * n
    data = np.frombuffer(piece, np.uint8)
    # symbols of 2048 bytes end where the stretch ends: nothing follows in it to go on from
    assert 2 ** (len(merges.listed)) > OVERLAP
    assert long(merges, piece, True) == -n
    assert long(merges, piece, True, capacity=n) == heap(merges, data, 0, n)
    assert long(merges, piece[:CHUNK], True) == heap(merges, data, 0, CHUNK)


@pytest.mark.parametrize("capacity", [1, 63, CHUNK - 1])
def test_too_short_lists_say_how_long_they_must_be(capacity):
    merges = random_merges(8)
    assert long(merges, b"ab" * CHUNK, True, capacity) == -CHUNK
    assert long(merges, b"ab" * 50, True, 1) == -100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2/tokenizer.json", "tiktoken/cl100k_base.tiktoken"])
def test_real_vocabularies(name):
    vocabulary: Vocabulary = vocab_tools.compile(shared(f"vocab/{name}"))
    products = vocabulary["merge_symbols"].tolist()
    listed = {
        (pair >> 20, pair & 0xFFFFF): (number, products[number])
        for number, pair in enumerate(vocabulary["merge_pairs"].tolist())
    }
    arrays = [vocabulary[part] for part in ("pair_merges", "merge_table", "merge_pairs", "merge_symbols")]
    merges = Merges(*arrays, vocabulary.metadata["unique_products"], True, listed)
    text = shared("text/udhr_all_languages.txt").read_bytes()
    rng = random.Random(0)
    for n in (*range(1, 65), 100, 300):
        for _ in range(8 if n < 40 else 2):
            start = rng.randrange(len(text) - n)
            piece = text[start : start + n]
            data = np.frombuffer(text, np.uint8)
            expected = merge_bytes(piece, listed)
            if n <= MERGE_SHORT_LIMIT:
                assert short(merges, data, start, n) == expected
            assert buckets(merges, data, start, n) == expected
            assert heap(merges, data, start, n) == expected
    long_piece = bytes(rng.choices(range(97, 123), k=3 * CHUNK))
    assert long(merges, long_piece, True) == heap(merges, np.frombuffer(long_piece, np.uint8), 0, len(long_piece))
