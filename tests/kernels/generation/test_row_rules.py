"""Rules on a row: the twin's effect in random combinations, and single cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.generation import row_rules as kernels
from numba_nlp.kernels.generation.rules import NEUTRAL, RowRules, make_rules
from numba_nlp.reference.generation import row_rules as plain

SIZE = 7
ids = st.integers(0, SIZE - 1)
#: Ids of a history; some have no logit.
read = st.one_of(ids, st.sampled_from([SIZE, SIZE + 5]))
some = st.lists(ids, max_size=3)


@st.composite
def settings(draw) -> RowRules:
    """Each rule on or off."""
    possible = {
        "repetition_penalty": st.sampled_from([0.5, 1.3]),
        "no_repeat_ngram_size": st.integers(1, 4),
        "encoder_no_repeat_ngram_size": st.integers(1, 4),
        "bad_words_ids": st.lists(st.lists(ids, min_size=1, max_size=4), max_size=3),
        "min_length": st.integers(0, 8),
        "min_new_tokens": st.integers(0, 8),
        "prompt_width": st.integers(1, 3),
        "eos_ids": some,
        "forced_bos_id": ids,
        "forced_eos_ids": some,
        "max_length": st.integers(1, 8),
        "suppressed_ids": some,
        "begin_suppressed_ids": some,
        "begin_index": st.integers(0, 8),
        "renormalize": st.just(True),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(possible)), max_size=8))
    return make_rules(**{name: draw(possible[name]) for name in sorted(chosen)})


@given(
    rules=settings(),
    row=st.lists(st.one_of(st.floats(-9, 9, width=32), st.just(-np.inf)), min_size=SIZE, max_size=SIZE),
    shift=st.sampled_from([0.0, 2.25]),
    tokens=st.lists(read, min_size=1, max_size=8),
    first=st.integers(0, 3),
    source=st.lists(read, max_size=6),
)
def test_rules_are_those_of_the_twin(rules, row, shift, tokens, first, source):
    filled = len(tokens)
    written = np.array([*tokens, 3, 3], np.int32)
    read_by_encoder = np.array(source, np.int32)
    found, expected = np.array(row, np.float32), np.array(row, np.float32)
    saved = np.zeros(len(written), np.float32)
    arguments = written, min(first, filled), filled, read_by_encoder, rules, saved
    new_shift = kernels.apply_rules(found, shift, *arguments)
    assert new_shift == pytest.approx(plain.apply_rules(expected, shift, *arguments), abs=1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def changed(rule, *arguments, row=(-1.0, 0.0, 1.0, 2.0, 3.0)) -> dict[int, float]:
    """Ids whose values a rule changed, and what they are now."""
    before = np.array(row, np.float32)
    after = before.copy()
    rule(after, *arguments)
    return {i: float(after[i]) for i in range(len(row)) if after[i] != before[i]}


def int32(*numbers):
    return np.array(numbers, np.int32)


def test_repetition_is_penalized_once():
    saved = np.zeros(8, np.float32)
    tokens = int32(4, 0, 3, 3, 0)
    penalize = kernels.penalize_repetition
    assert changed(penalize, 0.0, tokens, 0, 5, 2.0, saved) == {0: -2.0, 3: 1.0, 4: 1.5}
    # the border between both ways
    assert changed(penalize, 0.0, int32(2, 1), 0, 2, 2.0, saved) == {2: 0.5}
    # padding at the left does not count; ids without a logit neither
    assert changed(penalize, 0.0, tokens, 1, 3, 2.0, saved) == {0: -2.0, 3: 1.0}
    assert changed(penalize, 0.0, int32(7, -1), 0, 2, 2.0, saved) == {}
    # of log-probabilities, all of which are negative
    assert changed(penalize, 4.0, tokens, 0, 5, 2.0, saved) == {0: -6.0, 3: 0.0, 4: 2.0}


def test_ngrams():
    ban = kernels.ban_repeated_ngrams
    tokens = int32(1, 2, 3, 1, 2, 4, 1, 2)
    forbidden = -np.inf
    assert changed(ban, tokens, 8, tokens, 8, 3) == {3: forbidden, 4: forbidden}
    assert changed(ban, tokens, 8, tokens, 8, 4) == {}
    assert changed(ban, tokens, 3, tokens, 3, 1) == {1: forbidden, 2: forbidden, 3: forbidden}
    # shorter than an n-gram, and than what comes before its last id
    assert changed(ban, tokens, 2, tokens, 2, 3) == {}
    assert changed(ban, tokens, 1, tokens, 1, 3) == {}
    # of the source
    assert changed(ban, int32(2, 0, 2, 1), 4, tokens, 8, 2) == {0: forbidden, 1: forbidden}
    assert changed(ban, int32(2, 0, 2, 1), 4, int32(2), 1, 2) == {0: forbidden, 1: forbidden}
    assert changed(ban, int32(2, 0, 2, 1), 4, int32(), 0, 2) == {}
    assert changed(ban, int32(), 0, tokens, 8, 1) == {}
    assert changed(ban, int32(2, 9), 2, tokens, 8, 2) == {}


def test_forbidden_sequences():
    rules = make_rules(bad_words_ids=[[1], [2], [0, 3, 4], [3, 0]], eos_ids=[2])
    assert rules.bad_ids.tolist() == [1]
    forbidden = -np.inf
    ban = kernels.ban_sequences
    assert changed(ban, int32(0, 3), 2, rules.bad_sequences, rules.bad_offsets) == {0: forbidden, 4: forbidden}
    assert changed(ban, int32(3), 1, rules.bad_sequences, rules.bad_offsets) == {0: forbidden}
    assert changed(ban, int32(3), 0, rules.bad_sequences, rules.bad_offsets) == {}


def applied(filled, **options):
    """Values after all rules of a row of five, whose shift is 4."""
    row = np.array([-1.0, 0.0, 1.0, 2.0, 3.0], np.float32)
    tokens, saved = np.zeros(9, np.int32), np.zeros(9, np.float32)
    shift = kernels.apply_rules(row, 4.0, tokens, 0, filled, int32(), make_rules(**options), saved)
    return [float(value) - shift for value in row]


def test_lengths():
    ending = {"eos_ids": [3, 4]}
    free, barred = [-5.0, -4.0, -3.0, -2.0, -1.0], [-5.0, -4.0, -3.0, -np.inf, -np.inf]
    assert applied(3, min_length=3, **ending) == free
    assert applied(2, min_length=3, **ending) == barred
    assert applied(4, prompt_width=2, min_new_tokens=3, **ending) == barred
    assert applied(5, prompt_width=2, min_new_tokens=3, **ending) == free
    assert applied(1, begin_suppressed_ids=[3, 4], begin_index=1) == barred
    assert applied(2, begin_suppressed_ids=[3, 4], begin_index=1) == free


def test_what_is_forced_has_all_probability():
    never = -np.inf
    assert applied(1, forced_bos_id=2, bad_words_ids=[[2]]) == [never, never, 0.0, never, never]
    assert applied(2, forced_bos_id=2) == applied(2)
    assert applied(4, max_length=5, forced_eos_ids=[0, 3]) == [0.0, never, never, 0.0, never]
    assert applied(3, max_length=5, forced_eos_ids=[0, 3]) == applied(3)
    # suppressed even so
    assert applied(4, max_length=5, forced_eos_ids=[0], suppressed_ids=[0]) == [never] * 5
    # ids that the row has no logit for
    assert applied(1, forced_bos_id=5) == [never] * 5
    assert applied(4, max_length=5, forced_eos_ids=[9], suppressed_ids=[9]) == [never] * 5


def test_renormalized_values_are_log_probabilities():
    values = applied(1, bad_words_ids=[[4]], renormalize=True)
    assert np.exp(values).sum() == pytest.approx(1)
    assert values[4] == -np.inf
    # nothing is left to share among
    assert applied(1, suppressed_ids=range(5), renormalize=True) == [-np.inf] * 5


def test_neutral_rules_change_nothing():
    assert applied(1) == [-5.0, -4.0, -3.0, -2.0, -1.0]
    assert all(not array.flags.writeable for array in NEUTRAL if isinstance(array, np.ndarray))


def test_an_empty_sequence_is_refused():
    with pytest.raises(ValueError, match="`bad_words_ids` has an empty sequence at place 1"):
        make_rules(bad_words_ids=[[1], []])
