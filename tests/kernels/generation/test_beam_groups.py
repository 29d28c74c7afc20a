"""Groups of beams by compiled kernels: what the plain twin does, step after step."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.generation import beam_groups as compiled
from numba_nlp.kernels.generation import beams
from numba_nlp.kernels.generation.beam_memory import (
    STOP_EARLY,
    STOP_NEVER,
    STOP_WORSE,
    BeamRules,
    new_beam_scratch,
    new_beam_state,
)
from numba_nlp.reference.generation import beam_groups as plain


@st.composite
def searches(draw):
    width, prompt = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    eos = draw(st.lists(st.integers(0, 6), max_size=2, unique=True))
    return {
        "width": width,
        "groups": draw(st.integers(1, 3)),
        "sentences": draw(st.integers(1, 3)),
        "vocabulary": draw(st.integers(1, 8)),
        "penalty": draw(st.sampled_from([0.25, 2.0])),
        "rules": BeamRules(
            candidates=max(2, 1 + len(eos)) * width,
            prompt_width=prompt,
            max_length=prompt + draw(st.integers(1, 6)),
            length_penalty=draw(st.sampled_from([1.0, 0.0, -0.5, 2.0])),
            early_stopping=draw(st.sampled_from([STOP_WORSE, STOP_EARLY, STOP_NEVER])),
            eos_ids=np.array(eos, np.int32),
            stop_tokens=np.array([1, 0], np.int32),
            stop_offsets=np.array([0, 2]),
        ),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }


def run(search, module):
    generator = np.random.default_rng(search["seed"])
    rules, width, groups = search["rules"], search["width"], search["groups"]
    sentences, vocabulary = search["sentences"], search["vocabulary"]
    state = new_beam_state(sentences * groups, width, rules.max_length - rules.prompt_width)
    scratch = new_beam_scratch(rules.candidates, vocabulary)
    rows = generator.integers(0, vocabulary, (groups, sentences * width, rules.max_length)).astype(np.int32)
    history = []
    for filled in range(rules.prompt_width, rules.max_length):
        chosen, reads, continued = (np.zeros((sentences, groups, width), np.int64) for _ in range(3))
        for group in range(groups):
            logits = generator.integers(0, 40, (sentences * width, vocabulary)).astype(np.float32) / 4
            shifts = np.full(sentences * width, 12.0)
            module.penalize_chosen(logits, chosen, group, np.float32(search["penalty"]))
            next_rows = rows[group].copy()
            tokens, parents = np.zeros(sentences * width, np.int64), np.zeros(sentences * width, np.int64)
            still_open = module.advance_group(
                logits,
                shifts,
                rows[group],
                filled,
                np.arange(sentences) * groups + group,
                vocabulary,
                rules,
                state,
                scratch,
                next_rows,
                tokens,
                parents,
            )
            rows[group] = next_rows
            module.place_group(group, vocabulary, tokens, parents, chosen, reads, continued)
            placed = map(np.copy, (chosen, reads, continued))
            history.append([logits.copy(), tokens, parents, still_open, *placed, *map(np.copy, state)])
        rows_of = np.arange(sentences * groups * width).reshape(chosen.shape)
        assert (continued // (groups * width) == np.arange(sentences)[:, None, None]).all()
        assert (continued // width == rows_of // width).all()
    return history, state


@given(searches())
def test_as_the_plain_twin(search):
    got, _ = run(search, compiled)
    expected, _ = run(search, plain)
    for one, other in zip(got, expected, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@given(searches())
def test_every_group_ends_with_rows(search):
    """Open rows are finished at the greatest length, so none is missing where there are tokens enough."""
    _, state = run(search, compiled)
    assert state.done.all()
    assert (np.diff(state.finished, axis=1) <= 0).all()
    tokens, values = np.zeros(9, np.int32), np.zeros(9, np.float32)
    for unit in range(len(state.done)):
        width = beams.write_sequence(state, unit, 0, tokens, values)
        if state.finished[unit, 0] > -1e6:
            expected = values[:width].sum() / width ** search["rules"].length_penalty
            np.testing.assert_allclose(state.finished[unit, 0], expected, rtol=1e-4)


def test_a_token_is_penalized_for_each_time():
    for module in (compiled, plain):
        logits = np.zeros((6, 3), np.float32)
        module.penalize_chosen(logits, np.array([[[1, 1, 9], [2, 2, 2]], [[0, 2, 9], [1, 1, 1]]]), 1, np.float32(0.5))
        assert logits.tolist() == [[0, -1, 0]] * 3 + [[-0.5, 0, -0.5]] * 3
