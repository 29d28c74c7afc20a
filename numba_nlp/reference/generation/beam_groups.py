"""Plain twin of ``numba_nlp.kernels.generation.beam_groups``: lists of finished rows, sorted."""

from __future__ import annotations

import numpy as np

from numba_nlp.kernels.generation.beam_memory import STOP_EARLY, STOP_NEVER
from numba_nlp.reference.generation.beams import best_candidates, ends_row, finish_row, move_rows

__all__ = ["advance_group", "advance_unit", "penalize_chosen", "place_group", "rest_unit"]


def penalize_chosen(logits, tokens, group, penalty):
    """Make tokens that earlier groups chose in this step less probable."""
    vocabulary = logits.shape[1]
    for rows, chosen in zip(np.split(logits, len(tokens)), tokens[:, :group], strict=True):
        for token in chosen[chosen < vocabulary]:
            rows[:, token] -= penalty


def place_group(group, vocabulary, next_tokens, next_parents, tokens, reads, parents):
    """Put what one group chose among that of all groups."""
    sentences, groups, beams = tokens.shape
    tokens[:, group] = next_tokens.reshape(sentences, beams)
    reads[:, group] = np.where(tokens[:, group] < vocabulary, tokens[:, group], 0)
    numbers = np.arange(sentences * groups * beams).reshape(tokens.shape)[:, group].ravel()
    parents[:, group] = numbers[next_parents].reshape(sentences, beams)


def advance_group(logits, shifts, rows, filled, units, padding, rules, state, scratch, next_rows, next_tokens, parents):
    """Take one step of one group of all sentences that go on."""
    beams = state.running.shape[1]
    for a, unit in enumerate(units):
        if state.done[unit]:
            rest_unit(filled, unit, padding, rules, state)
        else:
            n = best_candidates(logits, shifts, state.running[unit], a * beams, scratch)
            advance_unit(rows, a * beams, filled, unit, n, rules, state, scratch)
        move_rows(rows, filled, a * beams, unit, rules, state, next_rows, next_tokens, parents)
    return int((state.done[units] == 0).sum())


def rest_unit(filled, unit, padding, rules, state):
    """Let a group that is done choose padding."""
    step = filled - rules.prompt_width
    state.tokens[step, unit] = padding
    state.parents[step, unit] = range(state.running.shape[1])


def advance_unit(rows, first_row, filled, unit, n, rules, state, scratch):
    """Take one step of one group of one sentence."""
    candidates = [(scratch.totals[i], scratch.beams[i], scratch.tokens[i], scratch.values[i]) for i in range(n)]
    beams = state.running.shape[1]
    width = filled + 1 - rules.prompt_width
    norm = np.float32(float(width) ** rules.length_penalty)
    ending = rules.eos_ids, rules.stop_tokens, rules.stop_offsets
    ends = [
        scratch.hits[i] == 1 or ends_row(rows[first_row + beam], rules.prompt_width, filled, token, *ending)
        for i, (_, beam, token, _) in enumerate(candidates)
    ]
    for (total, beam, token, value), end in list(zip(candidates, ends, strict=True))[:beams]:
        if end:
            finish_row(state, unit, np.float32(total / norm), width, beam, token, value)
    on = [candidate for candidate, end in zip(candidates, ends, strict=True) if not end]
    on += [(np.float32(-np.inf), 0, 0, np.float32(0))] * beams
    for place, (total, beam, token, value) in enumerate(on[:beams]):
        state.running[unit, place] = total
        state.parents[width - 1, unit, place] = beam
        state.tokens[width - 1, unit, place] = token
        state.values[width - 1, unit, place] = value
    if all(state.finished_width[unit] > 0):
        longest = rules.early_stopping == STOP_NEVER and rules.length_penalty > 0
        hoped_width = rules.max_length - rules.prompt_width if longest else width
        hoped = np.float32(candidates[0][0] / np.float32(float(hoped_width) ** rules.length_penalty))
        if rules.early_stopping == STOP_EARLY or state.finished[unit].min() >= hoped:
            state.done[unit] = 1
    if not state.done[unit] and filled + 1 >= rules.max_length:
        for total, beam, token, value in on[:beams]:
            finish_row(state, unit, np.float32(total / norm), width, beam, token, value)
        state.done[unit] = 1
