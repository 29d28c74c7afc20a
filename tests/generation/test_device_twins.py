"""Rules, warpers, random numbers and bookkeeping on tensors: what the compiled kernels do on arrays."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs torch")

from numba_nlp.generation.device import choice, counter_random, row_values, warpers  # noqa: E402
from numba_nlp.generation.device.beam_state import DeviceBeams  # noqa: E402
from numba_nlp.generation.device.beams import BeamSteps  # noqa: E402
from numba_nlp.generation.device.candidates import best_candidates, draw_candidates  # noqa: E402
from numba_nlp.generation.device.groups import advance_group, penalize_chosen  # noqa: E402
from numba_nlp.generation.device.row_rules import Restrictions  # noqa: E402
from numba_nlp.kernels.generation import beam_groups, beam_sampling, beams, sampling  # noqa: E402
from numba_nlp.kernels.generation import counter_random as random_kernels  # noqa: E402
from numba_nlp.kernels.generation import row_rules as rule_kernels  # noqa: E402
from numba_nlp.kernels.generation import row_selection as selection_kernels  # noqa: E402
from numba_nlp.kernels.generation import row_values as value_kernels  # noqa: E402
from numba_nlp.kernels.generation import warpers as warp_kernels  # noqa: E402
from numba_nlp.kernels.generation.rules import make_row_scratch, make_rules  # noqa: E402
from tests.kernels.generation import test_beam_groups, test_beams, test_row_rules  # noqa: E402
from tests.kernels.generation.test_warpers import is_near, rows, shares  # noqa: E402

CPU = torch.device("cpu")
NO_CALLS: Any = SimpleNamespace(has_stop_strings=False)
words = st.integers(0, 2**64 - 1)


def tensor(array: Any) -> Any:
    """A copy, of int64 where it is whole numbers."""
    array = np.array(array)
    if array.dtype == np.uint64:
        return torch.from_numpy(array.view(np.int64))
    return torch.from_numpy(array.astype(np.int64) if array.dtype.kind in "iu" else array)


# --- random numbers and values


@given(seed=words, key=words, step=st.integers(0, 2**32 - 1), lane=st.integers(0, 2**32 - 1))
def test_random_numbers_are_the_same_bits(seed, key, step, lane):
    numbers = [tensor(np.array([number], np.uint64)) for number in (seed, key, step, lane)]
    expected = random_kernels.uniform(np.uint64(seed), np.uint64(key), step, lane)
    assert counter_random.uniform(*numbers).item() == expected
    got = counter_random.philox(numbers[1], numbers[2], numbers[0])
    wanted = random_kernels.philox(np.uint64(key), np.uint64(step), np.uint64(seed))
    assert tuple(word.item() % 2**64 for word in got) == wanted


@given(row=rows)
def test_sums_are_the_same(row):
    got = row_values.log_sum_exp(tensor(row)[None]).item()
    assert got == pytest.approx(value_kernels.log_sum_exp(row), abs=1e-5)


def test_sums_of_what_is_no_number():
    for value in (np.nan, np.inf):
        assert np.isnan(row_values.log_sum_exp(tensor(np.array([[0.0, value]], np.float32))).item())


@given(row=rows, k=st.integers(1, 200))
def test_selections_are_the_same(row, k):
    k = min(k, len(row))
    values, ids = np.zeros(k, np.float32), np.zeros(k, np.int32)
    selection_kernels.select_top(row, k, make_row_scratch(len(row), 1).maxima, values, ids)
    got_values, got_ids = row_values.select_top(tensor(row)[None], k)
    assert got_ids[0].tolist() == ids.tolist()
    np.testing.assert_array_equal(got_values[0], values)


def test_zeros_of_either_sign_are_equal():
    row = np.array([[-0.0, 0.0, -0.0, -1.0]], np.float32)
    assert row_values.select_top(tensor(row), 4)[1].tolist() == [[0, 1, 2, 3]]


# --- warpers and draws


def warped(name: str, row: np.ndarray, *arguments: Any) -> list[np.ndarray]:
    """The row after a warper of kernels, and of tensors."""
    after, scratch, got = row.copy(), make_row_scratch(len(row), 1), tensor(row)[None]
    n = warp_kernels.list_values(after, scratch.ids)
    if name == "keep_top_k":
        warp_kernels.keep_top_k(after, *arguments, scratch.maxima, scratch.order, scratch.ids)
    elif name == "keep_min_p":
        warp_kernels.keep_min_p(after, scratch.ids, n, *arguments, scratch.order)
    else:
        unused = scratch.order, scratch.weights, scratch.places, scratch.masses
        getattr(warp_kernels, name)(after, scratch.ids, n, *arguments, *unused)
    getattr(warpers, name)(got, *arguments)
    return [got[0].numpy(), after]


@given(row=rows, k=st.integers(1, 200))
def test_top_k_is_the_same(row, k):
    np.testing.assert_array_equal(*warped("keep_top_k", row, k))


@given(row=rows, share=shares, least=st.integers(1, 4))
def test_top_p_is_the_same(row, share, least):
    ids = np.flatnonzero(row > -np.inf)
    assume(len(ids))
    assume(not is_near(row, ids, share, row[ids]))
    np.testing.assert_array_equal(*warped("keep_top_p", row, share, least))


@given(row=rows, ratio=st.sampled_from([0.0, 0.05, 0.3, 1.0]), least=st.integers(1, 4))
def test_min_p_is_the_same(row, ratio, least):
    assume((row > -np.inf).any())
    np.testing.assert_array_equal(*warped("keep_min_p", row, ratio, least))


@given(row=rows, share=shares, least=st.integers(1, 4))
def test_typical_is_the_same(row, share, least):
    ids = np.flatnonzero(row > -np.inf)
    assume(len(ids))
    kept = row[ids].astype(np.float64) - row.max()
    information = np.log(np.exp(kept).sum()) - kept
    distances = np.abs(information - (np.exp(-information) * information).sum())
    assume(not is_near(row, ids, share, -distances))
    gaps = np.diff(np.sort(distances))
    assume(not ((gaps > 0) & (gaps < 1e-4)).any())
    np.testing.assert_array_equal(*warped("keep_typical", row, share, least))


def test_rows_without_a_value_stay_so():
    row = np.full((1, 5), -np.inf, np.float32)
    rules = make_rules(temperature=2.0, top_k=2, top_p=0.5, min_p=0.1, typical_p=0.5)
    got = tensor(row)
    warpers.warp_rows(got, rules)
    np.testing.assert_array_equal(got.numpy(), row)
    for token, value in (choice.take_largest(got), choice.draw(got, tensor([0.5]))):
        assert token.item() == 0
        assert value.isnan().item()


@given(row=rows, number=st.floats(0.001, 0.999))
def test_draws_are_the_same(row, number):
    token, value = sampling.draw(row, number, make_row_scratch(len(row), 1).maxima)
    if token >= 0:
        weights = np.exp(row.astype(np.float64) - row.max()).cumsum()
        assume(not (np.abs(weights / weights[-1] - number) < 1e-6).any())
    got, got_value = choice.draw(tensor(row)[None], tensor([number]))
    assert got.item() == max(token, 0)
    assert got_value.item() == pytest.approx(value, abs=1e-5, nan_ok=True)


# --- rules


@given(
    rules=test_row_rules.settings(),
    row=st.lists(
        st.one_of(st.floats(-9, 9, width=32), st.just(-np.inf)),
        min_size=test_row_rules.SIZE,
        max_size=test_row_rules.SIZE,
    ),
    shift=st.sampled_from([0.0, 2.25]),
    both=st.integers(1, 8).flatmap(
        lambda n: st.lists(st.lists(test_row_rules.read, min_size=n, max_size=n), min_size=2, max_size=2)
    ),
    firsts=st.lists(st.integers(0, 3), min_size=2, max_size=2),
    source=st.lists(test_row_rules.read, max_size=6),
)
def test_rules_are_the_same(rules, row, shift, both, firsts, source):
    filled = len(both[0])
    assume(filled >= rules.prompt_width)
    written = np.array([[*tokens, 3, 3] for tokens in both], np.int32)
    values = np.array([row, row[::-1]], np.float32)
    sources = np.array([source, source[::-1]], np.int32).reshape(2, -1)
    firsts = np.minimum(firsts, filled)
    wide = torch.zeros(2, len(row) + 1)
    wide[:, :-1] = tensor(values)
    restrictions = Restrictions(rules, len(row), len(row) + 1, CPU)
    given_ = wide, torch.full((2,), shift, dtype=torch.float64)
    count = torch.tensor(filled)
    restrictions.apply_history_rules(*given_, tensor(written), tensor(firsts), count, tensor(sources))
    restrictions.apply_forced_rules(*given_, count)
    for number, expected in enumerate(values):
        saved = np.zeros(written.shape[1], np.float32)
        rule_kernels.apply_history_rules(
            expected, shift, written[number], firsts[number], filled, sources[number], rules, saved
        )
        rule_kernels.apply_forced_rules(expected, shift, filled, rules)
        np.testing.assert_array_equal(wide[number, :-1], expected)


# --- beams


class _OnTensors:
    """The kernels' functions of one step of beams, on tensors."""

    write_sequence = staticmethod(beams.write_sequence)
    place_group = staticmethod(beam_groups.place_group)

    @staticmethod
    def advance_beams(logits, shifts, held, filled, active, rules, state, scratch, *results):
        found = best_candidates(tensor(logits), tensor(shifts), tensor(state.running), rules.candidates)
        return _advanced(found, held, filled, rules, state, *results)

    @staticmethod
    def advance_drawn_beams(logits, shifts, held, filled, active, rules, state, seed, keys, draws, scratch, *results):
        numbers = tensor(np.array([seed])), tensor(keys), torch.tensor(filled - rules.prompt_width)
        found = draw_candidates(tensor(logits), tensor(shifts), tensor(state.running), rules.candidates, *numbers)
        return _advanced(found, held, filled, rules, state, *results)

    @staticmethod
    def penalize_chosen(logits, tokens, group, penalty):
        wide = torch.zeros(logits.shape[0], logits.shape[1] + 1)
        wide[:, :-1] = tensor(logits)
        penalize_chosen(wide, tensor(tokens), group, float(penalty))
        logits[:] = wide[:, :-1].numpy()

    @staticmethod
    def advance_group(logits, shifts, held, filled, units, padding, rules, state, scratch, *results):
        groups = state.done.size // units.size
        on_tensors = DeviceBeams.from_host(state, CPU)
        group = on_tensors.of_group(int(units[0]), groups)
        found = best_candidates(tensor(logits), tensor(shifts), group.running, rules.candidates)
        done = units[state.done[units] == 1]
        before = state.values[filled - rules.prompt_width, done]
        advance_group(BeamSteps(rules, CPU, NO_CALLS), tensor(held), torch.tensor(filled), found, padding, group)
        _write_back(on_tensors, state)
        state.values[filled - rules.prompt_width, done] = before  # of no account
        for number, unit in enumerate(units):
            first_row = number * state.running.shape[1]
            beams.move_rows(held, filled, first_row, unit, rules, state, *results)
        return int((state.done[units] == 0).sum())


def _write_back(on_tensors, state):
    for array, new in zip(state, on_tensors.on_host(), strict=True):
        array[:] = new


def _advanced(found, held, filled, rules, state, next_rows, next_tokens, parents):
    done = np.flatnonzero(state.done)
    running = state.running[done].copy()
    on_tensors = DeviceBeams.from_host(state, CPU)
    BeamSteps(rules, CPU, NO_CALLS).advance_sentences(tensor(held), torch.tensor(filled), found, on_tensors)
    _write_back(on_tensors, state)
    np.testing.assert_array_equal(state.running[done], running)
    for array in (state.tokens, state.parents, state.values):
        array[filled - rules.prompt_width, done] = 0  # of no account
    for sentence in range(state.done.size):
        first_row = sentence * state.running.shape[1]
        beams.move_rows(held, filled, first_row, sentence, rules, state, next_rows, next_tokens, parents)
    return int((state.done == 0).sum())


def assert_same(got, expected):
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@given(test_beams.searches())
def test_beams_are_the_same(search):
    got, got_rows = test_beams.run(search, _OnTensors)
    expected, expected_rows = test_beams.run(search, beams)
    assert_same(got, expected)
    assert got_rows == expected_rows


@given(test_beams.searches())
def test_drawn_beams_are_the_same(search):
    got, got_rows = test_beams.run(search, _OnTensors, _OnTensors)
    expected, expected_rows = test_beams.run(search, beams, beam_sampling)
    assert_same(got, expected)
    assert got_rows == expected_rows


@given(test_beam_groups.searches())
def test_groups_are_the_same(search):
    got, state = test_beam_groups.run(search, _OnTensors)
    expected, other = test_beam_groups.run(search, beam_groups)
    assert_same(got, expected)
    assert_same(state, other)
