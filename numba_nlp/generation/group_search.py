"""Diverse beam search: the loop over steps, and in each over groups of beams."""

from __future__ import annotations

import numpy as np

from numba_nlp.generation.beam_search import FoundRows, write_rows
from numba_nlp.generation.edits import RowEdits
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.steps import Steps
from numba_nlp.generation.text_ends import TextEnds
from numba_nlp.kernels.generation.beam_groups import (
    advance_group,
    advance_unit,
    penalize_chosen,
    place_group,
    rest_unit,
)
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
    scratch = new_beam_scratch(rules.candidates, plan.vocabulary)._replace(maxima=edits.maxima, known=edits.known)
    penalty = np.float32(config.diversity_penalty)
    active = np.arange(sentences, dtype=np.int32)
    units = _units(active, groups)
    # rows of each group, those that are and those that come
    shape = sentences, config.num_beams, plan.max_length
    first_rows = plan.first_rows().reshape(shape)[:, :width].reshape(sentences * width, -1)
    rows, next_rows = [first_rows.copy() for _ in range(groups)], [first_rows.copy() for _ in range(groups)]
    next_tokens, next_parents = np.zeros(sentences * width, np.int64), np.zeros(sentences * width, np.int64)
    tokens, reads, parents = (np.zeros((sentences, groups, width), np.int64) for _ in range(3))
    # where the rows of a group do not lie side by side
    copied = np.empty((sentences * width if sentences > 1 else 0, plan.vocabulary), np.float32)

    def find(first_row: int, unit: int) -> int:
        """Candidates of one sentence of the present group."""
        return int(best_candidates(part, shifts, state.running[unit], first_row, scratch))

    def rest(unit: int) -> None:
        rest_unit(filled, unit, plan.padding, rules, state)

    def penalize() -> None:
        penalize_chosen(part, tokens[: active.size], group, penalty)

    logits = steps.start()
    open_before = sentences * groups
    for filled in range(plan.prompt_width, plan.max_length):
        n = active.size
        still_open = 0
        for group in range(groups):
            part = _rows_of_group(logits, n, group, groups, copied)
            given = rows[group][: n * width], filled
            shifts = edits(part, *given, active, first=penalize)
            edits.renormalize(part, shifts)
            results = next_rows[group][: n * width], next_tokens[: n * width], next_parents[: n * width]
            if text_ends is None:
                settled = units[group], plan.padding, rules, state, scratch
                still_open += advance_group(part, shifts, *given, *settled, *results)
            else:
                still_open += text_ends.advance(
                    find, advance_unit, rest, *given, units[group], active, rules, state, scratch, *results
                )
            place_group(group, plan.vocabulary, *results[1:], tokens[:n], reads[:n], parents[:n])
            rows[group], next_rows[group] = next_rows[group], rows[group]
        if still_open == 0:
            break
        if still_open < open_before:
            open_before = still_open
            going_on = np.flatnonzero((state.done.reshape(sentences, groups)[active] == 0).any(1))
            if going_on.size < n:
                steps.keep(going_on)
                m = going_on.size
                moved = (going_on - np.arange(m))[:, None, None] * config.num_beams
                reads[:m], parents[:m] = reads[going_on], parents[going_on] - moved
                kept = np.arange(n * width).reshape(n, width)[going_on].ravel()
                for group_rows in rows:
                    group_rows[: kept.size] = group_rows[kept]
                active = active[going_on]
                units = _units(active, groups)
        logits = steps.advance(reads[: active.size].reshape(-1), parents[: active.size].reshape(-1))
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


def _units(active: np.ndarray, groups: int) -> list[np.ndarray]:
    """Of each group, its numbers in the state, of the sentences that go on."""
    return [active.astype(np.int64) * groups + group for group in range(groups)]


def _rows_of_group(logits: np.ndarray, sentences: int, group: int, groups: int, copied: np.ndarray) -> np.ndarray:
    """Logits of one group of all sentences, side by side."""
    width = logits.shape[0] // (sentences * groups)
    if sentences == 1:
        return logits[group * width : (group + 1) * width]
    part = copied[: sentences * width]
    shape = sentences, groups, width, logits.shape[1]
    np.copyto(part.reshape(sentences, width, -1), logits.reshape(shape)[:, group])
    return part
