"""Diverse beam search: groups of beams, each searched for itself, kept apart by a penalty on what earlier groups chose.

Vijayakumar and others, "Diverse beam search: decoding diverse solutions from neural sequence models", 2016, with the
bookkeeping of transformers 4 (``BeamSearchScorer``, read for facts; transformers 5 has none): rows that go on are the
best ones that do not end, a group is done when its worst finished row is no worse than any other can become, and rows
that are still open at the greatest length are finished as they are.

Each group of a sentence is a "sentence" of `BeamState`, with the beams of one group.

Twin: ``numba_nlp.reference.generation.beam_groups``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.beam_memory import STOP_EARLY, STOP_NEVER
from numba_nlp.kernels.generation.beams import best_candidates, ends_row, finish_row, move_rows

__all__ = ["advance_group", "advance_unit", "penalize_chosen", "place_group", "rest_unit"]


@kernel
def penalize_chosen(logits, tokens, group, penalty):
    """Make tokens that earlier groups chose in this step less probable, once for each time.

    Parameters
    ----------
    logits : float32[A * B, V]
        Rows of one group of each sentence; changed.
    tokens : int64[A, G, B]
        Tokens that the groups of each sentence chose; those that are no tokens of the model are left out.
    group : int64
        The groups before it count.
    penalty : float32
        Taken from the value.
    """
    beams = tokens.shape[2]
    for row in range(logits.shape[0]):
        for earlier in range(group):
            for beam in range(beams):
                token = tokens[row // beams, earlier, beam]
                if token < logits.shape[1]:
                    logits[row, token] -= penalty


@kernel
def place_group(group, vocabulary, next_tokens, next_parents, tokens, reads, parents):
    """Put what one group chose among that of all groups.

    Parameters
    ----------
    group : int64
    vocabulary : int64
        Tokens of the model: groups that are done may choose another one, and read 0.
    next_tokens, next_parents : int64[A * B]
        Of the group, whose rows are numbered by themselves.
    tokens : int64[A, G, B]
        Written: what each row chose.
    reads : int64[A, G, B]
        Written: what it reads next.
    parents : int64[A, G, B]
        Written: the row that it continues, of the rows of all groups.
    """
    sentences, groups, beams = tokens.shape
    for a in range(sentences):
        for beam in range(beams):
            row = a * beams + beam
            token = next_tokens[row]
            tokens[a, group, beam] = token
            reads[a, group, beam] = token if token < vocabulary else 0
            parents[a, group, beam] = (a * groups + group) * beams + next_parents[row] - a * beams


@kernel
def advance_unit(rows, first_row, filled, unit, n, rules, state, scratch):
    """Take one step of one group of one sentence: finish rows, choose those that go on, and say whether it has ended.

    Parameters
    ----------
    rows : int32[R, T]
        Tokens of each row so far.
    first_row : int64
        Row of the group's first beam.
    filled : int64
        Columns of ``rows`` that are filled.
    unit : int64
        Which "sentence" of the state the group is.
    n : int64
        Number of candidates in the scratch, the best first.
    rules : BeamRules
        When rows and groups end.
    state : BeamState
        Changed.
    scratch : BeamScratch
        The candidates; those with a hit of 1 end their rows whatever the rules say.
    """
    beams = state.running.shape[1]
    width = filled + 1 - rules.prompt_width
    step = width - 1
    norm = np.float32(np.float64(width) ** rules.length_penalty)
    hoped_norm = norm
    if rules.early_stopping == STOP_NEVER and rules.length_penalty > 0.0:
        hoped_norm = np.float32(np.float64(rules.max_length - rules.prompt_width) ** rules.length_penalty)
    beam = 0
    for i in range(n):
        if beam == beams:
            break
        hit = scratch.hits[i] == 1 or ends_row(
            rows[first_row + scratch.beams[i]],
            rules.prompt_width,
            filled,
            scratch.tokens[i],
            rules.eos_ids,
            rules.stop_tokens,
            rules.stop_offsets,
        )
        if hit:
            if i < beams:
                score = np.float32(scratch.totals[i] / norm)
                finish_row(state, unit, score, width, scratch.beams[i], scratch.tokens[i], scratch.values[i])
            continue
        state.running[unit, beam] = scratch.totals[i]
        state.tokens[step, unit, beam] = scratch.tokens[i]
        state.parents[step, unit, beam] = scratch.beams[i]
        state.values[step, unit, beam] = scratch.values[i]
        beam += 1
    for rest in range(beam, beams):  # rows of no probability, where there are too few others
        state.running[unit, rest] = -np.inf
        state.tokens[step, unit, rest] = 0
        state.parents[step, unit, rest] = 0
        state.values[step, unit, rest] = 0.0
    if state.finished_width[unit, beams - 1] > 0:
        hoped = np.float32(scratch.totals[0] / hoped_norm)
        if rules.early_stopping == STOP_EARLY or state.finished[unit, beams - 1] >= hoped:
            state.done[unit] = 1
    if not state.done[unit] and filled + 1 >= rules.max_length:
        for beam in range(beams):
            score = np.float32(state.running[unit, beam] / norm)
            finish_row(
                state,
                unit,
                score,
                width,
                state.parents[step, unit, beam],
                state.tokens[step, unit, beam],
                state.values[step, unit, beam],
            )
        state.done[unit] = 1


@kernel
def rest_unit(filled, unit, padding, rules, state):
    """Let a group that is done choose padding, each of its rows for itself.

    Parameters
    ----------
    filled : int64
        Columns that are filled.
    unit : int64
        Which "sentence" of the state the group is.
    padding : int64
        What later groups see.
    rules : BeamRules
        Say how wide the prompt was.
    state : BeamState
        Changed.
    """
    step = filled - rules.prompt_width
    for beam in range(state.running.shape[1]):
        state.tokens[step, unit, beam] = padding
        state.parents[step, unit, beam] = beam


@kernel
def advance_group(logits, shifts, rows, filled, units, padding, rules, state, scratch, next_rows, next_tokens, parents):
    """Take one step of one group of all sentences that go on.

    Parameters
    ----------
    logits : float32[A * B, V]
        Of the rows of the group, those of a sentence side by side.
    shifts : float64[A * B]
        The log-probability of a token is its value less the shift of the row.
    rows : int32[A * B, T]
        Tokens so far.
    filled : int64
        Columns of ``rows`` that are filled.
    units : int64[A]
        Which "sentence" of the state the group is.
    padding : int64
        What a group chooses that is done: later groups see it.
    rules : BeamRules
        When rows and groups end.
    state : BeamState
        Changed.
    scratch : BeamScratch
        Overwritten.
    next_rows : int32[A * B, T]
        ``rows`` after the step.
    next_tokens : int64[A * B]
        What each row reads next.
    parents : int64[A * B]
        The row that each continues.

    Returns
    -------
    int64
        Number of sentences whose group is not done.
    """
    beams = state.running.shape[1]
    open_units = 0
    for a in range(units.size):
        unit = units[a]
        if state.done[unit]:
            rest_unit(filled, unit, padding, rules, state)
        else:
            n = best_candidates(logits, shifts, state.running[unit], a * beams, scratch)
            advance_unit(rows, a * beams, filled, unit, n, rules, state, scratch)
            open_units += not state.done[unit]
        move_rows(rows, filled, a * beams, unit, rules, state, next_rows, next_tokens, parents)
    return np.int64(open_units)
