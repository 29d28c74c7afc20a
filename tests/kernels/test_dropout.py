"""BPE-dropout: the steps of the plain twin with the same random numbers; none and all of it; frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import numba_nlp as nlp
from numba_nlp.kernels.segment.bpe_memory import ByteBpeTables
from numba_nlp.kernels.segment.bpe_memory import new_scratch as new_byte_scratch
from numba_nlp.kernels.segment.dropout import (
    DROP_EACH_STEP,
    DROP_ONCE,
    join_with_dropout,
    merge_piece_with_dropout,
    segment_with_dropout,
)
from numba_nlp.kernels.segment.merge_list import start_list
from numba_nlp.kernels.segment.sentencepiece_bpe_memory import new_scratch
from numba_nlp.kernels.tables.merge_table import new_merge_table
from numba_nlp.reference.segment import dropout as twin
from numba_nlp.reference.segment import dropout_rows as rows_twin
from numba_nlp.reference.segment import merge_list as merge_twin
from numba_nlp.reference.segment import sentencepiece_bpe as segment_twin
from numba_nlp.reference.segment.dropout import Stream
from numba_nlp.reference.segment.word_numbers import word_lengths
from tests.dropout_models import listed_bpe, prefixed_bpe, scored_bpe, suffixed_bpe
from tests.sentencepiece_models import CHARACTERS, model_of, random_model, tokens
from tests.toy_vocabulary import MERGES, SPECIALS, toy_vocabulary

RULES = [DROP_ONCE, DROP_EACH_STEP]
probabilities = st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0))


@st.composite
def ranked_merges(draw):
    """Merges of six symbols and of earlier products, some of equal rank."""
    merges: dict[tuple[int, int], tuple[int, int]] = {}
    following = 6
    for _ in range(draw(st.integers(1, 12))):
        pair = draw(st.tuples(st.integers(0, following - 1), st.integers(0, following - 1)))
        if pair not in merges:
            product = draw(st.integers(6, following))
            following = max(following, product + 1)
            merges[pair] = (draw(st.integers(0, 5)), product)
    return dict(sorted(merges.items(), key=lambda item: item[1][0]))


def state_of(seed: int, stream: int = 0):
    return np.array([seed, stream, 0], np.uint64)


def by_kernel(symbols, merges, rule, probability, state):
    n = len(symbols)
    table, pairs = new_merge_table(*(np.array(side, np.int32) for side in zip(*merges, strict=True)))
    lists = [np.array(symbols, np.int32), *(np.full(n, -9, np.int32) for _ in range(3))]
    start_list(table, pairs, n, *lists)
    ranks, products = (np.array(column, np.int32) for column in zip(*merges.values(), strict=True))
    heap, dropped = np.zeros(3 * n, np.uint64), np.zeros(3 * n, np.uint64)
    left = join_with_dropout(table, pairs, products, ranks, rule, probability, n, state, *lists, heap, dropped)
    found, i = [], 0
    while i < n:
        found.append(int(lists[0][i]))
        i = int(lists[1][i])
    assert len(found) == left
    return found


@given(
    merges=ranked_merges(),
    symbols=st.lists(st.integers(0, 5), min_size=1, max_size=30),
    rule=st.sampled_from(RULES),
    probability=probabilities,
    seed=st.integers(0, 2**64 - 1),
)
def test_join_with_dropout(merges, symbols, rule, probability, seed):
    state, stream = state_of(seed, 7), Stream(seed, 7)
    got = by_kernel(symbols, merges, rule, probability, state)
    assert got == twin.join_with_dropout(symbols, merges, rule, probability, stream)
    assert int(state[2]) == stream.drawn
    if probability == 0:
        assert got == merge_twin.merge_symbols(symbols, merges)
    if probability == 1:
        assert got == symbols


def sampled(tables, text, rule, probability, state, capacity=4096):
    data = np.frombuffer(text.encode(), np.uint8)
    scratch = new_scratch(capacity)
    ids, ends = np.zeros(data.size + 1, np.int32), np.zeros(data.size + 1, np.int64)
    dropped = np.zeros_like(scratch.heap)
    last = segment_with_dropout(tables, data, 0, data.size, rule, probability, state, scratch, dropped, ids, ends, 0)
    return last if last < 0 else list(zip(ids[:last].tolist(), ends[:last].tolist(), strict=True))


@given(seed=st.integers(0, 119), text=st.text(CHARACTERS, max_size=60), rule=st.sampled_from(RULES))
def test_segment_without_and_with_full_dropout(seed, text, rule):
    model = random_model(seed)
    tables = model.tables(every_split=True)
    exact = segment_twin.segment(text, model.texts, model.unknown, model.byte_ids)
    assert sampled(tables, text, rule, 0.0, state_of(1)) == exact
    # the table of every split gives what that of the splits met gives
    assert tokens(tables, text) == exact
    apart = {piece: about for piece, about in model.texts.items() if len(piece) == 1 or about.kind == 3}
    characters = segment_twin.segment(text, apart, model.unknown, model.byte_ids)
    assert sampled(tables, text, rule, 1.0, state_of(1)) == characters


@pytest.mark.parametrize("rule", RULES)
def test_tokens_tile_the_text(rule):
    model = model_of([(c, -9.0, 0) for c in "abc"] + [("ab", -1.0, 0), ("bc", -2.0, 0), ("abc", -3.0, 0)])
    tables = model.tables(every_split=True)
    text = "abcabc" * 20
    seen = set()
    for seed in range(50):
        got = sampled(tables, text, rule, 0.4, state_of(seed))
        start = 0
        for number, end in got:
            assert model.pieces[number] == text[start:end]
            start = end
        assert start == len(text)
        seen.add(tuple(got))
        assert got == sampled(tables, text, rule, 0.4, state_of(seed))
    assert len(seen) == 50
    # "a" + "bc" makes "abc" too
    assert any(model.pieces.index("abc") in dict(got) for got in seen)


@pytest.mark.parametrize("rule", RULES)
def test_how_often_pairs_merge(rule):
    """Two pairs that do not touch: each dropped for good with 0.7, or drawn again after the first merge."""
    merges = {(0, 1): (0, 6)}
    n = 4000
    counts = [0, 0, 0]
    for seed in range(n):
        counts[5 - len(by_kernel([0, 1, 2, 0, 1], merges, rule, 0.7, state_of(seed)))] += 1
    none, one, both = (counts[0] / n, counts[1] / n, counts[2] / n)
    expected = {DROP_ONCE: (0.49, 0.42, 0.09), DROP_EACH_STEP: (0.49, 0.51 * 0.7, 0.51 * 0.3)}[rule]
    # four standard deviations are 0.032
    assert (none, one, both) == pytest.approx(expected, abs=0.032)


@pytest.mark.parametrize(("rank_of_gone", "share"), [(1, 0.25), (2, 0.3125)])
def test_pairs_that_are_gone_have_their_turn(rank_of_gone, share):
    """In "abc", "bc" is gone when "ab" has merged. If it then comes behind "ab c", it brings that one back when it is
    not put aside itself: 1/2 * (1/2 + 1/2 * 1/2 * 1/2), and not 1/2 * 1/2."""
    merges = {(0, 1): (0, 6), (1, 2): (rank_of_gone, 7), (6, 2): (3 - rank_of_gone, 8)}
    n = 8000
    found = sum(by_kernel([0, 1, 2], merges, DROP_EACH_STEP, 0.5, state_of(seed)) == [8] for seed in range(n))
    # five standard deviations
    assert found / n == pytest.approx(share, abs=0.026)


def test_too_short_lists_say_how_long_they_must_be():
    tables = model_of([("a", -1.0, 0), ("aa", -2.0, 0)]).tables(every_split=True)
    assert sampled(tables, "a" * 100, DROP_ONCE, 0.1, state_of(1), capacity=50) == -100
    assert sampled(tables, "a" * 100, DROP_ONCE, 1.0, state_of(1), capacity=100) == [(3, i + 1) for i in range(100)]


@given(
    piece=st.binary(min_size=1, max_size=40).map(lambda raw: bytes(97 + byte % 3 for byte in raw)),
    rule=st.sampled_from(RULES),
    probability=probabilities,
)
def test_byte_level(piece, rule, probability):
    pairs = [(97, 98), (256, 99), (98, 99), (97, 258), (99, 97)]
    lefts, rights = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    table, merge_pairs = new_merge_table(lefts, rights)
    none = np.zeros(1, np.int32)
    tables = ByteBpeTables(
        class_index=np.zeros(1, np.uint16),
        class_blocks=np.zeros(1, np.uint8),
        pair_merges=none,
        merge_table=table,
        merge_pairs=merge_pairs,
        merge_symbols=np.array([256, 257, 258, 257, 259], np.int32),
        symbol_ids=np.arange(1, 261, dtype=np.int32),
        piece_lookup=none,
        piece_bytes=np.zeros(1, np.uint8),
        piece_offsets=np.zeros(1, np.int64),
        flags=np.zeros(3, np.int64),
    )
    products = (256, 257, 258, 257, 259)
    merges = {pair: (rank, product) for rank, (pair, product) in enumerate(zip(pairs, products, strict=True))}
    data = np.frombuffer(b"x" + piece, np.uint8)
    ids = np.zeros(len(piece) + 1, np.int32)
    heap, dropped = np.zeros(300, np.uint64), np.zeros(300, np.uint64)
    scratch = new_byte_scratch(5, False, 100)
    n = merge_piece_with_dropout(
        tables, none[:0], data, 1, len(piece), rule, probability, state_of(3), scratch, heap, dropped, ids, 1
    )
    expected = twin.join_with_dropout(piece, merges, rule, probability, Stream(3, 0))
    assert (ids[1 : 1 + n] - 1).tolist() == expected
    short = new_byte_scratch(5, False, 1)
    if len(piece) > 1:
        arguments = (
            tables,
            none[:0],
            data,
            1,
            len(piece),
            rule,
            probability,
            state_of(3),
            short,
            heap,
            dropped,
            ids,
            1,
        )
        assert merge_piece_with_dropout(*arguments) == -len(piece)


# --- rows --------------------------------------------------------------------------------------------------------

TOY = nlp.Tokenizer(toy_vocabulary())
END = SPECIALS[0].decode()
END_ID = 256 + len(MERGES)


@given(
    rows=st.lists(st.lists(st.sampled_from(["the", " the", "and", "\u00e9", " ", "x", END]), max_size=6), max_size=4),
    probability=probabilities,
    seed=st.integers(0, 2**64 - 1),
)
def test_rows_of_bytes(rows, probability, seed):
    products = {left + right: 256 + number for number, (left, right) in enumerate(MERGES)}
    number_of = lambda part: part[0] if len(part) == 1 else products[part]  # noqa: E731
    merges = {
        (number_of(left), number_of(right)): (rank, products[left + right]) for rank, (left, right) in enumerate(MERGES)
    }
    vocabulary = TOY.vocabulary
    expected = []
    for row, parts in enumerate(rows):
        words: list = []
        for part in "".join(parts).replace(END, f"\0{END}\0").split("\0"):
            data, start = np.frombuffer(part.encode(), np.uint8), 0
            if part == END:
                words.append(END_ID)
                continue
            tables = vocabulary["class_index"], vocabulary["class_blocks"]
            for length in word_lengths("gpt2", *tables, data, 0, data.size):
                words.append(data[start : start + length].tolist())
                start += length
        expected.append(rows_twin.drop_row(words, merges, int, DROP_EACH_STEP, probability, seed, row))
    found = TOY.encode_batch(["".join(parts) for parts in rows], dropout=probability, seed=seed, num_threads=1)
    if probability > 0:
        assert found.to_list() == expected


@pytest.mark.parametrize(("made", "rule"), [(listed_bpe, DROP_EACH_STEP), (scored_bpe, DROP_ONCE)])
@given(
    rows=st.lists(st.text("abc", max_size=12), max_size=4),
    probability=probabilities,
    seed=st.integers(0, 2**64 - 1),
)
def test_rows_of_characters(made, rule, rows, probability, seed):
    model = made()
    words = [[[model.ids[character] for character in row]] for row in rows]
    expected = [
        rows_twin.drop_row(word, model.merges, int, rule, probability, seed, row) for row, word in enumerate(words)
    ]
    assert model.ours.encode_batch(rows, dropout=probability, seed=seed, num_threads=1).to_list() == (
        expected if probability > 0 else [model.ours.encode(row).tolist() for row in rows]
    )


@pytest.mark.parametrize(("made", "prefix", "suffix"), [(suffixed_bpe, "", "</w>"), (prefixed_bpe, "##", "")])
@given(
    rows=st.lists(st.text("abc ", max_size=14), max_size=4),
    probability=probabilities,
    seed=st.integers(0, 2**64 - 1),
)
def test_rows_of_marked_characters(made, prefix, suffix, rows, probability, seed):
    """Words of a row draw from one stream, one behind the other."""
    model = made()

    def symbols(word):
        marked = [prefix * (place > 0) + character for place, character in enumerate(word)]
        return [model.ids[piece] for piece in [*marked[:-1], marked[-1] + suffix]]

    words = [[symbols(word) for word in row.split()] for row in rows]
    expected = [
        rows_twin.drop_row(row, model.merges, int, DROP_EACH_STEP, probability, seed, number)
        for number, row in enumerate(words)
    ]
    found = model.ours.encode_batch(rows, dropout=probability, seed=seed, num_threads=1)
    assert found.to_list() == expected


@pytest.mark.parametrize("made", [listed_bpe, scored_bpe, suffixed_bpe])
def test_rows_longer_than_the_scratch(made):
    ours = made().ours
    assert ours.encode_batch(["ab", "a" * 20_000], dropout=1.0).row_lengths.tolist() == [2, 20_000]
    assert TOY.encode("x" * 9_000, dropout=0.5).size == 9_000
