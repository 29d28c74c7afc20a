"""Beam search by compiled kernels: what the plain twin does, step after step, and every row written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numba_nlp.kernels.generation import beam_sampling as compiled_sampling
from numba_nlp.kernels.generation import beams as compiled
from numba_nlp.kernels.generation.beam_memory import (
    STOP_EARLY,
    STOP_NEVER,
    STOP_WORSE,
    BeamRules,
    new_beam_scratch,
    new_beam_state,
)
from numba_nlp.kernels.generation.beam_sampling import new_draw_scratch
from numba_nlp.kernels.generation.row_edits import shift_rows
from numba_nlp.reference.generation import beam_sampling as plain_sampling
from numba_nlp.reference.generation import beams as plain


def ragged(sequences):
    offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    return np.array([token for row in sequences for token in row], np.int32), offsets


@st.composite
def searches(draw):
    beams = draw(st.integers(1, 4))
    vocabulary = draw(st.integers(1, 9))
    eos = draw(st.lists(st.integers(0, vocabulary), max_size=2, unique=True))
    stops = draw(st.lists(st.lists(st.integers(0, vocabulary - 1), min_size=1, max_size=3), max_size=2))
    stop_tokens, stop_offsets = ragged(stops)
    width = draw(st.integers(1, 3))
    return {
        "beams": beams,
        "vocabulary": vocabulary,
        "sentences": draw(st.integers(1, 3)),
        "rules": BeamRules(
            candidates=max(2, 1 + len(eos)) * beams,
            prompt_width=width,
            max_length=width + draw(st.integers(1, 6)),
            length_penalty=draw(st.sampled_from([1.0, 0.0, -0.5, 2.0])),
            early_stopping=draw(st.sampled_from([STOP_WORSE, STOP_EARLY, STOP_NEVER])),
            eos_ids=np.array(eos, np.int32),
            stop_tokens=stop_tokens,
            stop_offsets=stop_offsets,
        ),
        # few distinct values make ties
        "values": draw(st.sampled_from([3, 1000])),
        "banned": draw(st.sampled_from([0.0, 0.3])),
        # the largest values of blocks, as they are before some are forbidden
        "known": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**32 - 1)),
    }


def run(search, module, sampling=None):
    """All states after each step, and the rows at the end."""
    generator = np.random.default_rng(search["seed"])
    rules, beams, vocabulary = search["rules"], search["beams"], search["vocabulary"]
    sentences = search["sentences"]
    rows = np.zeros((2, sentences * beams, rules.max_length), np.int32)
    rows[:, :, : rules.prompt_width] = generator.integers(0, vocabulary, rules.prompt_width)
    state = new_beam_state(sentences, beams, rules.max_length - rules.prompt_width)
    scratch = new_beam_scratch(rules.candidates, vocabulary)
    if search["known"]:
        maxima = np.zeros((sentences * beams, 1), np.float32)
        scratch = scratch._replace(maxima=maxima, known=np.ones(sentences * beams, np.uint8))
    next_tokens, parents = np.zeros(sentences * beams, np.int64), np.zeros(sentences * beams, np.int64)
    active = np.arange(sentences, dtype=np.int32)
    history = []
    for filled in range(rules.prompt_width, rules.max_length):
        logits = (generator.integers(0, search["values"], (sentences * beams, vocabulary)) / 7).astype(np.float32)
        shifts = np.zeros(len(logits))
        shift_rows(logits, shifts, maxima if search["known"] else np.zeros((len(logits), 1), np.float32))
        logits[generator.random(logits.shape) < search["banned"]] = -np.inf
        given = logits, shifts, rows[0], filled, active, rules, state
        results = rows[1], next_tokens, parents
        if sampling is None:
            still_open = module.advance_beams(*given, scratch, *results)
        else:
            draws = new_draw_scratch(beams, vocabulary)
            keys = np.arange(sentences, dtype=np.uint64)
            still_open = sampling.advance_drawn_beams(*given, np.uint64(5), keys, draws, scratch, *results)
        rows = rows[::-1]
        history.append([still_open, rows[0, :, : filled + 1].copy(), parents.copy(), *map(np.copy, state)])
        if still_open == 0:
            break
    written = []
    for sentence in range(sentences):
        for place in range(beams):
            tokens, values = np.full(99, -1, np.int32), np.zeros(99, np.float32)
            width = module.write_sequence(state, sentence, place, tokens, values)
            written.append((width, tokens.tolist(), values.tolist()))
    return history, written


@given(searches())
def test_as_the_plain_twin(search):
    got, got_rows = run(search, compiled)
    expected, expected_rows = run(search, plain)
    assert len(got) == len(expected)
    for one, other in zip(got, expected, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert got_rows == expected_rows


@given(searches())
def test_drawn_as_the_plain_twin(search):
    got, got_rows = run(search, compiled, compiled_sampling)
    expected, expected_rows = run(search, plain, plain_sampling)
    for one, other in zip(got, expected, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert got_rows == expected_rows


@given(searches())
def test_finished_rows_add_up(search):
    """A score is the sum of the values of its tokens, over its length; rows are sorted, and end where they must."""
    rules = search["rules"]
    history, rows = run(search, compiled)
    finished = history[-1][4].ravel()
    for (width, tokens, values), score in zip(rows, finished, strict=True):
        if width == 0 or score < -1e6:
            continue
        assert sum(values[:width]) / width**rules.length_penalty == pytest.approx(score, rel=1e-4, abs=1e-4)
        ends = [
            plain.ends_row(np.array(tokens), 0, i, tokens[i], rules.eos_ids, rules.stop_tokens, rules.stop_offsets)
            for i in range(width)
        ]
        assert not any(ends[:-1])
        assert ends[-1] or width == rules.max_length - rules.prompt_width
    assert (np.diff(history[-1][4], axis=1) <= 0).all()


def test_a_stop_sequence_lies_in_new_tokens():
    stop_tokens, stop_offsets = ragged([[5, 6]])
    row, nothing = np.array([5, 6, 5, 0], np.int32), np.array([], np.int32)
    for ends_row in (compiled.ends_row, plain.ends_row):
        assert not ends_row(row, 1, 1, 6, nothing, stop_tokens, stop_offsets)  # its first token is the prompt's
        assert ends_row(row, 1, 3, 6, nothing, stop_tokens, stop_offsets)
        assert not ends_row(row, 1, 3, 5, nothing, stop_tokens, stop_offsets)
        assert ends_row(row, 1, 1, 6, np.array([6], np.int32), stop_tokens, stop_offsets)
