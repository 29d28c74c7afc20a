"""Diverse beam search: the loop over steps, and in each over groups of beams."""

from __future__ import annotations

from functools import partial

import numpy as np

from numba_nlp.generation.beam_search import FoundRows, write_rows
from numba_nlp.generation.edits import RowEdits
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.steps import Steps
from numba_nlp.generation.text_ends import TextEnds
from numba_nlp.kernels.generation.beam_groups import advance_group, advance_unit, penalize_chosen, rest_unit
from numba_nlp.kernels.generation.beam_memory import BeamState, new_beam_scratch, new_beam_state
from numba_nlp.kernels.generation.beams import best_candidates

__all__ = ["search_groups", "write_best"]


def search_groups(steps: Steps, plan: Plan, edits: RowEdits, text_ends: TextEnds | None) -> FoundRows:
    """Search the best rows of each prompt by groups that are kept apart.

    Parameters
    ----------
    steps : Steps
        Of the model.
    plan : Plan
    edits : RowEdits
    text_ends : TextEnds or None
        Stop strings.

    Returns
    -------
    rows, scores, values : ndarray
        As of ``search_beams``.
    """
    config, sentences = plan.config, plan.prompts.ids.shape[0]
    groups, width = config.num_beam_groups, config.num_beams // config.num_beam_groups
    rules = plan.beam_rules()
    state = new_beam_state(sentences * groups, width, plan.new_tokens)
    scratch = new_beam_scratch(rules.candidates, plan.vocabulary)
    active = np.arange(sentences, dtype=np.int32)
    rows = plan.first_rows().reshape(sentences, groups, width, plan.max_length)

    def find(first_row: int, unit: int) -> int:
        """Candidates of one sentence of the present group."""
        return int(best_candidates(part, shifts, state.running[unit], first_row, scratch))

    def rest(unit: int) -> None:
        rest_unit(filled, unit, plan.padding, rules, state)

    logits = steps.start()
    for filled in range(plan.prompt_width, plan.max_length):
        n = active.size
        tokens, parents = np.zeros((n, groups, width), np.int64), np.zeros((n, groups, width), np.int64)
        for group in range(groups):
            part = np.ascontiguousarray(logits.reshape(n, groups, width, -1)[:, group]).reshape(n * width, -1)
            part_rows = np.ascontiguousarray(rows[:, group]).reshape(n * width, -1)
            chosen = np.ascontiguousarray(tokens[:, :group]).reshape(n, group * width)
            penalize = partial(penalize_chosen, part, chosen, np.float32(config.diversity_penalty))
            shifts = edits(part, part_rows, filled, active, first=penalize)
            edits.renormalize(part, shifts)
            next_rows, next_tokens = part_rows.copy(), np.zeros(n * width, np.int64)
            part_parents = np.zeros(n * width, np.int64)
            units = active.astype(np.int64) * groups + group
            results = next_rows, next_tokens, part_parents
            if text_ends is None:
                advance_group(part, shifts, part_rows, filled, units, plan.padding, rules, state, scratch, *results)
            else:
                text_ends.advance(
                    find, advance_unit, rest, part_rows, filled, units, active, rules, state, scratch, *results
                )
            rows[:, group] = next_rows.reshape(n, width, -1)
            tokens[:, group] = next_tokens.reshape(n, width)
            # a parent is one of the group's rows: from those of this group to those of all
            beams = part_parents.reshape(n, width) % width
            parents[:, group] = np.arange(n)[:, None] * config.num_beams + group * width + beams
        going_on = np.flatnonzero((state.done.reshape(sentences, groups)[active] == 0).any(1))
        if going_on.size == 0:
            break
        if going_on.size < n:
            steps.keep(going_on)
            parents = parents[going_on] - (going_on - np.arange(going_on.size))[:, None, None] * config.num_beams
            active, rows, tokens = active[going_on], rows[going_on], tokens[going_on]
        read = np.where(tokens < plan.vocabulary, tokens, 0)  # groups that are done read padding
        logits = steps.advance(np.ascontiguousarray(read.ravel()), np.ascontiguousarray(parents.ravel()))
    return write_best(plan, state)


def write_best(plan: Plan, state: BeamState) -> FoundRows:
    """Write the best rows of all groups of each prompt out.

    Parameters
    ----------
    plan : Plan
    state : BeamState
        At the end of the search, with the groups of a prompt side by side.
    """
    groups, width = plan.config.num_beam_groups, state.finished.shape[1]
    scores = state.finished.reshape(-1, groups * width)
    best = np.argsort(-scores, axis=1, kind="stable")[:, : plan.config.num_return_sequences]
    group_of_best, places = np.divmod(best, width)
    return write_rows(plan, state, np.arange(scores.shape[0])[:, None] * groups + group_of_best, places)
