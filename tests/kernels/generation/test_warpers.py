"""What a row keeps before sampling: the twin's choice, and single cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from numba_nlp.kernels.generation import mass_cut as cut_kernels
from numba_nlp.kernels.generation import warpers as kernels
from numba_nlp.kernels.generation.rules import RowRules, make_row_scratch, make_rules
from numba_nlp.reference.generation import mass_cut as plain_cut
from numba_nlp.reference.generation import warpers as plain

sizes = st.one_of(st.integers(1, 8), st.sampled_from([64, 70, 150]))
#: Few values, so that ties are the rule, or any.
values = st.one_of(st.sampled_from([-np.inf, -1.0, 0.0, 2.0]), st.floats(-50, 50, width=32))
rows = arrays.arrays(np.float32, sizes, elements=values, fill=st.nothing())
shares = st.sampled_from([0.0, 0.1, 0.31, 0.5, 0.77, 0.9, 0.95, 0.999])


def is_near(row, ids, share, order) -> bool:
    """Whether the share is reached so nearly that rounding decides about a token."""
    kept = row[ids].astype(np.float64)
    weights = np.exp(kept - kept.max())
    ranked = np.argsort(-order, kind="stable")
    sums = np.cumsum(weights[ranked]) / weights.sum()
    return bool((np.abs(sums - share) < 1e-5).any())


@given(order=arrays.arrays(np.float32, sizes, elements=st.floats(-50, 50, width=32)), data=st.data(), share=shares)
def test_cuts_are_those_of_the_twin(order, data, share):
    n = len(order)
    weights = data.draw(arrays.arrays(np.float32, n, elements=st.sampled_from([0.0, 0.25, 1.0, 3.5])))
    assume(weights.any())
    scratch = np.zeros(n, np.int32), np.zeros(cut_kernels.BUCKETS)
    ranked = np.argsort(-order, kind="stable")
    sums = np.cumsum(weights[ranked]) / weights.sum()
    assume(not (np.abs(sums - share) < 1e-5).any())
    assert cut_kernels.find_mass_cut(order, weights, n, share, *scratch) == plain_cut.find_mass_cut(
        order, weights, n, share, *scratch
    )
    for number in (1, 2, n, n + 3):
        assert cut_kernels.nth_best(order, n, number) == plain_cut.nth_best(order, n, number)


def both(name: str, row, *arguments) -> tuple[list[int], list[int]]:
    """Ids that a warper of both forms leaves, from all that have a value; their rows agree with their lists."""
    results = []
    for module in (kernels, plain):
        after, scratch = row.copy(), make_row_scratch(len(row), 1)
        n = module.list_values(after, scratch.ids)
        unused = scratch.order, scratch.weights, scratch.places, scratch.masses
        if name == "keep_top_k":
            n = module.keep_top_k(after, *arguments, scratch.maxima, scratch.order, scratch.ids)
        elif name == "keep_min_p":
            n = module.keep_min_p(after, scratch.ids, n, *arguments, scratch.order)
        else:
            n = getattr(module, name)(after, scratch.ids, n, *arguments, *unused)
        left = scratch.ids[:n].tolist()
        assert left == np.flatnonzero(after > -np.inf).tolist()
        np.testing.assert_array_equal(after[left], row[left])
        results.append(left)
    return results[0], results[1]


@given(row=rows, k=st.integers(1, 200))
def test_top_k_is_that_of_the_twin(row, k):
    found, expected = both("keep_top_k", row, k)
    assert found == expected


@given(row=rows, share=shares, least=st.integers(1, 4))
def test_top_p_is_that_of_the_twin(row, share, least):
    ids = np.flatnonzero(row > -np.inf)
    assume(len(ids))
    assume(not is_near(row, ids, share, row[ids]))
    found, expected = both("keep_top_p", row, share, least)
    assert found == expected


@given(row=rows, ratio=st.sampled_from([0.0, 0.05, 0.3, 0.7, 1.0]), least=st.integers(1, 4))
def test_min_p_is_that_of_the_twin(row, ratio, least):
    assume((row > -np.inf).any())
    with np.errstate(divide="ignore"):
        gaps = row.max() - row[row > -np.inf] + np.log(ratio)
    assume(ratio == 1 or not (np.abs(gaps) < 1e-5).any())
    found, expected = both("keep_min_p", row, ratio, least)
    assert found == expected
    for module in (kernels, plain):
        after, scratch = row.copy(), make_row_scratch(len(row), 1)
        n = module.keep_min_p_of_row(after, max(ratio, 1e-9), least, scratch.maxima, scratch.ids)
        if n < 0:  # what it says that it leaves alone
            np.testing.assert_array_equal(after, row)
            assert len(both("keep_min_p", row, max(ratio, 1e-9), 1)[0]) < least
        else:
            assert scratch.ids[:n].tolist() == both("keep_min_p", row, max(ratio, 1e-9), 1)[0]
            assert scratch.ids[:n].tolist() == np.flatnonzero(after > -np.inf).tolist()


@given(row=rows, share=shares.filter(bool), least=st.integers(1, 4))
def test_typical_p_is_that_of_the_twin(row, share, least):
    ids = np.flatnonzero(row > -np.inf)
    assume(len(ids))
    logits = row[ids].astype(np.float64)
    logs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    distance = np.abs(-logs + (np.exp(logs) * logs).sum())
    # distances of different logits that rounding may put in another order
    different = np.sort(distance[np.unique(logits, return_index=True)[1]])
    assume(not (np.diff(different) < 1e-4).any())
    assume(not is_near(row, ids, share, -distance))
    found, expected = both("keep_typical", row, share, least)
    assert found == expected


def row_of(*probabilities):
    with np.errstate(divide="ignore"):
        return np.log(np.array(probabilities)).astype(np.float32)


def test_single_cases():
    row = row_of(0.05, 0.4, 0.0, 0.15, 0.4)
    # all that equal the last one stay
    assert both("keep_top_k", row, 1)[0] == [1, 4]
    assert both("keep_top_k", row, 3)[0] == [1, 3, 4]
    assert both("keep_top_k", row, 9)[0] == [0, 1, 3, 4]
    # of equal ones the lower id first
    assert both("keep_top_p", row, 0.3, 1)[0] == [1]
    assert both("keep_top_p", row, 0.5, 1)[0] == [1, 4]
    assert both("keep_top_p", row, 0.5, 3)[0] == [1, 3, 4]
    assert both("keep_top_p", row, 0.0, 1)[0] == [1]
    assert both("keep_top_p", row, 0.96, 1)[0] == [0, 1, 3, 4]
    assert both("keep_min_p", row, 0.2, 1)[0] == [1, 3, 4]
    assert both("keep_min_p", row, 1.0, 1)[0] == [1, 4]
    assert both("keep_min_p", row, 1.0, 3)[0] == [1, 3, 4]
    assert both("keep_min_p", row, 0.0, 1)[0] == [0, 1, 3, 4]
    # entropy 1.17; information 3.0, 0.92, 1.9 and 0.92: the nearest ones are the most probable
    assert both("keep_typical", row, 0.5, 1)[0] == [1, 4]
    assert both("keep_typical", row, 0.9, 1)[0] == [1, 3, 4]
    assert both("keep_typical", row, 0.1, 3)[0] == [1, 3, 4]


def test_the_most_probable_token_need_not_be_typical():
    row = row_of(0.6, *[0.02] * 20)
    # entropy 1.87; information 0.51, and 3.91
    assert both("keep_typical", row, 0.2, 1)[0] == [0]
    row = row_of(0.4, *[0.02] * 30)
    # entropy 2.71; information 0.92, and 3.91: the small ones are nearer, and all as near
    assert both("keep_typical", row, 0.2, 1)[0] == list(range(1, 31))
    assert both("keep_typical", row, 0.2, 40)[0] == list(range(31))


@pytest.mark.parametrize("n", [3, 10, 64, 1000])
def test_equal_probabilities_by_count(n):
    """A share that is reached exactly, as transformers' rounding to float32 has it."""
    row = np.zeros(n, np.float32)
    for kept in range(1, n + 1, max(n // 7, 1)):
        assert both("keep_top_p", row, kept / n, 1)[0] == list(range(kept))
        assert both("keep_top_p", row, (kept - 0.5) / n, 1)[0] == list(range(kept))


def test_values_within_and_beyond_the_buckets():
    """A cut in the last bucket, which holds all that is far behind."""
    row = np.concatenate([[0.0], np.linspace(-40, -60, 300)]).astype(np.float32)
    share = 1 - 1e-20
    assert both("keep_top_p", row, share, 1)[0] == [0]
    assert both("keep_top_p", row, 0.5, 4)[0] == [0, 1, 2, 3]


def test_values_that_hardly_differ():
    """Differences whose reciprocal is no float32."""
    tiny = np.array([0.0, 0.0, np.finfo(np.float32).tiny, 1e-44], np.float32)
    assert both("keep_top_p", tiny, 0.6, 1)[0] == [0, 2, 3]
    # which of them is nearest to the entropy is a matter of rounding
    for row in (tiny, -tiny, np.zeros(4, np.float32)):
        assert both("keep_typical", row, 0.1, 1)[0]


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_what_is_no_number_stays_within_the_arrays(wrong):
    """The result means nothing, but no place outside is read or written: the pass with bounds checks would see it."""
    everything = make_rules(temperature=0.5, top_p=0.813, min_p=0.0213, typical_p=0.7317, min_tokens_to_keep=3)
    for n, places in ((1, [0]), (5, [2]), (5, range(5)), (70, [0, 69])):
        for rules in (everything, everything._replace(top_k=4)):
            row = np.linspace(-3, 3, n).astype(np.float32)
            row[list(places)] = wrong
            with np.errstate(all="ignore"):
                assert 0 <= kernels.warp_row(row, rules, make_row_scratch(n, 1)) <= n


@st.composite
def settings(draw) -> RowRules:
    possible = {
        "temperature": st.sampled_from([0.5, 2.0]),
        "top_k": st.integers(1, 9),
        "top_p": st.just(0.813),
        "min_p": st.just(0.0213),
        "typical_p": st.just(0.7317),
        "min_tokens_to_keep": st.integers(1, 3),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(possible))))
    return make_rules(**{name: draw(possible[name]) for name in sorted(chosen)})


@given(rules=settings(), seed=st.integers(0, 10_000), n=st.sampled_from([1, 5, 64, 130]))
def test_all_in_order_are_those_of_the_twin(rules, seed, n):
    random = np.random.default_rng(seed)
    row = (random.standard_normal(n) * 2).astype(np.float32)
    row[random.random(n) < 0.2] = -np.inf
    found, expected = row.copy(), row.copy()
    scratch, other = make_row_scratch(n, 1), make_row_scratch(n, 1)
    count = kernels.warp_row(found, rules, scratch)
    assert kernels.is_warped(rules) == plain.is_warped(rules)
    assert count == plain.warp_row(expected, rules, other)
    np.testing.assert_array_equal(found, expected)
    assert scratch.ids[:count].tolist() == other.ids[:count].tolist()
