"""Beam search: which rows go on and which are finished, for one step of all sentences.

The semantics are those of transformers 5 (``generation/utils.py``, read for facts): candidates are the best K of a
sentence by their sums of log-probabilities in float32; those that end a row may be finished if they are among the
first B; a sentence ends by its own scores only. Rows are kept as pointers to the beam that they continue, and written
out once at the end.

Twin: ``numba_nlp.reference.generation.beams``.
"""

from __future__ import annotations

import numpy as np

from numba_nlp._jit import kernel
from numba_nlp.kernels.generation.beam_memory import STOP_EARLY, STOP_NEVER, UNLIKELY
from numba_nlp.kernels.generation.row_rules import ends_with
from numba_nlp.kernels.generation.row_selection import select_changed, select_top

__all__ = [
    "advance_beams",
    "advance_sentence",
    "best_candidates",
    "ends_row",
    "finish_row",
    "move_rows",
    "write_sequence",
]


@kernel
def ends_row(row, begin, filled, token, eos_ids, stop_tokens, stop_offsets):
    """Whether a token ends a row: it is one that does, or the last of a sequence that does.

    Parameters
    ----------
    row : int32[T]
        Tokens so far.
    begin, filled : int64
        The new ones are ``row[begin:filled]``; a sequence counts if it lies in these and the token.
    token : int32
        The next one.
    eos_ids : int32[n]
        Tokens that end a row.
    stop_tokens : int32[m]
        Sequences that do, one behind the other.
    stop_offsets : int64[s + 1]
        Where each begins.

    Returns
    -------
    bool
    """
    for i in range(eos_ids.size):
        if eos_ids[i] == token:
            return True
    for s in range(stop_offsets.size - 1):
        first, last = stop_offsets[s], stop_offsets[s + 1] - 1
        fits = last - first <= filled - begin
        if fits and stop_tokens[last] == token and ends_with(row, filled, stop_tokens, first, last - first):
            return True
    return False


@kernel
def best_candidates(logits, shifts, running, first_row, scratch):
    """Find the best continuations of one sentence, the best first; of equal ones that of the earlier beam.

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
    scratch : BeamScratch
        ``totals``, ``values``, ``beams`` and ``tokens`` are filled, and ``hits`` set to 0.

    Returns
    -------
    int64
        Their number: that of the scratch, or less if there are not so many continuations.
    """
    room = scratch.totals.size
    n = 0
    for beam in range(running.size):
        row = first_row + beam
        if row < scratch.known.size and scratch.known[row]:
            found = select_changed(logits[row], room, scratch.maxima[row], scratch.row_values, scratch.row_tokens)
        else:
            found = select_top(logits[row], room, scratch.maxima[0], scratch.row_values, scratch.row_tokens)
        for i in range(found):
            value = np.float32(scratch.row_values[i] - shifts[row])
            total = np.float32(running[beam] + value)
            if n == room and not total > scratch.totals[room - 1]:
                break  # those behind it are no better
            place = min(n, room - 1)
            while place > 0 and total > scratch.totals[place - 1]:
                scratch.totals[place] = scratch.totals[place - 1]
                scratch.values[place] = scratch.values[place - 1]
                scratch.beams[place] = scratch.beams[place - 1]
                scratch.tokens[place] = scratch.tokens[place - 1]
                place -= 1
            scratch.totals[place] = total
            scratch.values[place] = value
            scratch.beams[place] = beam
            scratch.tokens[place] = scratch.row_tokens[i]
            n = min(n + 1, room)
    scratch.hits[:n] = 0
    return np.int64(n)


@kernel
def finish_row(state, sentence, score, width, parent, token, value):
    """Put a finished row in its place among the best of a sentence, if it is one of them; behind those as good.

    Parameters
    ----------
    state : BeamState
        Changed.
    sentence : int64
    score : float32
        Above ``UNLIKELY``, else it is none.
    width : int64
        Number of its new tokens.
    parent : int32
        The beam that it continues.
    token : int32
        Its last one.
    value : float32
        The token's log-probability.
    """
    beams = state.finished.shape[1]
    if not score > state.finished[sentence, beams - 1]:
        return
    place = beams - 1
    while place > 0 and score > state.finished[sentence, place - 1]:
        state.finished[sentence, place] = state.finished[sentence, place - 1]
        state.finished_width[sentence, place] = state.finished_width[sentence, place - 1]
        state.finished_parent[sentence, place] = state.finished_parent[sentence, place - 1]
        state.finished_token[sentence, place] = state.finished_token[sentence, place - 1]
        state.finished_value[sentence, place] = state.finished_value[sentence, place - 1]
        place -= 1
    state.finished[sentence, place] = score
    state.finished_width[sentence, place] = width
    state.finished_parent[sentence, place] = parent
    state.finished_token[sentence, place] = token
    state.finished_value[sentence, place] = value


@kernel
def advance_sentence(rows, first_row, filled, sentence, n, rules, state, scratch):
    """Take one step of one sentence: finish rows, choose those that go on, and say whether it has ended.

    Parameters
    ----------
    rows : int32[R, T]
        Tokens of each row so far.
    first_row : int64
        Row of the sentence's first beam.
    filled : int64
        Columns of ``rows`` that are filled.
    sentence : int64
        Its number in the state.
    n : int64
        Number of candidates in the scratch, the best first.
    rules : BeamRules
        When rows and sentences end.
    state : BeamState
        Changed.
    scratch : BeamScratch
        The candidates; those with a hit of 1 end their rows whatever the rules say.
    """
    beams = state.running.shape[1]
    width = filled + 1 - rules.prompt_width
    step = width - 1
    norm = np.float32(np.float64(width) ** rules.length_penalty)
    n_hits = 0
    for i in range(n):
        hit = (
            scratch.hits[i] == 1
            or filled + 1 >= rules.max_length
            or ends_row(
                rows[first_row + scratch.beams[i]],
                rules.prompt_width,
                filled,
                scratch.tokens[i],
                rules.eos_ids,
                rules.stop_tokens,
                rules.stop_offsets,
            )
        )
        scratch.hits[i] = hit
        n_hits += hit
        if hit and i < beams:
            score = np.float32(scratch.totals[i] / norm)
            finish_row(state, sentence, score, width, scratch.beams[i], scratch.tokens[i], scratch.values[i])
    # Those that go on: the best ones that end no row. Where there are too few, rows that no one will see go on.
    for beam in range(beams):
        best = -1
        best_total = np.float32(-np.inf)
        for i in range(n):
            if scratch.hits[i] == 2:
                continue
            total = np.float32(scratch.totals[i] + UNLIKELY) if scratch.hits[i] == 1 else scratch.totals[i]
            if best < 0 or total > best_total:
                best, best_total = i, total
        state.running[sentence, beam] = best_total
        if best < 0:
            state.tokens[step, sentence, beam] = 0
            state.parents[step, sentence, beam] = 0
            state.values[step, sentence, beam] = 0.0
            continue
        state.tokens[step, sentence, beam] = scratch.tokens[best]
        state.parents[step, sentence, beam] = scratch.beams[best]
        state.values[step, sentence, beam] = scratch.values[best]
        scratch.hits[best] = 2  # taken
    full = state.finished_width[sentence, beams - 1] > 0
    hoped_width = width
    if rules.early_stopping == STOP_NEVER and rules.length_penalty > 0.0:
        hoped_width = rules.max_length - rules.prompt_width
    hoped = np.float32(state.running[sentence, 0] / np.float32(np.float64(hoped_width) ** rules.length_penalty))
    worst = state.finished[sentence, beams - 1] if full else UNLIKELY
    if n_hits == n or not hoped > worst or (full and rules.early_stopping == STOP_EARLY):
        state.done[sentence] = 1


@kernel
def move_rows(rows, filled, first_row, sentence, rules, state, next_rows, next_tokens, parents):
    """Let the rows of a sentence follow their beams; those of one that was done before may be any.

    Parameters
    ----------
    rows : int32[R, T]
        Tokens so far.
    filled : int64
        Columns of ``rows`` that are filled.
    first_row : int64
        Row of the sentence's first beam.
    sentence : int64
        Its number in the state.
    rules : BeamRules
        Say how wide the prompt was.
    state : BeamState
        After the step.
    next_rows : int32[R, T]
        ``rows`` after the step.
    next_tokens : int64[R]
        What each row reads next.
    parents : int64[R]
        The row that each continues.
    """
    step = filled - rules.prompt_width
    for beam in range(state.running.shape[1]):
        row = first_row + beam
        parent = first_row + state.parents[step, sentence, beam]
        parents[row] = parent
        next_tokens[row] = state.tokens[step, sentence, beam]
        for column in range(filled):
            next_rows[row, column] = rows[parent, column]
        next_rows[row, filled] = state.tokens[step, sentence, beam]


@kernel
def advance_beams(logits, shifts, rows, filled, active, rules, state, scratch, next_rows, next_tokens, parents):
    """Take one step of all sentences that go on.

    Parameters
    ----------
    logits : float32[A * B, V]
        Of the rows of A sentences, the beams of a sentence side by side.
    shifts : float64[A * B]
        The log-probability of a token is its value less the shift of the row.
    rows : int32[A * B, T]
        Tokens so far.
    filled : int64
        Columns of ``rows`` that are filled.
    active : int32[A]
        Which sentence of the state each is. Of one that is done, rows stay where they are.
    rules : BeamRules
        When rows and sentences end.
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
        Number of sentences that are not done.
    """
    beams = state.running.shape[1]
    open_sentences = 0
    for a in range(active.size):
        sentence = active[a]
        if not state.done[sentence]:
            n = best_candidates(logits, shifts, state.running[sentence], a * beams, scratch)
            advance_sentence(rows, a * beams, filled, sentence, n, rules, state, scratch)
            open_sentences += not state.done[sentence]
        move_rows(rows, filled, a * beams, sentence, rules, state, next_rows, next_tokens, parents)
    return np.int64(open_sentences)


@kernel
def write_sequence(state, sentence, place, tokens, values):
    """Write one finished row, from its end to its beginning.

    Parameters
    ----------
    state : BeamState
        At the end of the search.
    sentence, place : int64
        Which row: 0 is the best of a sentence.
    tokens : int32[T]
        Its new tokens are written to the front; what is behind them is left alone.
    values : float32[T]
        Their log-probabilities, likewise.

    Returns
    -------
    int64
        Number of its new tokens; 0 if there is no such row.
    """
    width = state.finished_width[sentence, place]
    if width == 0:
        return np.int64(0)
    tokens[width - 1] = state.finished_token[sentence, place]
    values[width - 1] = state.finished_value[sentence, place]
    beam = state.finished_parent[sentence, place]
    for step in range(width - 2, -1, -1):
        tokens[step] = state.tokens[step, sentence, beam]
        values[step] = state.values[step, sentence, beam]
        beam = state.parents[step, sentence, beam]
    return np.int64(width)
