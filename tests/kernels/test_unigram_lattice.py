"""Lattices, sampling and n-best lists: nodes, numbers and paths of the plain twins."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numba_nlp._jit import kernel
from numba_nlp.errors import STATUS_NOT_TILING
from numba_nlp.kernels.segment import unigram_lattice as kernels
from numba_nlp.kernels.segment import unigram_nbest as search_kernels
from numba_nlp.reference.segment import unigram_lattice as plain
from numba_nlp.reference.segment import unigram_nbest as plain_search
from numba_nlp.unigram_sampling import new_lattice
from tests.unigram_cases import NORMAL, UNKNOWN, USER_DEFINED, Piece, make_case, random_case, random_text

cases = st.integers(0, 99).map(random_case)
texts = st.integers(0, 2**32).map(lambda seed: random_text(seed, most=12))


@kernel
def add_logarithms(a, b):
    return kernels.add_logarithms(a, b)


def nodes_of(lattice) -> list[plain.Node]:
    columns = (lattice.begins, lattice.ends, lattice.steps, lattice.scores)
    return [plain.Node(*row[:3], np.float32(row[3])) for row in zip(*(c.tolist() for c in columns), strict=True)]


@given(case=cases, text=texts)
def test_nodes_are_those_of_the_twin(case, text):
    lattice = new_lattice(case.lattice, text.encode())
    expected = plain.fill_lattice(case.lattice_model, text.encode())
    assert nodes_of(lattice) == expected
    counted = kernels.count_lattice(case.lattice, np.frombuffer(text.encode(), np.uint8), 0, len(text.encode()))
    assert tuple(counted) == plain.count_lattice(case.lattice_model, text.encode())
    assert lattice.firsts[0] == lattice.firsts[1] == 0
    for end in range(1, len(text) + 1):
        listed = [expected[i] for i in lattice.by_end[lattice.firsts[end] : lattice.firsts[end + 1]]]
        assert listed == [node for node in expected if node.end == end]


def test_user_defined_pieces_count_characters():
    pieces = [Piece("<unk>", 0, UNKNOWN), Piece("\u00e9\u00e9", 0, USER_DEFINED), Piece("b", -1, NORMAL)]
    case = make_case(pieces)
    assert new_lattice(case.lattice, "\u00e9\u00e9".encode()).scores[0] == np.float32(0.1)
    assert new_lattice(case.tables, "\u00e9\u00e9".encode()).scores[0] == np.float32(0.1 * 3)


@given(a=st.floats(-900, 900), b=st.floats(-900, 900))
def test_adding_logarithms(a, b):
    if abs(a - b) < 600:
        assert float(add_logarithms(a, b)) == pytest.approx(plain.add_logarithms(a, b), abs=1e-9)
    assert float(add_logarithms(a, -np.inf)) == a


@settings(max_examples=40)
@given(case=cases, text=texts, alpha=st.sampled_from([0.0, 0.1, 0.7, 2.0]), seed=st.integers(0, 2**40))
def test_sums_and_samples_are_those_of_the_twin(case, text, alpha, seed):
    lattice = new_lattice(case.lattice, text.encode())
    nodes = plain.fill_lattice(case.lattice_model, text.encode())
    sums = np.empty(len(text) + 1)
    total = float(kernels.sum_paths(lattice, alpha, sums))
    assert total == sums[-1]
    if sum(1 for _, _ in zip(range(3000), plain.all_paths(nodes, len(text)), strict=False)) == 3000:
        return
    expected = plain.sum_paths(nodes, len(text), alpha)
    np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-9)
    path = np.full(len(text) + 2, -7, np.int32)
    for counter in (0, 5):
        key = np.uint64(seed), np.uint64(3), np.uint64(counter)
        first = int(kernels.sample_path(lattice, alpha, sums, *key, path))
        assert path[first:].tolist() == plain.sample_path(nodes, sums.tolist(), alpha, seed, 3, counter)


def nbest(lattice, size: int, capacity: int = 4000) -> list[tuple[list[int], np.float32]] | int:
    n_characters = lattice.firsts.size - 2
    search = search_kernels.Search(
        ahead=np.empty(lattice.begins.size, np.float32),
        nodes=np.empty(capacity, np.int32),
        following=np.empty(capacity, np.int32),
        totals=np.empty(capacity, np.float32),
        behind=np.empty(capacity, np.float32),
        marks=np.empty(capacity, np.uint8),
        queue=np.empty(capacity, np.int32),
        spare=np.empty(search_kernels.MIN_QUEUE, np.int32),
    )
    steps = np.full(size * n_characters, -7, np.int32)
    offsets, scores = np.empty(size + 1, np.int64), np.empty(size, np.float32)
    n = int(search_kernels.nbest_paths(lattice, size, search, steps, offsets, scores))
    if n < 0:
        return n
    return [(steps[offsets[i] : offsets[i + 1]].tolist(), scores[i]) for i in range(n)]


@settings(max_examples=40)
@given(case=cases, text=texts, size=st.sampled_from([2, 3, 10, 60]))
def test_nbest_lists_are_those_of_the_twin(case, text, size):
    lattice = new_lattice(case.lattice, text.encode())
    nodes = plain.fill_lattice(case.lattice_model, text.encode())
    found = nbest(lattice, size)
    if found == search_kernels.SEARCH_FULL:
        found = nbest(lattice, size, 100_000)
    assert found == plain_search.nbest_paths(nodes, len(text), size)
    paths = [tuple(steps) for steps, _ in found]
    assert len(set(paths)) == len(paths)
    total = sum(1 for _, _ in zip(range(size), plain.all_paths(nodes, len(text)), strict=False))
    assert len(paths) == total


@settings(max_examples=40)
@given(case=cases, text=texts)
def test_best_path_is_that_of_the_twin(case, text):
    lattice = new_lattice(case.lattice, text.encode())
    nodes = plain.fill_lattice(case.lattice_model, text.encode())
    ahead, path = np.empty(len(nodes), np.float32), np.empty(len(text), np.int32)
    best = float(search_kernels.score_ahead(lattice, ahead))
    expected_ahead, expected_best = plain_search.score_ahead(nodes, len(text))
    assert best == float(expected_best)
    assert ahead.tolist() == [float(expected_ahead[node]) for node in nodes]
    first = int(search_kernels.best_path(lattice, ahead, path))
    assert path[first:].tolist() == plain_search.best_path(nodes, expected_ahead, len(text))


@given(totals=st.lists(st.integers(-3, 3), min_size=1, max_size=60), seed=st.integers(0, 2**32))
def test_the_heap_is_that_of_the_twin(totals, seed):
    r = random.Random(seed)
    numbers = np.array(totals, np.float32)
    queue, n = np.empty(len(totals), np.int32), 0
    entries = [plain_search.Hypothesis(None, None, total, i) for i, total in enumerate(numbers)]
    expected: list[plain_search.Hypothesis] = []
    waiting = list(range(len(totals)))
    while waiting or n:
        if waiting and (not n or r.random() < 0.6):
            entry = waiting.pop()
            n = int(search_kernels.push_entry(queue, numbers, n, entry))
            plain_search.push_entry(expected, entries[entry])
        else:
            top = int(search_kernels.pop_entry(queue, numbers, n))
            n -= 1
            highest = max(entry.total for entry in expected)
            assert entries[top].total == highest
            assert plain_search.pop_entry(expected) is entries[top]
        assert [entries[i] for i in queue[:n]] == expected


@pytest.mark.parametrize(
    ("n", "size", "found_size"),
    [pytest.param(40, 30, 30, id="cut"), pytest.param(300, 20, 1, id="given up", marks=pytest.mark.slow)],
)
def test_searches_that_grow_too_large(n, size, found_size):
    """As in the twin: lists that were cut on the way, and a single best path after too many cuts."""
    case = make_case([Piece("<unk>", 0, UNKNOWN), *(Piece("a" * n, -0.1 * n, NORMAL) for n in (1, 2, 3))])
    lattice = new_lattice(case.lattice, b"a" * n)
    found = nbest(lattice, size, 600_000)
    nodes = plain.fill_lattice(case.lattice_model, b"a" * n)
    assert found == plain_search.nbest_paths(nodes, n, size)
    assert len(found) == found_size
    # without cuts the list is another one
    if found_size > 1:
        assert found != plain_search.nbest_paths(nodes, n, size, max_queue=10**9, max_new=10**9)


@given(case=cases, text=texts, changes=st.integers(0, 2), seed=st.integers(0, 2**32))
def test_scores_are_those_of_the_twin(case, text, changes, seed):
    from numba_nlp.reference.segment import unigram as plain_unigram

    tokens = plain_unigram.segment(case.model, text.encode())
    r = random.Random(seed)
    for _ in range(changes):
        i = r.randrange(len(tokens))
        number, end = tokens[i]
        tokens[i] = (r.randrange(len(case.pieces)), end) if r.random() < 0.5 else (number, max(0, end - r.randrange(3)))
    tokens[-1] = (tokens[-1][0], len(text.encode()))
    ids = np.array([number for number, _ in tokens], np.int32)
    ends = np.array([end for _, end in tokens], np.int64)
    data = np.frombuffer(text.encode(), np.uint8)
    score, status = kernels.score_ids(case.lattice, data, 0, ids, ends)
    expected = plain.score_ids(case.lattice_model, text.encode(), tokens)
    if expected is None:
        assert status == STATUS_NOT_TILING
    else:
        assert (float(score), int(status)) == (float(expected), 0)
