"""Beam search, and beam sampling: the loop over steps."""

from __future__ import annotations

import numpy as np

from numba_nlp.generation.edits import RowEdits
from numba_nlp.generation.plan import Plan
from numba_nlp.generation.steps import Steps
from numba_nlp.generation.text_ends import TextEnds
from numba_nlp.kernels.generation.beam_memory import BeamState, new_beam_scratch, new_beam_state
from numba_nlp.kernels.generation.beam_sampling import advance_drawn_beams, draw_candidates, new_draw_scratch
from numba_nlp.kernels.generation.beams import advance_beams, advance_sentence, best_candidates, write_sequence

__all__ = ["FoundRows", "search_beams", "write_rows"]

#: Rows, their scores, and the values of their new tokens.
FoundRows = tuple[np.ndarray, np.ndarray, np.ndarray]


def search_beams(steps: Steps, plan: Plan, edits: RowEdits, text_ends: TextEnds | None, seed: np.uint64) -> FoundRows:
    """Search the best rows of each prompt, or draw rows and keep the best.

    Parameters
    ----------
    steps : Steps
        Of the model.
    plan : Plan
    edits : RowEdits
    text_ends : TextEnds or None
        Stop strings.
    seed : uint64
        Of sampling.

    Returns
    -------
    rows : ndarray
        int32 ``[prompts * returned, width]``.
    scores : ndarray
        float32 ``[prompts * returned]``.
    values : ndarray
        float32 ``[prompts * returned, new width]``.
    """
    sentences, beams = plan.prompts.ids.shape[0], plan.config.num_beams
    rules = plan.beam_rules()
    state = new_beam_state(sentences, beams, plan.new_tokens)
    scratch = new_beam_scratch(rules.candidates, plan.vocabulary)._replace(maxima=edits.maxima, known=edits.known)
    rows = plan.first_rows()
    next_rows = rows.copy()
    n_rows = rows.shape[0]
    next_tokens, parents = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
    active = np.arange(sentences, dtype=np.int32)
    if plan.config.do_sample:
        keys, draws = plan.keys(1), new_draw_scratch(beams, plan.vocabulary)

    def find(first_row: int, sentence: int) -> int:
        """Candidates of one sentence by the logits of the present step."""
        place = logits, shifts, state.running[sentence], first_row
        if not plan.config.do_sample:
            return int(best_candidates(*place, scratch))
        return int(draw_candidates(*place, seed, keys[sentence], filled - plan.prompt_width, draws, scratch))

    logits = steps.start()
    for filled in range(plan.prompt_width, plan.max_length):
        n_rows = active.size * beams
        shifts = edits(logits, rows[:n_rows], filled, active)
        given = logits, shifts, rows[:n_rows], filled, active, rules, state
        results = next_rows[:n_rows], next_tokens[:n_rows], parents[:n_rows]
        if plan.config.do_sample:
            edits.warp(logits, shifts)
        edits.renormalize(logits, shifts)
        if text_ends is not None:
            still_open = text_ends.advance(
                find, advance_sentence, None, rows[:n_rows], filled, active, active, rules, state, scratch, *results
            )
        elif plan.config.do_sample:
            still_open = advance_drawn_beams(*given, seed, keys, draws, scratch, *results)
        else:
            still_open = advance_beams(*given, scratch, *results)
        rows, next_rows = next_rows, rows
        if still_open == 0:
            break
        chosen = next_tokens[:n_rows], parents[:n_rows]
        if still_open < active.size:
            active, chosen = _drop_done(steps, state, active, beams, rows, *chosen)
        logits = steps.advance(*chosen)
    units, places = np.indices((sentences, plan.config.num_return_sequences))
    return write_rows(plan, state, units, places)


def _drop_done(
    steps: Steps,
    state: BeamState,
    active: np.ndarray,
    beams: int,
    rows: np.ndarray,
    next_tokens: np.ndarray,
    parents: np.ndarray,
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Compute sentences that are done no more: the active ones, and the tokens and parents of their rows."""
    kept = np.flatnonzero(state.done[active] == 0)
    steps.keep(kept)
    old = (kept[:, None] * beams + np.arange(beams)).ravel()
    rows[: old.size] = rows[old]
    # a parent is of the same sentence, which has moved to the front
    moved = np.repeat((kept - np.arange(kept.size)) * beams, beams)
    return active[kept], (next_tokens[old], parents[old] - moved)


def write_rows(plan: Plan, state: BeamState, units: np.ndarray, places: np.ndarray) -> FoundRows:
    """Write finished rows out.

    Parameters
    ----------
    plan : Plan
    state : BeamState
        At the end of the search.
    units, places : ndarray
        int ``[prompts, returned]``: "sentence" of the state, and place among its finished rows.
    """
    returned = units.shape[1]
    width = int(state.finished_width[units, places].max(initial=0))
    found = np.full((units.size, plan.prompt_width + width), plan.padding, np.int32)
    found[:, : plan.prompt_width] = np.repeat(plan.prompts.ids, returned, axis=0)
    values = np.zeros((units.size, width), np.float32)
    scores = np.full(units.size, -np.inf, np.float32)
    for row, (unit, place) in enumerate(zip(units.flat, places.flat, strict=True)):
        if write_sequence(state, unit, place, found[row, plan.prompt_width :], values[row]):
            scores[row] = state.finished[unit, place]
    return found, scores, values
