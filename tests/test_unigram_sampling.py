"""Sampling: probabilities of theory by counting, seeds that fix the result, and the scores of what is drawn."""

from __future__ import annotations

from collections import Counter
from math import exp

import numpy as np
import pytest

from numba_nlp.errors import UnknownTokenError
from numba_nlp.reference.segment.unigram import write_ids
from numba_nlp.reference.segment.unigram_lattice import all_paths, fill_lattice
from numba_nlp.unigram_sampling import MAX_NBEST, common_prefix_search, nbest, sample, score
from tests.unigram_cases import NORMAL, SPACE, UNKNOWN, USER_DEFINED, Piece, make_case, random_case

PIECES = [
    Piece("<unk>", 0, UNKNOWN),
    Piece("a", -1.0, NORMAL),
    Piece("b", -1.7, NORMAL),
    Piece("ab", -2.1, NORMAL),
    Piece("ba", -2.2, NORMAL),
    Piece("aba", -3.0, NORMAL),
    Piece(SPACE, -0.5, NORMAL),
    Piece(f"{SPACE}a", -1.2, USER_DEFINED),
]
CASE = make_case(PIECES)


def shares(weights: dict[tuple[int, ...], float], alpha: float) -> dict[tuple[int, ...], float]:
    """Probability of each segmentation by its score."""
    whole = sum(exp(alpha * total) for total in weights.values())
    return {ids: exp(alpha * total) / whole for ids, total in weights.items()}


def theory(text: str, alpha: float) -> dict[tuple[int, ...], float]:
    """Probability of each segmentation, by listing them all."""
    nodes = fill_lattice(CASE.lattice_model, text.encode())
    weights = {}
    for path in all_paths(nodes, len(text)):
        total = sum(float(node.score) for node in path)
        ids = write_ids(CASE.model, text.encode(), [node.step for node in path])
        weights[tuple(number for number, _ in ids)] = total
    return shares(weights, alpha)


def distance(drawn: list[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> tuple[float, int]:
    """Chi square of the counts, outcomes of less than five put together, and its degrees of freedom."""
    counts = Counter(drawn)
    assert set(counts) <= set(expected)
    total = rest = rest_expected = 0.0
    cells = 0
    for ids, share in expected.items():
        mean = share * len(drawn)
        if mean < 5:
            rest, rest_expected = rest + counts[ids], rest_expected + mean
        else:
            total += (counts[ids] - mean) ** 2 / mean
            cells += 1
    if rest_expected > 0:
        total += (rest - rest_expected) ** 2 / max(rest_expected, 1.0)
        cells += 1
    return total, cells - 1


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("nbest_size", [-1, 5])
def test_segmentations_come_as_often_as_theory_says(alpha, nbest_size):
    text = f"ababab{SPACE}aba"
    drawn = sample(CASE.lattice, text.encode(), alpha=alpha, nbest_size=nbest_size, n_samples=3000, seed=7)
    expected = theory(text, alpha)
    if nbest_size > 0:
        listed = nbest(CASE.lattice, text.encode(), nbest_size)
        expected = shares({tuple(one.ids.tolist()): one.score for one in listed}, alpha)
    chi_square, freedom = distance([tuple(one.ids.tolist()) for one in drawn], expected)
    assert len(expected) >= 5
    # four standard deviations
    assert chi_square < freedom + 4 * (2 * max(freedom, 1)) ** 0.5


def test_a_wrong_distribution_is_noticed():
    text = "ababab"
    drawn = [tuple(one.ids.tolist()) for one in sample(CASE.lattice, text.encode(), alpha=1.0, n_samples=3000)]
    chi_square, freedom = distance(drawn, theory(text, 0.8))
    assert chi_square > freedom + 4 * (2 * freedom) ** 0.5


def ids_of(found) -> list[list[int]]:
    return [one.ids.tolist() for one in found]


def test_the_seed_fixes_the_result():
    text = b"abababab"
    first = sample(CASE.lattice, text, alpha=0.5, n_samples=50, seed=3, stream=9)
    assert ids_of(first) == ids_of(sample(CASE.lattice, text, alpha=0.5, n_samples=50, seed=3, stream=9))
    assert ids_of(first[:20]) == ids_of(sample(CASE.lattice, text, alpha=0.5, n_samples=20, seed=3, stream=9))
    assert ids_of(first) != ids_of(sample(CASE.lattice, text, alpha=0.5, n_samples=50, seed=4, stream=9))
    assert ids_of(first) != ids_of(sample(CASE.lattice, text, alpha=0.5, n_samples=50, seed=3, stream=10))
    assert sample(CASE.lattice, text, alpha=0.5, seed=-1)[0].ids.size > 0


@pytest.mark.parametrize("nbest_size", [-1, 10])
def test_scores_of_what_is_drawn(nbest_size):
    text = f"xxabab{SPACE}a".encode()
    for one in sample(CASE.lattice, text, alpha=0.2, nbest_size=nbest_size, n_samples=30):
        assert one.score == score(CASE.lattice, text, one.ids, one.token_ends)
        assert one.token_ends[-1] == len(text)


def test_large_alpha_gives_the_best():
    text = b"abaab"
    best = nbest(CASE.lattice, text, 2)[0]
    assert all(ids == best.ids.tolist() for ids in ids_of(sample(CASE.lattice, text, alpha=500.0, n_samples=20)))
    assert ids_of(sample(CASE.lattice, text, alpha=0.0, nbest_size=1, n_samples=2)) == [best.ids.tolist()] * 2


def test_a_list_is_whole_and_in_order():
    text = f"abab{SPACE}a"
    found = nbest(CASE.lattice, text.encode(), 500)
    expected = theory(text, 1.0)
    assert {tuple(one.ids.tolist()) for one in found} == set(expected)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    assert ids_of(nbest(CASE.lattice, text.encode(), 3)) == ids_of(found[:3])


def test_byte_fallback_and_unknown_runs():
    case = random_case(1)
    assert case.model.byte_ids is not None
    text = "\u00fcx".encode()
    assert [one.ids.size for one in sample(case.lattice, text, alpha=1.0, n_samples=3)] == [3] * 3
    assert ids_of(nbest(CASE.lattice, b"yyz", 4)) == [[0]]
    assert nbest(CASE.lattice, b"yyz", 4)[0].score == -39.0


def test_empty_text():
    for found in (nbest(CASE.lattice, b"", 5), sample(CASE.lattice, b"", alpha=1.0)):
        assert ids_of(found) == [[]]
        assert found[0].score == 0
    assert score(CASE.lattice, b"", np.empty(0, np.int32), np.empty(0, np.int64)) == 0
    assert sample(CASE.lattice, b"ab", alpha=1.0, n_samples=0) == []


@pytest.mark.parametrize("size", [0, -1, MAX_NBEST + 1])
def test_sizes_out_of_range(size):
    with pytest.raises(ValueError, match="`size`"):
        nbest(CASE.lattice, b"ab", size)


@pytest.mark.parametrize("alpha", [-0.1, float("nan"), float("inf")])
def test_alpha_out_of_range(alpha):
    with pytest.raises(ValueError, match="`alpha`"):
        sample(CASE.lattice, b"ab", alpha=alpha)
    with pytest.raises(ValueError, match="`n_samples`"):
        sample(CASE.lattice, b"ab", alpha=1.0, n_samples=-1)


def test_tokens_of_another_text():
    ids, ends = np.array([1, 2], np.int32), np.array([1, 2], np.int64)
    assert score(CASE.lattice, b"ab", ids, ends) == pytest.approx(-2.7)
    for text, other_ids, other_ends in (
        (b"ba", ids, ends),
        (b"abc", ids, ends),
        (b"ab", ids[:1], ends[:1]),
        (b"ab", ids, ends[::-1]),
        (b"ab", ids, ends[:1]),
        (b"", ids, ends),
    ):
        with pytest.raises(UnknownTokenError):
            score(CASE.lattice, text, other_ids, other_ends)


def test_common_prefixes():
    lengths, ids = common_prefix_search(CASE.tables.units, b"abax")
    assert lengths.tolist() == [1, 2, 3]
    assert [PIECES[i].text for i in ids] == ["a", "ab", "aba"]
    assert common_prefix_search(CASE.tables.units, np.frombuffer(b"x", np.uint8))[0].size == 0
    assert (lengths.dtype, ids.dtype) == (np.int64, np.int32)
