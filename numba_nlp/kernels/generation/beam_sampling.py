"""Beam sampling: continuations of a sentence drawn without replacement, then the bookkeeping of a beam search.

Each step draws K of all continuations by the softmax of their sums of log-probabilities, as transformers does.

Twin: ``numba_nlp.reference.generation.beam_sampling``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.beams import advance_sentence, move_rows
from numba_nlp.kernels.generation.sampling import draw_without_replacement

__all__ = ["DrawScratch", "advance_drawn_beams", "draw_candidates", "new_draw_scratch"]


class DrawScratch(NamedTuple):
    """All continuations of one sentence, up to B * V; one thread's.

    Attributes
    ----------
    totals, values : float32[B * V]
        Sum of log-probabilities, and the last of them.
    lanes : int64[B * V]
        Beam times V, plus the token.
    """

    totals: np.ndarray
    values: np.ndarray
    lanes: np.ndarray


def new_draw_scratch(beams: int, vocabulary: int) -> DrawScratch:
    """Room for the continuations of one sentence.

    Parameters
    ----------
    beams, vocabulary : int
        B and V.
    """
    size = beams * vocabulary
    return DrawScratch(np.zeros(size, np.float32), np.zeros(size, np.float32), np.zeros(size, np.int64))


@kernel
def draw_candidates(logits, shifts, running, first_row, seed, key, step, draws, scratch):
    """Draw continuations of one sentence; they are sorted, the best first.

    Parameters
    ----------
    logits : float32[R, V]
        The log-probability of a token is its value less the shift of the row.
    shifts : float64[R]
        See ``logits``.
    running : float32[B]
        Sum of log-probabilities of each beam.
    first_row : int64
        Row of the first beam; the others follow.
    seed, key, step : uint64, uint64, int64
        Of :func:`numba_nlp.kernels.generation.counter_random.uniform`; the key is the sentence's.
    draws : DrawScratch
        Overwritten.
    scratch : BeamScratch
        ``totals``, ``values``, ``beams`` and ``tokens`` are filled, and ``hits`` set to 0.

    Returns
    -------
    int64
        Their number: that of the scratch, or less if there are not so many continuations.
    """
    vocabulary = logits.shape[1]
    n = 0
    for beam in range(running.size):
        row = first_row + beam
        for token in range(vocabulary):
            if logits[row, token] > -np.inf:
                value = np.float32(logits[row, token] - shifts[row])
                draws.values[n] = value
                draws.totals[n] = np.float32(running[beam] + value)
                draws.lanes[n] = beam * vocabulary + token
                n += 1
    room = scratch.totals.size
    drawn = draw_without_replacement(
        draws.totals, draws.lanes, n, room, seed, key, step, scratch.row_tokens, scratch.keys
    )
    for i in range(drawn):
        place = scratch.row_tokens[i]
        scratch.totals[i] = draws.totals[place]
        scratch.values[i] = draws.values[place]
        scratch.beams[i] = draws.lanes[place] // vocabulary
        scratch.tokens[i] = draws.lanes[place] % vocabulary
        scratch.hits[i] = 0
    return np.int64(drawn)


@kernel
def advance_drawn_beams(
    logits,
    shifts,
    rows,
    filled,
    active,
    rules,
    state,
    seed,
    keys,
    draws,
    scratch,
    next_rows,
    next_tokens,
    parents,
):
    """Take one step of all sentences that go on.

    Parameters
    ----------
    logits, shifts, rows, filled, active, rules, state : as for :func:`numba_nlp.kernels.generation.beams.advance_beams`
    seed : uint64
        The user's.
    keys : uint64[S]
        Of each sentence.
    draws : DrawScratch
        Overwritten.
    scratch, next_rows, next_tokens, parents : as there

    Returns
    -------
    int64
        Number of sentences that are not done.
    """
    beams = state.running.shape[1]
    step = filled - rules.prompt_width
    open_sentences = 0
    for a in range(active.size):
        sentence = active[a]
        if not state.done[sentence]:
            n = draw_candidates(
                logits, shifts, state.running[sentence], a * beams, seed, keys[sentence], step, draws, scratch
            )
            advance_sentence(rows, a * beams, filled, sentence, n, rules, state, scratch)
            open_sentences += not state.done[sentence]
        move_rows(rows, filled, a * beams, sentence, rules, state, next_rows, next_tokens, parents)
    return np.int64(open_sentences)
