"""Plain twin of ``numba_nlp.kernels.generation.beam_sampling``: the sums with noise, sorted."""

from __future__ import annotations

import math

import numpy as np

from numba_nlp.reference.generation.beams import advance_sentence, move_rows
from numba_nlp.reference.generation.counter_random import uniform

__all__ = ["advance_drawn_beams", "draw_candidates"]


def draw_candidates(logits, shifts, running, first_row, seed, key, step, draws, scratch):
    """Draw continuations of one sentence."""
    found = []
    for beam, score in enumerate(running):
        for token, logit in enumerate(logits[first_row + beam]):
            lane = beam * logits.shape[1] + token
            value = np.float32(np.float64(logit) - shifts[first_row + beam])
            total = np.float32(score + value)
            if total > -np.inf:  # neither the token nor its beam is ruled out
                noise = -math.log(-math.log(uniform(seed, key, step, lane)))
                found.append((float(total) + noise, total, value, beam, token))
    found.sort(key=lambda candidate: -candidate[0])
    drawn = found[: scratch.totals.size]
    drawn.sort(key=lambda candidate: (-candidate[1], *candidate[3:]))
    for i, (_, total, value, beam, token) in enumerate(drawn):
        scratch.totals[i], scratch.values[i], scratch.beams[i], scratch.tokens[i] = total, value, beam, token
        scratch.hits[i] = 0
    return len(drawn)


def advance_drawn_beams(
    logits, shifts, rows, filled, active, rules, state, seed, keys, draws, scratch, next_rows, next_tokens, parents
):
    """Take one step of all sentences that go on."""
    beams = state.running.shape[1]
    for a, sentence in enumerate(active):
        if not state.done[sentence]:
            n = draw_candidates(
                logits,
                shifts,
                state.running[sentence],
                a * beams,
                seed,
                keys[sentence],
                filled - rules.prompt_width,
                draws,
                scratch,
            )
            advance_sentence(rows, a * beams, filled, sentence, n, rules, state, scratch)
        move_rows(rows, filled, a * beams, sentence, rules, state, next_rows, next_tokens, parents)
    return int((state.done[active] == 0).sum())
